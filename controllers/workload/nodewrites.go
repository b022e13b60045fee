// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/machinist-dev/machinist/controllers/ownwrites"
)

// nodeWrites remembers what became of our patches of Nodes until the cache of the session shows it: so that none is sent
// twice, and that the event that it causes wakes nobody. Its zero value is ready to use; it is safe for concurrent use.
type nodeWrites struct {
	// accepted are the Nodes as our patches left them.
	accepted ownwrites.Memory[*corev1.Node]
	// refused are the patches that the API server refused.
	refused ownwrites.Refusals
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
	return own, w.refused.Explained(after.UID, after.ResourceVersion)
}

// forget drops what is remembered about a Node that is gone.
func (w *nodeWrites) forget(uid types.UID) {
	w.accepted.Forget(uid)
	w.refused.Forget(uid)
}
