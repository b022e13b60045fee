// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/machinist-dev/machinist/apis/contract"
	"github.com/machinist-dev/machinist/generated/facade"
)

// Object is a provider object as the cache holds it: pruned to the contract's fields, shared and for reading only.
// The raw object is not exported, so that what was pruned can't be written back by an Update or a merge patch.
type Object struct {
	kind     Kind
	resource schema.GroupVersionResource
	contract contract.Version
	raw      *unstructured.Unstructured
}

// Key returns namespace and name.
func (o *Object) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: o.raw.GetNamespace(), Name: o.raw.GetName()}
}

// GroupVersionKind returns the API version that the object was read at.
func (o *Object) GroupVersionKind() schema.GroupVersionKind {
	return o.kind.WithVersion(o.resource.Version)
}

// ContractVersion returns the contract version whose paths apply to the object.
func (o *Object) ContractVersion() contract.Version { return o.contract }

// UID returns the UID of the object.
func (o *Object) UID() types.UID { return o.raw.GetUID() }

// Deleting reports whether the object has a deletionTimestamp.
func (o *Object) Deleting() bool { return o.raw.GetDeletionTimestamp() != nil }

// InfraMachine wraps and checks the object; see facade.WrapInfraMachine for the error.
func (o *Object) InfraMachine() (facade.InfraMachine, error) {
	return facade.WrapInfraMachine(o.raw, o.contract)
}

// BootstrapConfig wraps and checks the object; see facade.WrapBootstrapConfig for the error.
func (o *Object) BootstrapConfig() (facade.BootstrapConfig, error) {
	return facade.WrapBootstrapConfig(o.raw, o.contract)
}

// ControlPlane wraps and checks the object; see facade.WrapControlPlane for the error.
func (o *Object) ControlPlane() (facade.ControlPlane, error) {
	return facade.WrapControlPlane(o.raw, o.contract)
}
