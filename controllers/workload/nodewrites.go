// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// nodeWrites remembers what became of our patches of Nodes until the cache of the session shows it: so that none is sent
// twice, and that the event that it causes wakes nobody. Its zero value is ready to use; it is safe for concurrent use.
type nodeWrites struct {
	mu   sync.Mutex
	byID map[types.UID]nodeWrite
}

// nodeWrite is what is remembered of one Node.
type nodeWrite struct {
	// written is the Node as the last patch that was accepted left it; nil if none was.
	written *corev1.Node
	// from is the resourceVersion that the last patch was made for, accepted or not; empty if what came of it holds more than
	// the patch.
	from string
	// refusedAt is when the API server refused the last patch; zero if it did not.
	refusedAt time.Time
}

// refusedFor is how long a patch that was refused is not tried again while nothing newer is known.
const refusedFor = 5 * time.Second

// accepted remembers a patch of the Node that had the version; see nodeWrite for an empty one. The Node that came of it is shared from then on.
func (w *nodeWrites) accepted(from string, written *corev1.Node) {
	w.change(written.UID, func(last *nodeWrite) { *last = nodeWrite{written: written, from: from} })
}

// refused remembers that the API server knows more of the Node than the cache does.
func (w *nodeWrites) refused(node *corev1.Node) {
	w.change(node.UID, func(last *nodeWrite) { last.from, last.refusedAt = node.ResourceVersion, time.Now() })
}

func (w *nodeWrites) change(uid types.UID, change func(last *nodeWrite)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byID == nil {
		w.byID = map[types.UID]nodeWrite{}
	}
	last := w.byID[uid]
	change(&last)
	w.byID[uid] = last
}

// wouldBeRefused reports whether nothing newer is known of the Node than when a patch was refused.
func (w *nodeWrites) wouldBeRefused(node *corev1.Node) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := w.byID[node.UID]
	return !last.refusedAt.IsZero() && last.from == node.ResourceVersion && time.Since(last.refusedAt) < refusedFor
}

// newest returns the cached Node, or the Node as our last patch left it if the cache is behind that.
func (w *nodeWrites) newest(cached *corev1.Node) *corev1.Node {
	w.mu.Lock()
	defer w.mu.Unlock()
	if last := w.byID[cached.UID]; last.written != nil && older(cached.ResourceVersion, last.written.ResourceVersion) {
		return last.written
	}
	return cached
}

// observed is told of each change that reaches the cache, and forgets what the cache knows by it. own says that the change
// is our patch and nothing else; awaited, that the change may be the reason why a patch was refused.
func (w *nodeWrites) observed(before, after *corev1.Node) (own, awaited bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	last, ok := w.byID[after.UID]
	if !ok {
		return false, false
	}
	if !last.refusedAt.IsZero() {
		news := after.ResourceVersion != last.from && !older(after.ResourceVersion, last.from)
		if news {
			delete(w.byID, after.UID)
		}
		return false, news
	}
	if !older(after.ResourceVersion, last.written.ResourceVersion) {
		delete(w.byID, after.UID)
	}
	return before.ResourceVersion == last.from && after.ResourceVersion == last.written.ResourceVersion, false
}

// forget drops what is remembered about a Node that is gone.
func (w *nodeWrites) forget(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.byID, uid)
}

// older reports whether resourceVersion a comes before b. Those of one resource can be compared since Kubernetes 1.35; where
// a server's can't, the cache is taken to be right.
func older(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}
