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
	w.byID[machine.UID] = written{latest: machine, steps: [3]step{{from, machine.ResourceVersion}, before.steps[0], before.steps[1]}}
}

// newest returns the cached Machine, or a copy of it as our last write left it if the cache is behind that.
func (w *ownWrites) newest(cached *clusterv1.Machine) *clusterv1.Machine {
	w.mu.Lock()
	defer w.mu.Unlock()
	latest := w.byID[cached.UID].latest
	if latest == nil || caughtUp(cached, latest) {
		return cached
	}
	return latest.DeepCopy()
}

// observed is told of each version of a Machine that reaches the cache.
func (w *ownWrites) observed(cached *clusterv1.Machine) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if have, ok := w.byID[cached.UID]; ok && have.latest != nil && caughtUp(cached, have.latest) {
		have.latest = nil
		w.byID[cached.UID] = have
	}
}

// caughtUp reports whether the cached Machine is at least as new. Resource versions of one resource can be compared since
// Kubernetes 1.35; where a server's can't, the cache is right.
func caughtUp(cached, latest *clusterv1.Machine) bool {
	order, err := resourceversion.CompareResourceVersion(cached.ResourceVersion, latest.ResourceVersion)
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
