// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/machinist-dev/machinist/apis/contract"
	"github.com/machinist-dev/machinist/apis/contract/accessor"
	"github.com/machinist-dev/machinist/generated/facade"
)

// checkInvisible makes sure that nobody who reads an object by the contract can tell whether it was pruned.
func checkInvisible(t *testing.T, obj *unstructured.Unstructured) {
	t.Helper()
	for _, kind := range []struct {
		name  string
		prune func(*unstructured.Unstructured)
		equal func(a, b *unstructured.Unstructured) bool
		read  func(*unstructured.Unstructured, contract.Version) string
	}{
		{"InfraMachine", facade.PruneInfraMachine, facade.InfraMachineContractEqual, readEverythingInfraMachine},
		{"BootstrapConfig", facade.PruneBootstrapConfig, facade.BootstrapConfigContractEqual, readEverythingBootstrapConfig},
	} {
		before := obj.DeepCopy()
		pruned := obj.DeepCopy()
		kind.prune(pruned)
		for _, version := range append(contract.Versions(), "v1alpha4") {
			if diff := cmp.Diff(kind.read(obj, version), kind.read(pruned, version)); diff != "" {
				t.Errorf("%s %s reads differently, -object +pruned:\n%s", kind.name, version, diff)
			}
		}
		if !kind.equal(obj, pruned) || !kind.equal(pruned, obj) {
			t.Errorf("%s is not contract-equal to its pruned self", kind.name)
		}
		again := pruned.DeepCopy()
		kind.prune(again)
		if diff := cmp.Diff(pruned.Object, again.Object); diff != "" {
			t.Errorf("%s: pruning is not idempotent, -once +twice:\n%s", kind.name, diff)
		}
		if diff := cmp.Diff(before.Object, obj.Object); diff != "" {
			t.Errorf("%s: reading changed the object, -before +after:\n%s", kind.name, diff)
		}
	}
}

func readEverythingInfraMachine(obj *unstructured.Unstructured, version contract.Version) string {
	m, err := facade.WrapInfraMachine(obj, version)
	return fmt.Sprintf("%v\n%v\n%v", readInfraMachine(m), errorDetails(err), m.Findings())
}

func readEverythingBootstrapConfig(obj *unstructured.Unstructured, version contract.Version) string {
	c, err := facade.WrapBootstrapConfig(obj, version)
	return fmt.Sprintf("%v\n%v\n%v", readBootstrapConfig(c), errorDetails(err), c.Findings())
}

func errorDetails(err error) string {
	text := fmt.Sprint(err)
	fieldErrors, _ := errors.AsType[accessor.FieldErrors](err)
	for _, fieldError := range fieldErrors {
		text += fmt.Sprintf("\n%+v", *fieldError)
	}
	return text
}

func TestMetadataOfPrunedObjects(t *testing.T) {
	obj := parse(t, `{"apiVersion":"infrastructure.example.com/v1","kind":"FooMachine",
		"metadata":{"name":"n","namespace":"s","uid":"u","resourceVersion":"7","generation":3,
			"creationTimestamp":"2026-08-03T09:14:41Z","deletionTimestamp":"2026-08-03T09:14:41Z",
			"finalizers":["f"],"ownerReferences":[{"kind":"Machine","controller":true}],
			"labels":{"cluster.x-k8s.io/cluster-name":"c","cluster.x-k8s.io/set-name":"s"},
			"annotations":{"cluster.x-k8s.io/paused":"","cluster.x-k8s.io/conversion-data":"{}","cluster.x-k8s.io/cloned-from-name":"t"},
			"managedFields":[{}]},
		"spec":{"providerID":"p","template":{}},"status":{"conditions":[{"type":"Ready","status":"True","severity":"Info","extra":1}],"v1":{}}}`)
	want := parse(t, `{"apiVersion":"infrastructure.example.com/v1","kind":"FooMachine",
		"metadata":{"name":"n","namespace":"s","uid":"u","resourceVersion":"7","generation":3,
			"creationTimestamp":"2026-08-03T09:14:41Z","deletionTimestamp":"2026-08-03T09:14:41Z",
			"finalizers":["f"],"ownerReferences":[{"kind":"Machine","controller":true}],
			"labels":{"cluster.x-k8s.io/cluster-name":"c"},"annotations":{"cluster.x-k8s.io/paused":""}},
		"spec":{"providerID":"p"},"status":{"conditions":[{"type":"Ready","status":"True","severity":"Info"}]}}`)
	facade.PruneInfraMachine(obj)
	if diff := cmp.Diff(want.Object, obj.Object); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// FuzzObjects feeds any JSON to everything that reads an object.
func FuzzObjects(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"metadata":null,"spec":null,"status":null}`, `{"metadata":[],"spec":1,"status":"x"}`,
		`{"spec":{"providerID":"p"},"status":{"ready":true,"addresses":[{"type":"InternalIP","address":"a"}]}}`,
		`{"status":{"ready":"true","initialization":{"provisioned":null,"dataSecretCreated":1}}}`,
		`{"status":{"conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-08-03T09:14:41Z"},{},null,1]}}`,
		`{"status":{"v1beta2":{"conditions":{}},"deprecated":{"v1beta1":{"conditions":[{"severity":1}]}}}}`,
		`{"metadata":{"labels":{"cluster.x-k8s.io/cluster-name":1},"annotations":{"cluster.x-k8s.io/paused":null}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, source []byte) {
		var object map[string]any
		if err := json.Unmarshal(source, &object); err != nil {
			t.Skip("no JSON object")
		}
		checkInvisible(t, &unstructured.Unstructured{Object: object})
	})
}

// FuzzCRDs feeds any JSON to the checks of CRDs.
func FuzzCRDs(f *testing.F) {
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"kind":"CustomResourceDefinition","metadata":{"name":"foos.a","labels":{"cluster.x-k8s.io/v1beta2":"v1_"}},
		"spec":{"group":"a","scope":"Namespaced","names":{"kind":"Foo"},"versions":[{"name":"v1","served":true,"subresources":{"status":{}},
		"schema":{"openAPIV3Schema":{"properties":{"spec":{"properties":{"providerID":{"type":"string"}}},
		"status":{"additionalProperties":{"items":{"type":1}}}}}}}]}}`))
	f.Fuzz(func(t *testing.T, source []byte) {
		var object map[string]any
		if err := json.Unmarshal(source, &object); err != nil {
			t.Skip("no JSON object")
		}
		crd := &unstructured.Unstructured{Object: object}
		for _, check := range crdChecks {
			for _, finding := range check(crd) {
				if finding.Code == "" || finding.Message == "" {
					t.Errorf("a finding that says nothing: %+v", finding)
				}
			}
		}
	})
}
