// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// EnsureOwned makes the object carry the owner reference of the Machine, instead of those of creators, and the label that
// names its Cluster, and returns the object as it is afterwards. Nothing else is ever written there. It sends nothing when
// nothing is missing. The patch holds a resourceVersion, because a JSON merge patch replaces the list of owner
// references whole: an entry that somebody added meanwhile makes it fail with a conflict instead of being lost.
//
// Errors: *OwnedError when another controller owns the object, ErrBehind when the object has changed or has gone without
// the cache knowing it yet (who references it is enqueued when the cache does), and the API server's errors.
func (t *Tracker) EnsureOwned(ctx context.Context, object *Object, want Ownership) (*Object, error) {
	refs, refsChanged, err := ownerReferencesFor(object.kind, object.raw, want)
	if err != nil {
		return nil, err
	}
	clusterName := want.Machine.Spec.ClusterName
	labelChanged := object.raw.GetLabels()[clusterv1.ClusterNameLabel] != clusterName
	if !refsChanged && !labelChanged {
		return object, nil
	}
	metadata := map[string]any{"uid": object.raw.GetUID(), "resourceVersion": object.raw.GetResourceVersion()}
	if refsChanged {
		metadata["ownerReferences"] = refs
	}
	if labelChanged {
		metadata["labels"] = map[string]string{clusterv1.ClusterNameLabel: clusterName}
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return nil, fmt.Errorf("building the ownership patch for %s %s: %w", object.kind.Kind, object.Key(), err)
	}
	watch := t.watchOf(object.kind)
	if watch.refused.Again(object.UID(), object.raw.GetResourceVersion()) {
		return nil, fmt.Errorf("setting the owner of %s %s: %w", object.kind.Kind, object.Key(), ErrBehind)
	}
	watch.writes.Begin(object.UID())
	defer func() {
		if watch.writes.End(object.UID()) {
			watch.wakeReferrers(ctx, object.Key())
		}
	}()
	patched, err := t.dynamic.Resource(object.resource).Namespace(object.raw.GetNamespace()).
		Patch(ctx, object.raw.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		watch.awaitNews(ctx, object)
		return nil, fmt.Errorf("setting the owner of %s %s: %w: %w", object.kind.Kind, object.Key(), ErrBehind, err)
	case err != nil:
		return nil, fmt.Errorf("setting the owner of %s %s: %w", object.kind.Kind, object.Key(), err)
	}
	written, err := pack(object.kind.Role, patched)
	if err != nil {
		return nil, err
	}
	watch.writes.Record(written.uid, object.raw.GetResourceVersion(), written.resourceVersion, written)
	return &Object{kind: object.kind, resource: object.resource, contract: object.contract, raw: patched}, nil
}

// ownerReferencesFor computes the owner references of the object, and whether they differ from what it has.
func ownerReferencesFor(kind Kind, object metav1.Object, want Ownership) ([]metav1.OwnerReference, bool, error) {
	have, key := object.GetOwnerReferences(), types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
	refs := make([]metav1.OwnerReference, 0, len(have)+1)
	placed := false
	for _, ref := range have {
		owner, err := want.Owner(&ref)
		if err != nil {
			return nil, false, fmt.Errorf("%s %s has an unusable owner reference: %w", kind.Kind, key, err)
		}
		switch {
		case owner == OwnerCreator: // gives way
		case owner == OwnerItself:
			if !placed {
				refs = append(refs, want.controller())
			}
			placed = true
		case ref.Controller != nil && *ref.Controller:
			return nil, false, &OwnedError{Kind: kind.Kind, Key: key, Owner: ref.Kind + " " + ref.Name}
		default:
			refs = append(refs, ref)
		}
	}
	if !placed {
		refs = append(refs, want.controller())
	}
	return refs, !slices.EqualFunc(have, refs, sameReference), nil
}

// sameReference ignores blockOwnerDeletion: others may set it as they need.
func sameReference(a, b metav1.OwnerReference) bool {
	controller := func(ref metav1.OwnerReference) bool { return ref.Controller != nil && *ref.Controller }
	return a.APIVersion == b.APIVersion && a.Kind == b.Kind && a.Name == b.Name && a.UID == b.UID && controller(a) == controller(b)
}

// Delete asks the API server to delete the object, unless it is being deleted already or was asked before. Only the
// object with this UID is deleted, never one of the same name that was created since: then the API server answers with a
// conflict. An object that is gone, one way or the other, is no error.
func (t *Tracker) Delete(ctx context.Context, object *Object) error {
	watch := t.watchOf(object.kind)
	if object.Deleting() || watch.deleteWasSent(object.UID()) {
		return nil
	}
	uid := object.UID()
	err := t.dynamic.Resource(object.resource).Namespace(object.raw.GetNamespace()).
		Delete(ctx, object.raw.GetName(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("deleting %s %s: %w", object.kind.Kind, object.Key(), err)
	}
	watch.rememberDelete(ctx, object)
	return nil
}
