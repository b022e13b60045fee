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
	"github.com/machinist-dev/machinist/apis/contract"
)

// everything lists the providers of both contract versions.
func everything(body func(ctx SpecContext, p provider)) []any {
	return []any{body, Entry("under contract version v1beta1", oldProvider), Entry("under contract version v1beta2", newProvider)}
}

var _ = DescribeTable("What a Machine has taken over once stays, and what may change is followed", everything(func(ctx SpecContext, p provider) {
	f := newFixture(ctx, p)
	infra := func() *unstructured.Unstructured {
		return p.infraMachine(f.namespace, "m").WithProvisioned(true).WithProviderID("sim:///1").WithFailureDomain("a").WithDeprecatedFailureDomain("b").
			WithAddresses([]contract.MachineAddress{{Type: "InternalIP", Address: "10.0.0.1"}, {Type: "Hostname", Address: "m"}}).Build()
	}
	config := p.bootstrapConfig(f.namespace, "m").WithDataSecretCreated(true).WithDataSecretName("first")
	machine := f.machine("m")
	machine.Labels = map[string]string{clusterv1.MachineControlPlaneLabel: ""}
	create(ctx, machine, infra(), config.Build())
	f.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) {
		g.Expect(m.Spec.ProviderID).To(Equal("sim:///1"))
		g.Expect(m.Spec.FailureDomain).To(Equal("b"))
		g.Expect(m.Status.FailureDomain).To(Equal("a"))
		g.Expect(m.Status.Addresses).To(HaveExactElements(clusterv1.MachineAddress{Type: "InternalIP", Address: "10.0.0.1"}, clusterv1.MachineAddress{Type: "Hostname", Address: "m"}))
		g.Expect(m.Status.Initialization.InfrastructureProvisioned).To(HaveValue(BeTrue()))
		g.Expect(m.Status.CertificatesExpiryDate.IsZero()).To(BeTrue())
	})

	By("keeping the data secret, and taking an expiry date")
	report(ctx, config.WithDataSecretCreated(false).WithDataSecretName("second").Build())
	mergePatch(ctx, config.Build(), map[string]any{"metadata": map[string]any{"annotations": map[string]any{clusterv1.MachineCertificatesExpiryDateAnnotation: "2027-01-31T12:00:00Z"}}})
	f.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) {
		g.Expect(m.Status.CertificatesExpiryDate.UTC().Format("2006-01-02")).To(Equal("2027-01-31"))
		g.Expect(m.Spec.Bootstrap.DataSecretName).To(HaveValue(Equal("first")))
		g.Expect(m.Status.Initialization.BootstrapDataSecretCreated).To(HaveValue(BeTrue()))
	})

	By("staying provisioned, with what the InfraMachine reports now")
	report(ctx, p.infraMachine(f.namespace, "m").WithProvisioned(false).WithProviderID("sim:///2").WithFailureDomain("c").WithAddresses([]contract.MachineAddress{}).Build())
	mergePatch(ctx, infra(), map[string]any{"spec": map[string]any{"failureDomain": ""}})
	f.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) {
		g.Expect(m.Spec.ProviderID).To(Equal("sim:///2"))
		g.Expect(m.Spec.FailureDomain).To(BeEmpty())
		g.Expect(m.Status.FailureDomain).To(Equal("c"))
		g.Expect(m.Status.Addresses).To(BeEmpty())
		g.Expect(m.Status.Initialization.InfrastructureProvisioned).To(HaveValue(BeTrue()))
		g.Expect(m.Status.Phase).To(Equal("Provisioned"))
	})
})...)

var _ = DescribeTable("Objects that are paused are taken over all the same", everything(func(ctx SpecContext, p provider) {
	f := newFixture(ctx, p)
	create(ctx, f.machine("m"), p.infraMachine(f.namespace, "m").WithPaused(true).WithProvisioned(true).WithProviderID("sim:///1").Build(),
		p.bootstrapConfig(f.namespace, "m").WithPaused(true).WithDataSecretCreated(true).WithDataSecretName("data").Build())
	f.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) {
		g.Expect(m.Spec.ProviderID).To(Equal("sim:///1"))
		g.Expect(m.Spec.Bootstrap.DataSecretName).To(HaveValue(Equal("data")))
	})
})...)

