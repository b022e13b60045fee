// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Fault is a way in which a provider object misbehaves.
type Fault string

// Faults of InfraMachines. Those that say so need a CRD with AnyContent.
const (
	// NeverProvisions leaves the object in provisioning for ever.
	NeverProvisions Fault = "NeverProvisions"
	// NeverJoins provisions the server, but it never becomes a Node.
	NeverJoins Fault = "NeverJoins"
	// NeverDeletes keeps the finalizer of a deleting object. It is also a fault of BootstrapConfigs.
	NeverDeletes Fault = "NeverDeletes"
	// Fails sets failureReason and failureMessage instead of provisioning. It is also a fault of BootstrapConfigs.
	Fails Fault = "Fails"
	// ProviderIDMissing reports provisioned without a provider ID.
	ProviderIDMissing Fault = "ProviderIDMissing"
	// ProviderIDNumber has a number as provider ID. Needs AnyContent.
	ProviderIDNumber Fault = "ProviderIDNumber"
	// ProvisionedString has "true", the string, as provisioned. Needs AnyContent.
	ProvisionedString Fault = "ProvisionedString"
	// AddressesObject has an object where the list of addresses should be. Needs AnyContent.
	AddressesObject Fault = "AddressesObject"
	// AddressTypeUnknown reports, besides good ones, an address of a type that Machines don't have.
	AddressTypeUnknown Fault = "AddressTypeUnknown"
	// ConditionStatusMissing reports a Ready condition without a status. It is also a fault of BootstrapConfigs.
	ConditionStatusMissing Fault = "ConditionStatusMissing"
	// ConditionReasonInvalid reports a Ready condition whose reason has a space. It is also a fault of BootstrapConfigs.
	ConditionReasonInvalid Fault = "ConditionReasonInvalid"
)

// Faults of BootstrapConfigs.
const (
	// NeverCreatesSecret leaves the object waiting for ever.
	NeverCreatesSecret Fault = "NeverCreatesSecret"
	// DataSecretNameMissing reports a created Secret without its name.
	DataSecretNameMissing Fault = "DataSecretNameMissing"
	// DataSecretNameEmpty reports a created Secret with "" as its name.
	DataSecretNameEmpty Fault = "DataSecretNameEmpty"
	// DataSecretNameNumber has a number as the name. Needs AnyContent.
	DataSecretNameNumber Fault = "DataSecretNameNumber"
)

// faults says what each fault does to the object that the provider is about to write, which holds only what it writes.
// Those with nil happen elsewhere.
var faults = map[Fault]func(obj *unstructured.Unstructured){
	NeverProvisions:    nil,
	NeverJoins:         nil,
	NeverDeletes:       nil,
	Fails:              nil,
	NeverCreatesSecret: nil,
	ProviderIDMissing:  remove("spec", "providerID"),
	ProviderIDNumber:   replace(int64(42), "spec", "providerID"),
	ProvisionedString: func(obj *unstructured.Unstructured) {
		for _, path := range [][]string{{"status", "ready"}, {"status", "initialization", "provisioned"}} {
			if _, found, _ := unstructured.NestedBool(obj.Object, path...); found {
				replace("true", path...)(obj)
			}
		}
	},
	AddressesObject: replace(map[string]any{"InternalIP": "10.0.0.1"}, "status", "addresses"),
	AddressTypeUnknown: func(obj *unstructured.Unstructured) {
		addresses, _, _ := unstructured.NestedSlice(obj.Object, "status", "addresses")
		unknown := map[string]any{"type": "Pigeon", "address": "third loft from the left"}
		replace(append(addresses, unknown), "status", "addresses")(obj)
	},
	ConditionStatusMissing: inConditions(func(condition map[string]any) { delete(condition, "status") }),
	ConditionReasonInvalid: inConditions(func(condition map[string]any) { condition["reason"] = "Custom reason" }),
	DataSecretNameMissing:  remove("status", "dataSecretName"),
	DataSecretNameEmpty:    replace("", "status", "dataSecretName"),
	DataSecretNameNumber:   replace(int64(42), "status", "dataSecretName"),
}

func remove(path ...string) func(*unstructured.Unstructured) {
	return func(obj *unstructured.Unstructured) { unstructured.RemoveNestedField(obj.Object, path...) }
}

// replace does nothing to an object without the field: the provider isn't there yet.
func replace(value any, path ...string) func(*unstructured.Unstructured) {
	return func(obj *unstructured.Unstructured) {
		if _, found, _ := unstructured.NestedFieldNoCopy(obj.Object, path...); !found {
			return
		}
		if err := unstructured.SetNestedField(obj.Object, value, path...); err != nil {
			panic(err) // the path exists
		}
	}
}

// inConditions changes the Ready condition wherever there is one.
func inConditions(change func(condition map[string]any)) func(*unstructured.Unstructured) {
	return func(obj *unstructured.Unstructured) {
		for _, path := range [][]string{
			{"status", "conditions"}, {"status", "v1beta2", "conditions"}, {"status", "deprecated", "v1beta1", "conditions"},
		} {
			list, _, _ := unstructured.NestedSlice(obj.Object, path...)
			for _, item := range list {
				if condition, ok := item.(map[string]any); ok && condition["type"] == "Ready" {
					change(condition)
				}
			}
			replace(list, path...)(obj)
		}
	}
}

// fault returns the fault of an object: the one that its annotation names, or one by the shares of the options.
func (o Options) fault(kind schema.GroupKind, obj metav1.Object) (Fault, error) {
	key := types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
	if name, found := obj.GetAnnotations()[FaultAnnotation]; found {
		if _, known := faults[Fault(name)]; !known && name != "" {
			return "", fmt.Errorf("annotation %s of %s %s is %q, expected one of %s", FaultAnnotation, kind.Kind, key, name, faultNames())
		}
		return Fault(name), nil
	}
	draw := chance{o.Seed}.of(key, "fault of "+kind.String()).Float64()
	for _, fault := range slices.Sorted(maps.Keys(o.Faults)) {
		if draw -= o.Faults[fault]; draw < 0 {
			return fault, nil
		}
	}
	return "", nil
}

func faultNames() string {
	var names []string
	for _, fault := range slices.Sorted(maps.Keys(faults)) {
		names = append(names, string(fault))
	}
	return strings.Join(names, ", ")
}
