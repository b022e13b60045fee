// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/machinist-dev/machinist/controllers/ownwrites"
)

// nodeWrites remembers what became of our patches of Nodes until the cache of the session shows it: so that none is sent
// twice, and that the event that it causes wakes nobody. Its zero value is ready to use; it is safe for concurrent use.
type nodeWrites struct {
	// accepted are the Nodes as our patches left them.
	accepted ownwrites.Memory[*corev1.Node]

	mu sync.Mutex
	// refused are the last patches that the API server refused, by the UID of the Node.
	refused map[types.UID]refusedPatch
}

// refusedPatch is a patch that was refused because the API server knows more of the Node than this version.
type refusedPatch struct {
	resourceVersion string
	at              time.Time
}

// refusedFor is how long a patch that was refused is not tried again while nothing newer is known.
const refusedFor = 5 * time.Second

func (w *nodeWrites) refuse(node *corev1.Node) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refused == nil {
		w.refused = map[types.UID]refusedPatch{}
	}
	w.refused[node.UID] = refusedPatch{resourceVersion: node.ResourceVersion, at: time.Now()}
}

// wouldBeRefused reports whether nothing newer is known of the Node than when a patch was refused.
func (w *nodeWrites) wouldBeRefused(node *corev1.Node) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	last, ok := w.refused[node.UID]
	return ok && last.resourceVersion == node.ResourceVersion && time.Since(last.at) < refusedFor
}

// newest returns the cached Node, or the Node as our last patch left it if the cache is behind that.
func (w *nodeWrites) newest(cached *corev1.Node) *corev1.Node {
	if written, ok := w.accepted.Newest(cached.UID, cached.ResourceVersion); ok {
		return written
	}
	return cached
}

// observed is told of each change that reaches the cache. own says that nobody has to be woken, see ownwrites.Memory.Changed;
// awaited, that the change may be the reason why a patch was refused.
func (w *nodeWrites) observed(before, after *corev1.Node) (own, awaited bool) {
	own = w.accepted.Changed(after.UID, before.ResourceVersion, after.ResourceVersion)
	w.mu.Lock()
	defer w.mu.Unlock()
	last, ok := w.refused[after.UID]
	if ok && after.ResourceVersion != last.resourceVersion && !ownwrites.Older(after.ResourceVersion, last.resourceVersion) {
		delete(w.refused, after.UID)
		awaited = true
	}
	return own, awaited
}

// forget drops what is remembered about a Node that is gone.
func (w *nodeWrites) forget(uid types.UID) {
	w.accepted.Forget(uid)
	w.heard(uid)
}

// heard ends the wait for the event that explains why a patch was refused.
func (w *nodeWrites) heard(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.refused, uid)
}