var _ = It("A Machine whose InfraMachine vanishes says so for good, and waits for no other", func(ctx SpecContext) {
	f := newFixture(ctx, newProvider)
	infra := f.infraMachine(f.namespace, "m").WithProvisioned(true).WithProviderID("sim:///1").WithFailureReason("Quota").WithFailureMessage("no more of these").Build()
	create(ctx, f.machine("m"), infra)
	f.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) {
		g.Expect(m.Spec.ProviderID).To(Equal("sim:///1"))
		g.Expect(m.Status.Deprecated).To(HaveField("V1Beta1", Not(BeNil())))
		g.Expect(m.Status.Deprecated.V1Beta1.FailureReason).To(HaveValue(BeEquivalentTo("Quota")))
		g.Expect(m.Status.Deprecated.V1Beta1.FailureMessage).To(HaveValue(Equal("Failure detected from referenced resource infrastructure.cluster.x-k8s.io/v1beta1, Kind=NewMachine with name \"m\": no more of these")))
	})
	Expect(k8s.Delete(ctx, infra)).To(Succeed())
	f.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) {
		g.Expect(m.Status.Conditions).To(haveCondition("InfrastructureReady", metav1.ConditionFalse, "ObjectDeleted", "NewMachine has been deleted while the Machine still exists"))
		g.Expect(m.Status.Deprecated.V1Beta1.FailureReason).To(HaveValue(BeEquivalentTo("InvalidConfiguration")))
		g.Expect(m.Status.Deprecated.V1Beta1.FailureMessage).To(HaveValue(Equal("Machine infrastructure resource NewMachine " + f.namespace + "/m has been deleted after provisioning was completed")))
		g.Expect(m.Status.Phase).To(Equal("Provisioned"))
	})
})

var _ = It("A Machine with a data secret of its user's is provisioned visibly", func(ctx SpecContext) {
	f := newFixture(ctx, newProvider)
	machine := f.machine("m")
	machine.Spec.Bootstrap = clusterv1.Bootstrap{DataSecretName: new("given")}
	create(ctx, machine, f.infraMachine(f.namespace, "m").Build())
	f.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) {
		g.Expect(m.Status.Phase).To(Equal("Provisioning"))
		g.Expect(m.Status.Conditions).To(haveCondition("BootstrapConfigReady", metav1.ConditionTrue, "DataSecretProvided", ""))
	})
})

var _ = It("A Machine that was restored without its status gets it again", func(ctx SpecContext) {
	f := newFixture(ctx, newProvider)
	before := metav1.OwnerReference{APIVersion: "cluster.x-k8s.io/v1beta1", Kind: "Machine", Name: "m", UID: "before", Controller: new(true)}
	owned := func(u *unstructured.Unstructured) { u.SetOwnerReferences([]metav1.OwnerReference{before}) }
	machine := f.machine("m")
	machine.Spec.ProviderID, machine.Spec.Bootstrap.DataSecretName = "sim:///m", new("data")
	infra, config := f.infraMachine(f.namespace, "m").With(owned).WithProviderID("sim:///m"), f.bootstrapConfig(f.namespace, "m").With(owned)
	create(ctx, infra.Build(), config.Build(), machine)
	f.node("node", "sim:///m")

	By("knowing its Node before its providers have said anything")
	f.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) {
		g.Expect(m.Status.NodeRef.Name).To(Equal("node"))
		g.Expect(m.Status.Initialization.BootstrapDataSecretCreated).To(HaveValue(BeTrue()))
		g.Expect(m.Status.Phase).To(Equal("Provisioned"))
	})
	report(ctx, infra.WithProvisioned(true).Build())
	f.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) { g.Expect(m.Status.Phase).To(Equal("Running")) })
	for _, object := range []*unstructured.Unstructured{infra.Build(), config.Build()} {
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
		Expect(object.GetOwnerReferences()).To(HaveExactElements(And(HaveField("UID", machine.UID), HaveField("APIVersion", "cluster.x-k8s.io/v1beta2"))))
	}
})
