// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// ownWrites remembers what we wrote to each Machine until the cache has caught up. It serves two ends.
//
// A reconcile that starts before that works on the Machine as we left it, not on the older one in the cache: nothing is
// done twice, and no worker waits for the cache. And the events that our own writes cause needn't be reconciled: what
// was written was computed from all that was known.
//
// Its zero value is ready to use; it is safe for concurrent use.
type ownWrites struct {
	mu   sync.Mutex
	byID map[types.UID]written
}

// written is what is remembered of one Machine.
type written struct {
	// latest is the Machine as our last write left it; nil once the cache has it, or something newer.
	latest *clusterv1.Machine
	// seen is the resourceVersion that reached the cache last. An event may be here before the answer to the write.
	seen string
	// steps are the last three writes, which is as many as a reconcile makes: ownership, spec and status.
	steps [3]step
}

// step is the change of a Machine's resourceVersion by one write.
type step struct{ from, to string }

// record remembers a write that has succeeded: from is the resourceVersion before it, empty if others have written in
// between. The Machine must not be changed after the call.
func (w *ownWrites) record(from string, machine *clusterv1.Machine) {
	if from == machine.ResourceVersion {
		return // the API server found nothing to change
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byID == nil {
		w.byID = map[types.UID]written{}
	}
	before := w.byID[machine.UID]
	now := written{latest: machine, seen: before.seen, steps: [3]step{{from, machine.ResourceVersion}, before.steps[0], before.steps[1]}}
	if before.seen != "" && caughtUp(before.seen, machine) {
		now.latest = nil
	}
	w.byID[machine.UID] = now
}

// newest returns the cached Machine, or a copy of it as our last write left it if the cache is behind that.
func (w *ownWrites) newest(cached *clusterv1.Machine) *clusterv1.Machine {
	w.mu.Lock()
	defer w.mu.Unlock()
	have := w.byID[cached.UID]
	if have.latest == nil {
		return cached
	}
	if caughtUp(cached.ResourceVersion, have.latest) {
		have.latest = nil
		w.byID[cached.UID] = have
		return cached
	}
	return have.latest.DeepCopy()
}

// observed is told of each version of a Machine that reaches the cache.
func (w *ownWrites) observed(cached *clusterv1.Machine) {
	w.mu.Lock()
	defer w.mu.Unlock()
	have, ok := w.byID[cached.UID]
	if !ok {
		return // never written by us
	}
	have.seen = cached.ResourceVersion
	if have.latest != nil && caughtUp(have.seen, have.latest) {
		have.latest = nil
	}
	w.byID[cached.UID] = have
}

// caughtUp reports whether the cached version is at least as new as the Machine. Resource versions of one resource can be compared since
// Kubernetes 1.35; where a server's can't, the cache is right.
func caughtUp(cached string, latest *clusterv1.Machine) bool {
	order, err := resourceversion.CompareResourceVersion(cached, latest.ResourceVersion)
	return err != nil || order >= 0
}

// caused reports whether the change between the two versions is a write of ours and nothing else.
func (w *ownWrites) caused(uid types.UID, from, to string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	steps := w.byID[uid].steps
	return slices.Contains(steps[:], step{from, to})
}

// forget drops what is remembered about a Machine that is gone.
func (w *ownWrites) forget(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.byID, uid)
}
