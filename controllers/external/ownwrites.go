// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// step is the change of an object's resourceVersion by one write.
type step struct{ from, to string }

// rememberWrite keeps the object as our patch left it, so that no decision is taken on a store that is behind our own
// write: it would repeat the patch and fail with a conflict. from is the resourceVersion before the patch.
func (w *kindWatch) rememberWrite(ctx context.Context, from string, object *packed) {
	w.mu.Lock()
	w.written[object.uid] = object
	w.patched[object.uid] = step{from: from, to: object.resourceVersion}
	w.mu.Unlock()
	w.compareWithStore(ctx, types.NamespacedName{Namespace: object.namespace, Name: object.name}, object.uid, object.resourceVersion)
}

// isOwnPatch reports whether the change between the two is a patch of ours and nothing else. Who made it knows already,
// and now the informer does, so that nothing of it needs to be remembered.
func (w *kindWatch) isOwnPatch(before, after *packed) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.patched[after.uid] != (step{from: before.resourceVersion, to: after.resourceVersion}) {
		return false
	}
	delete(w.patched, after.uid) // it comes once
	if written, ok := w.written[after.uid]; ok && !older(after.resourceVersion, written.resourceVersion) {
		delete(w.written, after.uid)
	}
	return true
}

// known returns what reconciles know at least, when the store has the given object: our own last write if that is newer.
func (w *kindWatch) known(stored *packed) *packed {
	w.mu.Lock()
	defer w.mu.Unlock()
	if written, ok := w.written[stored.uid]; ok && older(stored.resourceVersion, written.resourceVersion) {
		return written
	}
	return stored
}

// refusal is a patch that the API server has refused because the object is newer than this version of it.
type refusal struct {
	resourceVersion string
	at              time.Time
}

// refusedFor is how long a patch that was refused is not tried again while nothing newer is known.
const refusedFor = 5 * time.Second

// awaitNews makes the next event of an object wake those who reference it, whatever it changes, as a patch was refused.
func (w *kindWatch) awaitNews(ctx context.Context, object *Object) {
	w.mu.Lock()
	w.refused[object.UID()] = refusal{resourceVersion: object.raw.GetResourceVersion(), at: time.Now()}
	w.mu.Unlock()
	w.compareWithStore(ctx, object.Key(), object.UID(), object.raw.GetResourceVersion())
}

// wouldBeRefused reports whether nothing newer is known of the object than when a patch was refused.
func (w *kindWatch) wouldBeRefused(object *Object) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := w.refused[object.UID()]
	return last.resourceVersion == object.raw.GetResourceVersion() && time.Since(last.at) < refusedFor
}

// newsAwaited reports whether the event of the object was awaited, and ends that.
func (w *kindWatch) newsAwaited(uid types.UID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, awaited := w.refused[uid]
	delete(w.refused, uid)
	return awaited
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

// newest returns the stored object, or our own last write of it if that is newer.
func (w *kindWatch) newest(stored *packed) (*unstructured.Unstructured, error) {
	w.mu.Lock()
	if written, ok := w.written[stored.uid]; ok {
		if older(stored.resourceVersion, written.resourceVersion) {
			w.counts.ownReads.Add(1)
			stored = written
		} else {
			delete(w.written, stored.uid)
		}
	}
	w.mu.Unlock()
	return stored.unpack()
}

// older reports whether version a comes before b. Resource versions of one resource can be compared since Kubernetes 1.35;
// where a server's can't, the store is taken to be right.
func older(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}

// compareWithStore follows whenever something is remembered about an object that had the given version. It makes up for
// an event that came first: if the object is gone, nothing else would make us forget, and if the store has a newer one, it
// may have been compared without what we know now.
func (w *kindWatch) compareWithStore(ctx context.Context, key types.NamespacedName, uid types.UID, resourceVersion string) {
	stored := w.stored(key)
	switch {
	case stored == nil || stored.uid != uid:
		w.forget(uid)
	case older(resourceVersion, stored.resourceVersion):
		w.tracker.enqueue(w.tracker.referrers.To(ctx, w.kind, key))
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
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.written, uid)
	delete(w.patched, uid)
	delete(w.refused, uid)
	delete(w.deleted, uid)
}

// forgetAll drops what was remembered about all objects.
func (w *kindWatch) forgetAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.written)
	clear(w.patched)
	clear(w.refused)
	clear(w.deleted)
}
