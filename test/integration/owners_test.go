// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/simulator"
)

var _ = It("Who created a Machine's objects for it gives way to the Machine as their owner", func(ctx SpecContext) {
	f := newFixture(ctx, newProvider)
	base := f.cluster.DeepCopy()
	f.cluster.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{APIGroup: simulator.SimControlPlane.Group, Kind: simulator.SimControlPlane.Kind, Name: "blue"}
	Expect(k8s.Patch(ctx, f.cluster, client.MergeFrom(base))).To(Succeed())
	for name, creator := range map[string]metav1.OwnerReference{
		"worker":        {APIVersion: "cluster.x-k8s.io/v1beta1", Kind: "MachineSet", Name: "set", UID: "set"},
		"control-plane": {APIVersion: "controlplane.cluster.x-k8s.io/v1alpha1", Kind: "SimControlPlane", Name: "blue", UID: "blue", Controller: new(true)},
	} {
		backup := metav1.OwnerReference{APIVersion: "backup.example.org/v1", Kind: "Backup", Name: "b", UID: "b"}
		created := func(u *unstructured.Unstructured) { u.SetOwnerReferences([]metav1.OwnerReference{creator, backup}) }
		infra, config := f.infraMachine(f.namespace, name).With(created).WithClusterName("other").Build(), f.bootstrapConfig(f.namespace, name).With(created).Build()
		machine := f.machine(name)
		if name == "control-plane" {
			machine.Labels = map[string]string{clusterv1.MachineControlPlaneLabel: "", clusterv1.MachineControlPlaneNameLabel: "blue"}
		}
		create(ctx, infra, config, machine)
		for _, object := range []*unstructured.Unstructured{infra, config} {
			Eventually(func(g Gomega) {
				g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
				g.Expect(object.GetOwnerReferences()).To(ConsistOf(backup, And(HaveField("UID", machine.UID), HaveField("Controller", HaveValue(BeTrue())), HaveField("BlockOwnerDeletion", HaveValue(BeTrue())))))
				g.Expect(object.GetLabels()).To(HaveKeyWithValue(clusterv1.ClusterNameLabel, "blue"))
			}).WithContext(ctx).Should(Succeed())
		}
	}
})

var _ = It("A Machine is owned by its Cluster only if it has no other controller, and nobody is about to adopt it", func(ctx SpecContext) {
	f := newFixture(ctx, newProvider)
	set := metav1.OwnerReference{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "MachineSet", Name: "set", UID: "set", Controller: new(true)}
	fleet := metav1.OwnerReference{APIVersion: "example.org/v1", Kind: "Fleet", Name: "f", UID: "f"}
	alone, controlled, awaited, labelled := f.machine("alone"), f.machine("controlled"), f.machine("awaited"), f.machine("labelled")
	alone.OwnerReferences, controlled.OwnerReferences = []metav1.OwnerReference{fleet}, []metav1.OwnerReference{set}
	awaited.Labels = map[string]string{clusterv1.MachineSetNameLabel: "set"}
	labelled.Labels = map[string]string{clusterv1.ClusterNameLabel: "another"}
	create(ctx, alone, controlled, awaited, labelled)
	byCluster := metav1.OwnerReference{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Cluster", Name: "blue", UID: f.cluster.UID}
	for name, owners := range map[string][]metav1.OwnerReference{"alone": {fleet, byCluster}, "controlled": {set}, "awaited": nil, "labelled": {byCluster}} {
		f.eventually(ctx, name, func(g Gomega, m *clusterv1.Machine) {
			g.Expect(m.Status.Phase).To(Equal("Pending"))
			g.Expect(m.Finalizers).To(ConsistOf(clusterv1.MachineFinalizer))
			g.Expect(m.Labels).To(HaveKeyWithValue(clusterv1.ClusterNameLabel, "blue"))
			g.Expect(m.OwnerReferences).To(Equal(owners))
		})
	}
})

var _ = It("A Machine whose objects were never there goes at once", func(ctx SpecContext) {
	f := newFixture(ctx, newProvider)
	machine := f.machine("m")
	create(ctx, machine)
	f.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) { g.Expect(m.Status.Phase).To(Equal("Pending")) })
	Expect(k8s.Delete(ctx, machine)).To(Succeed())
	eventuallyGone(ctx, machine)
})

var _ = It("While its Cluster is paused a Machine only says so, and waits with its deletion, too", func(ctx SpecContext) {
	f := newFixture(ctx, newProvider)
	pause := func(paused bool) {
		base := f.cluster.DeepCopy()
		f.cluster.Spec.Paused = new(paused)
		Expect(k8s.Patch(ctx, f.cluster, client.MergeFrom(base))).To(Succeed())
	}
	pause(true)
	machine, infra := f.machine("m"), f.infraMachine(f.namespace, "m").WithProvisioned(true).WithProviderID("sim:///m").Build()
	create(ctx, infra, machine)
	f.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) {
		g.Expect(m.Status.Conditions).To(HaveExactElements(And(HaveField("Type", "Paused"), HaveField("Reason", "Paused"), HaveField("Message", "Cluster spec.paused is set to true"))))
		g.Expect(m.Finalizers).To(ConsistOf(clusterv1.MachineFinalizer))
	})
	Expect(k8s.Delete(ctx, machine)).To(Succeed())
	f.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) { g.Expect(m.DeletionTimestamp).NotTo(BeNil()) })
	Expect(k8s.Get(ctx, client.ObjectKeyFromObject(infra), infra)).To(Succeed())
	Expect(infra.GetOwnerReferences()).To(BeEmpty())
	Expect(infra.GetDeletionTimestamp()).To(BeNil())
	pause(false)
	eventuallyGone(ctx, machine)
	eventuallyGone(ctx, infra)
})
