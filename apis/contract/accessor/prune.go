// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package accessor

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// Prune cuts an object down to what the contract names, in all contract versions, plus apiVersion, kind and the
// metadata that readers rely on: name, namespace, uid, resourceVersion, generation, creationTimestamp,
// deletionTimestamp, finalizers, ownerReferences, and the labels and annotations that the contract names.
//
// The object is changed in place, by giving it a new tree: maps of the old tree are not written to, values that stay
// are shared with it. A value of the wrong type at a contract path stays, so that reading it still fails. Pruning
// twice changes nothing more. A pruned object is for reading: an update with it would delete what was pruned.
func (k *Kind) Prune(obj *unstructured.Unstructured) {
	if obj == nil || obj.Object == nil {
		return
	}
	obj.Object = k.kept.pruneMembers(obj.Object)
}

// Equal says whether nothing has changed that the contract names, in any contract version, nor uid,
// deletionTimestamp or ownerReferences. Other changes (resourceVersion, generation, finalizers, managedFields, fields
// of the provider's own) can't change what is read from the object.
func (k *Kind) Equal(old, current *unstructured.Unstructured) bool {
	if old == nil || current == nil {
		return old == current
	}
	return k.compared.equalMembers(old.Object, current.Object)
}

// OperativelyEqual says whether nothing has changed that readers act on: Equal without the fields that are
// informational. A reader that has other things to do may see such a change later.
func (k *Kind) OperativelyEqual(old, current *unstructured.Unstructured) bool {
	if old == nil || current == nil {
		return old == current
	}
	return k.acted.equalMembers(old.Object, current.Object)
}
