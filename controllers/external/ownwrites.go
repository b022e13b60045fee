// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// step is the change of an object's resourceVersion by one write.
type step struct{ from, to string }

// rememberWrite keeps the object as our patch left it, so that no decision is taken on a store that is behind our own
// write: it would repeat the patch and fail with a conflict. from is the resourceVersion before the patch.
func (w *kindWatch) rememberWrite(from string, object *packed) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.written[object.uid] = object
	w.patched[object.uid] = step{from: from, to: object.resourceVersion}
}

// isOwnPatch reports whether the change between the two is a patch of ours and nothing else. Who made it knows already.
func (w *kindWatch) isOwnPatch(before, after *packed) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.patched[after.uid] == step{from: before.resourceVersion, to: after.resourceVersion}
}

// rememberDelete keeps that the API server has accepted our deletion of the object.
func (w *kindWatch) rememberDelete(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deleted[uid] = struct{}{}
}

func (w *kindWatch) deleteWasSent(uid types.UID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, sent := w.deleted[uid]
	return sent
}

// newest returns the stored object, or our own last write of it if that is newer.
func (w *kindWatch) newest(stored *packed) (*unstructured.Unstructured, error) {
	w.mu.Lock()
	written, ok := w.written[stored.uid]
	if ok {
		// Resource versions of one resource can be compared since Kubernetes 1.35; where a server's can't, the store is right.
		if order, err := resourceversion.CompareResourceVersion(stored.resourceVersion, written.resourceVersion); err != nil || order >= 0 {
			delete(w.written, stored.uid)
		} else {
			w.counts.ownReads.Add(1)
			stored = written
		}
	}
	w.mu.Unlock()
	return stored.unpack()
}

// forget drops what was remembered about an object that is gone.
func (w *kindWatch) forget(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.written, uid)
	delete(w.patched, uid)
	delete(w.deleted, uid)
}

// forgetAll drops what was remembered about all objects.
func (w *kindWatch) forgetAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.written)
	clear(w.patched)
	clear(w.deleted)
}
