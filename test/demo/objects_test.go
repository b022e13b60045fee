// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/environment"
)

// TestSamples creates what is in config/samples, as kubectl with strict validation does: no unknown or repeated field.
func TestSamples(t *testing.T) {
	crds := filepath.Join(t.TempDir(), "crds.yaml")
	if err := writeSimulatorCRDs(crds); err != nil {
		t.Fatal(err)
	}
	env, err := environment.Start(t.Context(), environment.Options{
		CRDPaths: []string{filepath.Join("..", "..", "config", "crd", "bases"), crds},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	c, err := client.New(env.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	objects, err := readSamples(filepath.Join("..", "..", "config", "samples"))
	if err != nil {
		t.Fatal(err)
	}
	for _, obj := range objects {
		if err := client.WithFieldValidation(c, "Strict").Create(t.Context(), obj); err != nil {
			t.Errorf("create %s %s: %v", obj.GetObjectKind().GroupVersionKind().Kind, obj.GetName(), err)
		}
	}
}

// TestSamplesBelongTogether checks what no API server does: that references lead to objects, and the numbers.
func TestSamplesBelongTogether(t *testing.T) {
	objects, err := readSamples(filepath.Join("..", "..", "config", "samples"))
	if err != nil {
		t.Fatal(err)
	}
	belongTogether(t, objects, sampleMachines, 1)
}

func TestGeneratedObjectsBelongTogether(t *testing.T) {
	for machines, clusters := range map[int]int{1: 1, 100: 1, 101: 2, 250: 3} {
		belongTogether(t, generate(machines), machines, clusters)
	}
}

func belongTogether(t *testing.T, objects []client.Object, machines, clusters int) {
	t.Helper()
	known := map[clusterv1.ContractVersionedObjectReference]bool{}
	controlPlanes := map[string]bool{}
	for _, obj := range objects {
		known[referenceTo(obj)] = true
	}
	for _, obj := range objects {
		machine := asMachine(t, obj)
		if machine == nil {
			continue
		}
		machines--
		if _, found := machine.Labels[clusterv1.MachineControlPlaneLabel]; found {
			controlPlanes[machine.Spec.ClusterName] = true
		}
		for _, ref := range []clusterv1.ContractVersionedObjectReference{
			machine.Spec.InfrastructureRef,
			machine.Spec.Bootstrap.ConfigRef,
			{APIGroup: clusterv1.GroupVersion.Group, Kind: clusterv1.ClusterKind, Name: machine.Spec.ClusterName},
		} {
			if !known[ref] {
				t.Errorf("Machine %s refers to %v, which is missing", machine.Name, ref)
			}
		}
	}
	if machines != 0 {
		t.Errorf("%d Machines are missing", machines)
	}
	if len(controlPlanes) != clusters {
		t.Errorf("%d Clusters have a control plane, expected %d", len(controlPlanes), clusters)
	}
}

func referenceTo(obj client.Object) clusterv1.ContractVersionedObjectReference {
	gvk := obj.GetObjectKind().GroupVersionKind()
	return clusterv1.ContractVersionedObjectReference{APIGroup: gvk.Group, Kind: gvk.Kind, Name: obj.GetName()}
}

// asMachine returns nil for other kinds.
func asMachine(t *testing.T, obj client.Object) *clusterv1.Machine {
	t.Helper()
	if obj.GetObjectKind().GroupVersionKind().GroupKind() != clusterv1.GroupVersion.WithKind("Machine").GroupKind() {
		return nil
	}
	if machine, typed := obj.(*clusterv1.Machine); typed {
		return machine
	}
	machine := &clusterv1.Machine{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.(*unstructured.Unstructured).Object, machine); err != nil {
		t.Fatal(err)
	}
	return machine
}
