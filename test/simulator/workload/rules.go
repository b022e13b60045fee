// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// The rules by which a write is accepted: those of the Kubernetes API conventions on metadata, and no others.

// checkIdentity compares what a client sent with the object that it wants to replace.
func checkIdentity(res *resource, current, sent Object) error {
	if keyOf(sent) != keyOf(current) {
		return apierrors.NewBadRequest(fmt.Sprintf("the %s is %s, the request's body names %s", res.Kind, keyOf(current), keyOf(sent)))
	}
	if uid := sent.GetUID(); uid != "" && uid != current.GetUID() {
		return conflict(res, current, fmt.Sprintf("its UID is %s, the request's body has %s", current.GetUID(), uid))
	}
	if version := sent.GetResourceVersion(); version != "" && version != current.GetResourceVersion() {
		return conflict(res, current, fmt.Sprintf("its resourceVersion is %s, the request is based on %s; read it again",
			current.GetResourceVersion(), version))
	}
	return nil
}

// keepSystemMetadata restores what clients can't write.
func keepSystemMetadata(sent, current Object) {
	sent.SetUID(current.GetUID())
	sent.SetCreationTimestamp(current.GetCreationTimestamp())
	sent.SetDeletionTimestamp(current.GetDeletionTimestamp())
	sent.SetGenerateName(current.GetGenerateName())
}

func checkPreconditions(res *resource, current Object, preconditions *metav1.Preconditions) error {
	if preconditions == nil {
		return nil
	}
	if uid := preconditions.UID; uid != nil && *uid != current.GetUID() {
		return conflict(res, current, fmt.Sprintf("its UID is %s, the precondition asks for %s", current.GetUID(), *uid))
	}
	if version := preconditions.ResourceVersion; version != nil && *version != current.GetResourceVersion() {
		return conflict(res, current, fmt.Sprintf("its resourceVersion is %s, the precondition asks for %s",
			current.GetResourceVersion(), *version))
	}
	return nil
}

func conflict(res *resource, current Object, reason string) error {
	return apierrors.NewConflict(res.groupResource(), current.GetName(), fmt.Errorf("%s %s: %s", res.Kind, keyOf(current), reason))
}

// selection is what a list or watch asks for.
type selection struct {
	namespace string
	labels    labels.Selector
	fields    fields.Selector
}

func (s selection) matches(key types.NamespacedName, attrs *attributes) bool {
	if s.namespace != "" && s.namespace != key.Namespace {
		return false
	}
	if !s.labels.Matches(attrs.labels) {
		return false
	}
	return s.fields.Empty() || s.fields.Matches(selectable{key, attrs.fields})
}

// selectable adds the fields that every object has to those of its kind, without a map per object.
type selectable struct {
	key    types.NamespacedName
	fields fields.Set
}

func (s selectable) Has(field string) bool {
	switch field {
	case "metadata.name", "metadata.namespace":
		return true
	default:
		return s.fields.Has(field)
	}
}

func (s selectable) Get(field string) string {
	switch field {
	case "metadata.name":
		return s.key.Name
	case "metadata.namespace":
		return s.key.Namespace
	default:
		return s.fields.Get(field)
	}
}

// newSelection parses selectors; one that names a field that the resource does not offer is a BadRequest, as it would
// otherwise match nothing in silence.
func newSelection(res *resource, namespace, labelSelector, fieldSelector string) (selection, error) {
	sel := selection{namespace: namespace}
	var err error
	if sel.labels, err = labels.Parse(labelSelector); err != nil {
		return sel, apierrors.NewBadRequest(fmt.Sprintf("labelSelector %q: %v", labelSelector, err))
	}
	if sel.fields, err = fields.ParseSelector(fieldSelector); err != nil {
		return sel, apierrors.NewBadRequest(fmt.Sprintf("fieldSelector %q: %v", fieldSelector, err))
	}
	offered := selectable{}
	if res.fields != nil {
		offered.fields = res.fields(res.newObject())
	}
	for _, requirement := range sel.fields.Requirements() {
		if !offered.Has(requirement.Field) {
			return sel, apierrors.NewBadRequest(fmt.Sprintf("field label not supported: %s of %s", requirement.Field, res.plural))
		}
	}
	return sel, nil
}
