// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// ownWrites remembers the last writes of each Machine, so that the events that they cause needn't be reconciled: what
// was written was computed from all that was known. Its zero value is ready to use; it is safe for concurrent use.
type ownWrites struct {
	mu   sync.Mutex
	last map[types.UID][2]step
}

// step is the change of a Machine's resourceVersion by one write.
type step struct{ from, to string }

// record remembers a write that has succeeded. A reconcile writes at most twice after it has read, so two are enough.
func (w *ownWrites) record(uid types.UID, from, to string) {
	if from == to {
		return // the API server found nothing to change
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == nil {
		w.last = map[types.UID][2]step{}
	}
	w.last[uid] = [2]step{{from, to}, w.last[uid][0]}
}

// caused reports whether the change between the two versions is a write of ours and nothing else.
func (w *ownWrites) caused(uid types.UID, from, to string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := w.last[uid]
	return last[0] == step{from, to} || last[1] == step{from, to}
}

// forget drops what is remembered about a Machine that is gone.
func (w *ownWrites) forget(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.last, uid)
}
