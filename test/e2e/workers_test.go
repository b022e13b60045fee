// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/builder"
	"github.com/machinist-dev/machinist/test/simulator"
	"github.com/machinist-dev/machinist/test/simulator/workload"
)

// workers is the name of the MachineDeployment.
const workers = "workers"

// What Cluster API asks of the providers besides: the kinds that it makes Machines' objects from, and one for the Cluster.
var (
	simCluster         = schema.GroupKind{Group: simMachine.Group, Kind: "SimCluster"}
	simMachineTemplate = schema.GroupKind{Group: simMachine.Group, Kind: simMachine.Kind + "Template"}
	simConfigTemplate  = schema.GroupKind{Group: simulator.SimConfig.Group, Kind: simulator.SimConfig.Kind + "Template"}
)

// installMoreKinds installs them for the container that it is called in.
func installMoreKinds() {
	GinkgoHelper()
	installDefinitions(envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{
		simulator.InfraMachineCRD(simulator.CRDOptions{GroupKind: simCluster, AnyContent: true}),
		simulator.InfraMachineCRD(simulator.CRDOptions{GroupKind: simMachineTemplate, AnyContent: true}),
		simulator.BootstrapConfigCRD(simulator.CRDOptions{GroupKind: simConfigTemplate, AnyContent: true}),
	}})
}

// createCluster creates the Cluster, with the object of a provider that has nothing left to do.
func (f *fleet) createCluster(ctx context.Context, namespace string) {
	GinkgoHelper()
	f.cluster = builder.Cluster(namespace, "mixed").With(func(c *clusterv1.Cluster) {
		c.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: simCluster.Group, Kind: simCluster.Kind, Name: c.Name}
	}).Build()
	infra := f.createObject(ctx, simCluster.WithVersion(simulator.NewAPIVersion), f.cluster.Name, map[string]any{})
	infra.Object["status"] = map[string]any{"initialization": map[string]any{"provisioned": true}}
	Expect(k8s.Status().Update(ctx, infra)).To(Succeed())
	Expect(k8s.Create(ctx, f.cluster)).To(Succeed())
}

// createObject creates an object of a kind that has no type here.
func (f *fleet) createObject(ctx context.Context, gvk schema.GroupVersionKind, name string, spec map[string]any) *unstructured.Unstructured {
	GinkgoHelper()
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetGroupVersionKind(gvk)
	object.SetNamespace(f.cluster.Namespace)
	object.SetName(name)
	Expect(k8s.Create(ctx, object)).To(Succeed())
	return object
}

// createDeployment creates a MachineDeployment with its templates.
func (f *fleet) createDeployment(ctx context.Context, replicas int64) {
	GinkgoHelper()
	reference := func(kind schema.GroupKind) map[string]any {
		return map[string]any{"apiGroup": kind.Group, "kind": kind.Kind, "name": workers}
	}
	for _, kind := range []schema.GroupKind{simMachineTemplate, simConfigTemplate} {
		f.createObject(ctx, kind.WithVersion(simulator.NewAPIVersion), workers, map[string]any{"template": map[string]any{"spec": map[string]any{}}})
	}
	f.createObject(ctx, clusterv1.GroupVersion.WithKind("MachineDeployment"), workers, map[string]any{
		"clusterName": f.cluster.Name,
		"replicas":    replicas,
		"selector":    map[string]any{},
		"template": map[string]any{"spec": map[string]any{
			"clusterName":       f.cluster.Name,
			"version":           workload.KubernetesVersion,
			"bootstrap":         map[string]any{"configRef": reference(simConfigTemplate)},
			"infrastructureRef": reference(simMachineTemplate),
		}},
	})
}

// label sets the label in the template of the MachineDeployment to a value in JSON, as docs/install.md says.
func (f *fleet) label(ctx context.Context, value string) {
	GinkgoHelper()
	patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"labels":{%q:%s}}}}}`, clusterv1.WatchLabel, value)
	target.kubectl(ctx, "--namespace", f.cluster.Namespace, "patch", "machinedeployment", workers, "--type=merge", "--patch", patch)
}

func (f *fleet) scale(ctx context.Context, replicas int) {
	GinkgoHelper()
	target.kubectl(ctx, "--namespace", f.cluster.Namespace, "scale", "machinedeployment", workers, fmt.Sprintf("--replicas=%d", replicas))
}

// workers are the Machines of the MachineDeployment that are not going, by name.
func (f *fleet) workers(ctx context.Context, g Gomega) map[string]*clusterv1.Machine {
	found := map[string]*clusterv1.Machine{}
	for _, machine := range f.machines(ctx, g) {
		if strings.HasPrefix(machine.Name, workers+"-") && machine.DeletionTimestamp.IsZero() {
			found[machine.Name] = &machine
		}
	}
	return found
}

// anyOf returns the name of a worker among Machines.
func anyOf(machines map[string]string) string {
	GinkgoHelper()
	for name := range machines {
		if strings.HasPrefix(name, workers+"-") {
			return name
		}
	}
	Fail("there are no workers")
	return ""
}
