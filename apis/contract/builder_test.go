// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/machinist-dev/machinist/apis/contract"
	"github.com/machinist-dev/machinist/generated/facade"
	"github.com/machinist-dev/machinist/generated/facadetest"
)

var noon = metav1.NewTime(time.Date(2026, 8, 3, 12, 0, 0, 0, time.UTC))

func fullInfraMachine(version contract.Version) facadetest.InfraMachineBuilder {
	return facadetest.NewInfraMachine(version).
		WithGroupVersionKind(schema.GroupVersionKind{Group: "infrastructure.example.com", Version: "v1alpha1", Kind: "FooMachine"}).
		WithNamespace("ns").WithName("name").
		WithProviderID("foo://1").WithProvisioned(true).WithFailureDomain("a").WithDeprecatedFailureDomain("b").
		WithAddresses([]contract.MachineAddress{{Type: "InternalIP", Address: "10.0.0.1"}}).WithInterruptible(true).
		WithFailureReason("r").WithFailureMessage("m").
		WithConditions([]contract.Condition{{Type: "Ready", Status: "True", Reason: "R", Message: "M", LastTransitionTime: noon, ObservedGeneration: 2}}).
		WithDeprecatedConditions([]contract.DeprecatedCondition{{Type: "Ready", Status: "False", Severity: "Info", LastTransitionTime: noon}}).
		WithClusterName("c").WithWatchFilter("w").WithPaused(true).WithUpdateInProgress(true)
}

// What a builder writes under a contract version is what a wrapper reads under it.
func TestBuiltObjectsReadBack(t *testing.T) {
	for _, version := range contract.Versions() {
		built := fullInfraMachine(version).Build()
		m, err := facade.WrapInfraMachine(built, version)
		want := snapshot{
			"ProviderID": "foo://1", "Provisioned": true, "FailureDomain": "a", "DeprecatedFailureDomain": "b",
			"Addresses": []contract.MachineAddress{{Type: "InternalIP", Address: "10.0.0.1"}}, "Interruptible": true,
			"FailureReason": "r", "FailureMessage": "m",
			"Conditions":           []contract.Condition{{Type: "Ready", Status: "True", Reason: "R", Message: "M", LastTransitionTime: noon, ObservedGeneration: 2}},
			"DeprecatedConditions": []contract.DeprecatedCondition{{Type: "Ready", Status: "False", Severity: "Info", LastTransitionTime: noon}},
			"ClusterName":          "c", "WatchFilter": "w", "Paused": true, "UpdateInProgress": true,
		}
		if diff := cmp.Diff(want, readInfraMachine(m)); diff != "" || err != nil {
			t.Errorf("InfraMachine %s: %v, -want +got:\n%s", version, err, diff)
		}
		if built.GetName() != "name" || built.GetNamespace() != "ns" || built.GetKind() != "FooMachine" || m.ContractVersion() != version {
			t.Errorf("got %s %s/%s", built.GroupVersionKind(), built.GetNamespace(), built.GetName())
		}
		c, err := facade.WrapBootstrapConfig(facadetest.NewBootstrapConfig(version).
			WithDataSecretCreated(true).WithDataSecretName("s").WithFailureReason("r").WithFailureMessage("m").
			WithConditions([]contract.Condition{}).WithCertificatesExpiry(noon).Build(), version)
		want = snapshot{
			"DataSecretCreated": true, "DataSecretName": "s", "FailureReason": "r", "FailureMessage": "m",
			"Conditions": []contract.Condition{}, "CertificatesExpiry": noon, "Paused": false, "UpdateInProgress": false,
		}
		if version == contract.V1Beta2 {
			// Both kinds of conditions are at status.conditions, and an empty list has no style.
			want["DeprecatedConditions"] = []contract.DeprecatedCondition{}
		}
		if diff := cmp.Diff(want, readBootstrapConfig(c)); diff != "" || err != nil {
			t.Errorf("BootstrapConfig %s: %v, -want +got:\n%s", version, err, diff)
		}
	}
}

// Setters write to where providers of the contract version write.
func TestWhereSettersWrite(t *testing.T) {
	for version, paths := range map[contract.Version][][]string{
		contract.V1Beta1: {{"status", "ready"}, {"status", "v1beta2", "conditions"}, {"status", "conditions"}},
		contract.V1Beta2: {{"status", "initialization", "provisioned"}, {"status", "conditions"}, {"status", "deprecated", "v1beta1", "conditions"}},
	} {
		obj := &unstructured.Unstructured{}
		facadetest.SetInfraMachineProvisioned(obj, version, true)
		facadetest.SetInfraMachineConditions(obj, version, []contract.Condition{{Type: "A", Status: "True"}})
		facadetest.SetInfraMachineDeprecatedConditions(obj, version, []contract.DeprecatedCondition{{Type: "B", Status: "True"}})
		want := []any{true, []any{map[string]any{"type": "A", "status": "True"}}, []any{map[string]any{"type": "B", "status": "True"}}}
		for i, path := range paths {
			got, found, err := unstructured.NestedFieldNoCopy(obj.Object, path...)
			if diff := cmp.Diff(want[i], got); diff != "" || !found || err != nil {
				t.Errorf("%s %v: %t, %v, -want +got:\n%s", version, path, found, err, diff)
			}
		}
	}
}

func TestBuildersAreImmutable(t *testing.T) {
	base := facadetest.NewInfraMachine(contract.V1Beta2).WithName("base").WithPaused(true)
	first, second := base.WithProviderID("1"), base.WithProviderID("2").WithPaused(false).WithValue("odd", "status", "ready")
	id := func(b facadetest.InfraMachineBuilder) string {
		m, err := facade.WrapInfraMachine(b.Build(), contract.V1Beta2)
		if err != nil {
			t.Fatal(err)
		}
		id, _ := m.ProviderID()
		return id
	}
	if id(base) != "" || id(first) != "1" || id(second) != "2" {
		t.Errorf("got %q, %q, %q", id(base), id(first), id(second))
	}
	built := first.Build()
	built.SetName("changed")
	if first.Build().GetName() != "base" {
		t.Error("a built object is still part of its builder")
	}
	if m, _ := facade.WrapInfraMachine(second.Build(), contract.V1Beta2); m.Paused() {
		t.Error("the annotation was not removed")
	}
}

func TestSettersRefuseUnknownVersions(t *testing.T) {
	defer func() {
		if got, want := recover(), `InfraMachine: contract version "v9" is unknown or doesn't have the field ProviderID`; got != want {
			t.Errorf("got  %v\nwant %s", got, want)
		}
	}()
	facadetest.NewInfraMachine("v9").WithProviderID("x")
}
