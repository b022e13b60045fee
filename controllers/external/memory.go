// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/machinist-dev/machinist/controllers/ownwrites"
)

// known returns what reconciles know at least, when the store has the given object: our own last write if that is newer.
func (w *kindWatch) known(stored *packed) *packed {
	if written, ok := w.writes.Newest(stored.uid, stored.resourceVersion); ok {
		return written
	}
	return stored
}

// awaitNews makes the next event of an object wake those who reference it, whatever it changes, as a patch was refused.
func (w *kindWatch) awaitNews(ctx context.Context, object *Object) {
	w.refused.Add(object.UID(), object.raw.GetResourceVersion())
	w.compareWithStore(ctx, object.Key(), object.UID(), object.raw.GetResourceVersion())
}

// rememberDelete keeps that the API server has accepted our deletion of the object.
func (w *kindWatch) rememberDelete(ctx context.Context, object *Object) {
	w.mu.Lock()
	w.deleted[object.UID()] = struct{}{}
	w.mu.Unlock()
	w.compareWithStore(ctx, object.Key(), object.UID(), object.raw.GetResourceVersion())
}

func (w *kindWatch) deleteWasSent(uid types.UID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, sent := w.deleted[uid]
	return sent
}

// compareWithStore follows whenever a refusal or a delete is remembered about an object that had the given version. It makes up for
// an event that came first: if the object is gone, nothing else would make us forget, and if the store has a newer one, it
// may have been compared without what we know now.
func (w *kindWatch) compareWithStore(ctx context.Context, key types.NamespacedName, uid types.UID, resourceVersion string) {
	stored := w.stored(key)
	switch {
	case stored == nil || stored.uid != uid:
		w.forget(uid)
	case ownwrites.Older(resourceVersion, stored.resourceVersion):
		w.wakeReferrers(ctx, key)
	}
}

// stored returns what the store has; nil if there is no such object, or no store that serves.
func (w *kindWatch) stored(key types.NamespacedName) *packed {
	serving := w.state.Load().serving
	if serving == nil {
		return nil
	}
	item, _, err := serving.shared.GetStore().GetByKey(key.String())
	if err != nil {
		return nil
	}
	stored, _ := item.(*packed)
	return stored
}

// forget drops what was remembered about an object that is gone.
func (w *kindWatch) forget(uid types.UID) {
	w.writes.Forget(uid)
	w.refused.Forget(uid)
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.deleted, uid)
}

// forgetAll drops what was remembered about all objects.
func (w *kindWatch) forgetAll() {
	w.writes.Clear()
	w.refused.Clear()
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.deleted)
}
