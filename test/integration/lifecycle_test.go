// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/apis/contract"
)

var _ = DescribeTable("A Machine goes from Pending to Running and from Deleting to gone",
	func(ctx SpecContext, p provider) {
		f := newFixture(ctx, p)
		name := "m-0"
		finalized := func(u *unstructured.Unstructured) { u.SetFinalizers([]string{"example.org/provider"}) }
		infra := p.infraMachine(f.namespace, name).With(finalized).Build()
		config := p.bootstrapConfig(f.namespace, name).With(finalized).Build()
		machine := f.machine(name)
		machine.Labels = map[string]string{clusterv1.MachineControlPlaneLabel: ""}
		create(ctx, infra, config, machine)

		By("adopting its objects and waiting for them")
		f.eventually(ctx, name, func(g Gomega, m *clusterv1.Machine) {
			g.Expect(m.Finalizers).To(ContainElement(clusterv1.MachineFinalizer))
			g.Expect(m.Labels).To(HaveKeyWithValue(clusterv1.ClusterNameLabel, "blue"))
			g.Expect(m.OwnerReferences).To(ConsistOf(HaveField("UID", f.cluster.UID)))
			g.Expect(m.Status.Phase).To(Equal("Pending"))
			g.Expect(m.Status.Conditions).To(haveCondition("BootstrapConfigReady", metav1.ConditionFalse, "NotReady", p.bootstrap.Kind+" status.initialization.dataSecretCreated is false"))
			g.Expect(m.Status.Conditions).To(haveCondition("InfrastructureReady", metav1.ConditionFalse, "NotReady", p.infra.Kind+" status.initialization.provisioned is false"))
			g.Expect(m.Status.Conditions).To(haveCondition("NodeReady", metav1.ConditionUnknown, "InspectionFailed", "Waiting for "+p.infra.Kind+" to report spec.providerID"))
			g.Expect(m.Status.Conditions).To(haveCondition("Paused", metav1.ConditionFalse, "NotPaused", ""))
		})
		for _, object := range []*unstructured.Unstructured{infra, config} {
			Expect(k8s.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
			Expect(object.GetLabels()).To(HaveKeyWithValue(clusterv1.ClusterNameLabel, "blue"))
			owner := metav1.GetControllerOf(object)
			Expect(owner).NotTo(BeNil())
			Expect(*owner).To(And(HaveField("UID", machine.UID), HaveField("Kind", "Machine"), HaveField("APIVersion", "cluster.x-k8s.io/v1beta2")))
		}

		By("taking the data secret")
		report(ctx, p.bootstrapConfig(f.namespace, name).WithDataSecretCreated(true).WithDataSecretName("m-0-data").Build())
		f.eventually(ctx, name, func(g Gomega, m *clusterv1.Machine) {
			g.Expect(m.Spec.Bootstrap.DataSecretName).To(HaveValue(Equal("m-0-data")))
			g.Expect(m.Status.Initialization.BootstrapDataSecretCreated).To(HaveValue(BeTrue()))
			g.Expect(m.Status.Phase).To(Equal("Provisioning"))
			g.Expect(m.Status.Conditions).To(haveCondition("BootstrapConfigReady", metav1.ConditionTrue, "Ready", ""))
		})

		By("taking what the infrastructure reports")
		report(ctx, p.infraMachine(f.namespace, name).WithProvisioned(true).WithProviderID("sim:///m-0").WithFailureDomain("zone-b").
			WithAddresses([]contract.MachineAddress{{Type: "InternalIP", Address: "10.0.0.7"}}).Build())
		f.eventually(ctx, name, func(g Gomega, m *clusterv1.Machine) {
			g.Expect(m.Spec.ProviderID).To(Equal("sim:///m-0"))
			g.Expect(m.Status.Addresses).To(ConsistOf(clusterv1.MachineAddress{Type: "InternalIP", Address: "10.0.0.7"}))
			g.Expect(m.Status.FailureDomain).To(Equal("zone-b"))
			g.Expect(m.Status.Phase).To(Equal("Provisioned"))
			g.Expect(m.Status.Conditions).To(haveCondition("NodeReady", metav1.ConditionUnknown, "InspectionFailed", "Waiting for a Node with spec.providerID sim:///m-0 to exist"))
		})

		By("finding its Node")
		f.node("node-0", "sim:///m-0")
		f.eventually(ctx, name, func(g Gomega, m *clusterv1.Machine) {
			g.Expect(m.Status.Phase).To(Equal("Running"))
			g.Expect(m.Status.NodeRef.Name).To(Equal("node-0"))
			g.Expect(m.Status.NodeInfo).To(HaveValue(HaveField("KubeletVersion", "v1.37.2")))
			g.Expect(m.Status.Conditions).To(haveCondition("NodeReady", metav1.ConditionTrue, "NodeReady", ""))
			g.Expect(m.Status.Conditions).To(haveCondition("Ready", metav1.ConditionTrue, "Ready", ""))
			g.Expect(m.Status.Conditions).To(haveCondition("Available", metav1.ConditionTrue, "Available", ""))
			g.Expect(m.Status.ObservedGeneration).To(Equal(m.Generation))
		})

		By("deleting the InfraMachine, then the BootstrapConfig, then the Node")
		keeper := f.machine("keeper") // another control plane Machine, so that the Node is worth deleting
		keeper.Labels = map[string]string{clusterv1.MachineControlPlaneLabel: ""}
		create(ctx, keeper)
		Expect(k8s.Delete(ctx, machine)).To(Succeed())
		f.eventually(ctx, name, func(g Gomega, m *clusterv1.Machine) {
			g.Expect(m.Status.Phase).To(Equal("Deleting"))
			g.Expect(m.Status.Conditions).To(haveCondition("Deleting", metav1.ConditionTrue, "WaitingForInfrastructureDeletion", "Waiting for "+p.infra.Kind+" to be deleted"))
		})
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(config), config)).To(Succeed())
		Expect(config.GetDeletionTimestamp()).To(BeNil(), "the BootstrapConfig outlives the InfraMachine")
		mergePatch(ctx, infra, map[string]any{"metadata": map[string]any{"finalizers": nil}})
		f.eventually(ctx, name, func(g Gomega, m *clusterv1.Machine) {
			g.Expect(m.Status.Conditions).To(haveCondition("Deleting", metav1.ConditionTrue, "WaitingForBootstrapDeletion", "Waiting for "+p.bootstrap.Kind+" to be deleted"))
		})
		mergePatch(ctx, config, map[string]any{"metadata": map[string]any{"finalizers": nil}})
		eventuallyGone(ctx, machine)
		Expect(f.workload.Count(&corev1.Node{})).To(BeZero())
	},
	Entry("under contract version v1beta1", oldProvider),
	Entry("under contract version v1beta2", newProvider),
	Entry("with kinds in API groups outside cluster.x-k8s.io", foreignProvider),
)

