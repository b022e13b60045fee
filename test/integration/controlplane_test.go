// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/apis/contract"
	"github.com/machinist-dev/machinist/generated/facadetest"
	"github.com/machinist-dev/machinist/test/environment/suite"
	"github.com/machinist-dev/machinist/test/simulator"
)

var _ = Describe("The Node of a Machine that is deleted", func() {
	// worker is a Running Machine, with its Node, in a Cluster whose control plane is an object of that kind.
	worker := func(ctx SpecContext, kind schema.GroupKind) (*fixture, *clusterv1.Machine) {
		f := newFixture(ctx, newProvider)
		base := f.cluster.DeepCopy()
		f.cluster.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{APIGroup: kind.Group, Kind: kind.Kind, Name: "blue"}
		Expect(k8s.Patch(ctx, f.cluster, client.MergeFrom(base))).To(Succeed())
		machine := f.machine("worker")
		create(ctx, machine,
			f.bootstrapConfig(f.namespace, "worker").WithDataSecretCreated(true).WithDataSecretName("worker").Build(),
			f.infraMachine(f.namespace, "worker").WithProvisioned(true).WithProviderID("sim:///worker").Build())
		f.node("worker", "sim:///worker")
		f.eventually(ctx, "worker", func(g Gomega, m *clusterv1.Machine) { g.Expect(m.Status.Phase).To(Equal("Running")) })
		return f, machine
	}
	object := func(f *fixture, kind schema.GroupKind) facadetest.ControlPlaneBuilder {
		return facadetest.NewControlPlane(contract.V1Beta2).WithGroupVersionKind(kind.WithVersion(simulator.NewAPIVersion)).WithNamespace(f.namespace).WithName("blue")
	}
	going := func(u *unstructured.Unstructured) { u.SetFinalizers([]string{"example.org/provider"}) }

	DescribeTable("stays or goes with it, as the control plane object says", func(ctx SpecContext, controlPlane func(facadetest.ControlPlaneBuilder) facadetest.ControlPlaneBuilder, goes bool) {
		f, machine := worker(ctx, simulator.SimControlPlane)
		if controlPlane != nil {
			built := controlPlane(object(f, simulator.SimControlPlane)).Build()
			create(ctx, built)
			if len(built.GetFinalizers()) > 0 {
				Expect(k8s.Delete(ctx, built)).To(Succeed())
				DeferCleanup(func(ctx SpecContext) {
					mergePatch(ctx, built, map[string]any{"metadata": map[string]any{"finalizers": nil}})
				})
			}
		}
		Expect(k8s.Delete(ctx, machine)).To(Succeed())
		eventuallyGone(ctx, machine)
		if goes {
			Expect(f.workload.Count(&corev1.Node{})).To(BeZero())
		} else {
			Expect(f.workload.Count(&corev1.Node{})).To(Equal(1))
		}
	},
		Entry("it runs on no Machines", func(b facadetest.ControlPlaneBuilder) facadetest.ControlPlaneBuilder {
			return b.WithExternallyManaged(true)
		}, true),
		Entry("it runs on Machines, of which there are none", func(b facadetest.ControlPlaneBuilder) facadetest.ControlPlaneBuilder {
			return b.WithExternallyManaged(false)
		}, false),
		Entry("it says nothing", func(b facadetest.ControlPlaneBuilder) facadetest.ControlPlaneBuilder { return b }, false),
		Entry("it is being deleted, wherever it runs", func(b facadetest.ControlPlaneBuilder) facadetest.ControlPlaneBuilder {
			return b.WithExternallyManaged(true).With(going)
		}, false),
		Entry("it does not exist", nil, false),
	)

	It("is decided upon when the kind of the control plane can be read", func(ctx SpecContext) {
		kind := schema.GroupKind{Group: "controlplane.cluster.x-k8s.io", Kind: "UnlabelledControlPlane"}
		crd := simulator.ControlPlaneCRD(simulator.CRDOptions{GroupKind: kind, Contracts: []contract.Version{}})
		suite.InstallCRDs(env, crd)
		f, machine := worker(ctx, kind)
		create(ctx, object(f, kind).WithExternallyManaged(true).Build())
		Expect(k8s.Delete(ctx, machine)).To(Succeed())
		f.eventually(ctx, "worker", func(g Gomega, m *clusterv1.Machine) {
			g.Expect(m.Status.Conditions).To(haveCondition("Deleting", metav1.ConditionTrue, "InternalError", ContainSubstring("unlabelledcontrolplanes.controlplane.cluster.x-k8s.io")))
		})

		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(crd), crd)).To(Succeed())
		labelled := crd.DeepCopy()
		labelled.Labels = simulator.ControlPlaneCRD(simulator.CRDOptions{GroupKind: kind}).Labels
		Expect(k8s.Patch(ctx, labelled, client.MergeFrom(crd))).To(Succeed())
		eventuallyGone(ctx, machine)
		Expect(f.workload.Count(&corev1.Node{})).To(BeZero())
	})
})
