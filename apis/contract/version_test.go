// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/machinist-dev/machinist/apis/contract"
	"github.com/machinist-dev/machinist/apis/contract/accessor"
	"github.com/machinist-dev/machinist/apis/contract/crdcheck"
	"github.com/machinist-dev/machinist/generated/facade"
)

func TestVersionsAreNewestFirst(t *testing.T) {
	if got := contract.Versions(); !slices.Equal(got, []contract.Version{contract.V1Beta2, contract.V1Beta1}) {
		t.Errorf("got %v", got)
	}
	contract.Versions()[0] = "changed"
	if contract.Versions()[0] != contract.V1Beta2 {
		t.Error("a caller can change the versions")
	}
}

func TestResolve(t *testing.T) {
	// API versions are named like contract versions on purpose: they are unrelated.
	got, err := contract.Resolve(map[string]string{
		"cluster.x-k8s.io/v1beta1":  "v1beta2",
		"cluster.x-k8s.io/v1beta2":  "v1alpha1_v1beta1",
		"cluster.x-k8s.io/v1alpha4": "v1alpha3",
		"cluster.x-k8s.io/provider": "infrastructure-docker",
	})
	if want := (contract.Resolution{ContractVersion: contract.V1Beta2, APIVersion: "v1beta1"}); got != want || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
	got, err = contract.Resolve(map[string]string{"cluster.x-k8s.io/v1alpha4": "v1alpha3", "cluster.x-k8s.io/v1beta2": ""})
	if none, ok := errors.AsType[*accessor.NoContractError](err); !ok || !slices.Equal(none.Tried, []string{"v1beta2", "v1beta1"}) {
		t.Errorf("got %v, %v", got, err)
	}
	if got != (contract.Resolution{}) {
		t.Errorf("a result next to an error: %v", got)
	}
}

// The markers that the facade is generated from say the same as the constants of this package.
func TestFacadeKnowsTheSameLabels(t *testing.T) {
	for _, version := range contract.Versions() {
		crd := parse(t, `{"kind":"CustomResourceDefinition","metadata":{"name":"foos.a"},
			"spec":{"group":"a","scope":"Namespaced","names":{"kind":"Foo"},"versions":[{"name":"v1","schema":{"openAPIV3Schema":{}}}]}}`)
		crd.SetLabels(map[string]string{contract.LabelPrefix + string(version): "v9"})
		resolution, err := contract.Resolve(crd.GetLabels())
		findings := facade.CheckInfraMachineCRD(crd)
		if err != nil || len(findings) != 1 || findings[0].Code != crdcheck.VersionMissing ||
			findings[0].ContractVersion != string(resolution.ContractVersion) || findings[0].APIVersion != resolution.APIVersion {
			t.Errorf("%s: resolved %v, %v; findings %v", version, resolution, err, findings)
		}
	}
}

func TestContractVersionOf(t *testing.T) {
	labels := map[string]string{
		"cluster.x-k8s.io/v1beta1": "v1alpha1_v1beta1", "cluster.x-k8s.io/v1beta2": "v1beta1", "cluster.x-k8s.io/provider": "v1",
	}
	if got, found := contract.ContractVersionOf(labels, "v1beta1"); got != contract.V1Beta2 || !found {
		t.Errorf("newest first: got %s, %t", got, found)
	}
	if got, found := contract.ContractVersionOf(labels, "v1"); got != "" || found {
		t.Errorf("not a contract label: got %s, %t", got, found)
	}
}

func TestCRDName(t *testing.T) {
	if got := contract.CRDName("infrastructure.cluster.x-k8s.io", "DockerMachine"); got != "dockermachines.infrastructure.cluster.x-k8s.io" {
		t.Errorf("got %s", got)
	}
}