var _ = It("A Machine starts at once when the objects that it references are created after it", func(ctx SpecContext) {
	f := newFixture(ctx, newProvider)
	create(ctx, f.machine("late"))
	f.eventually(ctx, "late", func(g Gomega, m *clusterv1.Machine) {
		g.Expect(m.Status.Conditions).To(haveCondition("InfrastructureReady", metav1.ConditionFalse, "ObjectDoesNotExist", "NewMachine does not exist"))
		g.Expect(m.Status.Conditions).To(haveCondition("BootstrapConfigReady", metav1.ConditionFalse, "ObjectDoesNotExist", "NewConfig does not exist"))
	})
	create(ctx,
		f.bootstrapConfig(f.namespace, "late").WithDataSecretCreated(true).WithDataSecretName("late").Build(),
		f.infraMachine(f.namespace, "late").WithProvisioned(true).WithProviderID("sim:///late").Build())
	f.node("late", "sim:///late")
	f.eventually(ctx, "late", func(g Gomega, m *clusterv1.Machine) { g.Expect(m.Status.Phase).To(Equal("Running")) })
})

var _ = It("A second Machine that claims an InfraMachine says so and does not get it", func(ctx SpecContext) {
	f := newFixture(ctx, newProvider)
	infra := f.infraMachine(f.namespace, "first").WithProvisioned(true).WithProviderID("sim:///first").Build()
	create(ctx, infra, f.machine("first"))
	f.eventually(ctx, "first", func(g Gomega, m *clusterv1.Machine) { g.Expect(m.Spec.ProviderID).To(Equal("sim:///first")) })
	second := f.machine("second")
	second.Spec.InfrastructureRef = f.infraRef("first")
	create(ctx, second)
	message := "NewMachine: NewMachine " + f.namespace + "/first is already controlled by Machine first: reference another object, or delete that owner"
	f.eventually(ctx, "second", func(g Gomega, m *clusterv1.Machine) {
		g.Expect(m.Status.Conditions).To(haveCondition("InfrastructureReady", metav1.ConditionUnknown, "AlreadyOwned", message))
	})
	By("and leaves it alone when it is deleted")
	Expect(k8s.Delete(ctx, second)).To(Succeed())
	eventuallyGone(ctx, second)
	Expect(k8s.Get(ctx, types.NamespacedName{Namespace: f.namespace, Name: "first"}, infra)).To(Succeed())
	Expect(infra.GetDeletionTimestamp()).To(BeNil())
	Expect(metav1.GetControllerOf(infra)).To(HaveValue(HaveField("Name", "first")))
})
