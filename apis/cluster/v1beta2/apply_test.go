// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	clusterv1ac "github.com/machinist-dev/machinist/generated/applyconfiguration/cluster/v1beta2"
	"github.com/machinist-dev/machinist/generated/clientset/versioned"
	"github.com/machinist-dev/machinist/test/environment/suite"
)

// Two writers share the status of a Machine, as the Machine controller and a MachineHealthCheck do.
var _ = Describe("the apply configurations", func() {
	const (
		ours   = client.FieldOwner("ours")
		theirs = client.FieldOwner("theirs")
	)
	var (
		namespace string
		since     metav1.Time
	)

	condition := func(conditionType string) *metav1ac.ConditionApplyConfiguration {
		return metav1ac.Condition().WithType(conditionType).WithStatus(metav1.ConditionTrue).WithReason("Checked").
			WithMessage("").WithLastTransitionTime(since)
	}
	status := func(s *clusterv1ac.MachineStatusApplyConfiguration) *clusterv1ac.MachineApplyConfiguration {
		return clusterv1ac.Machine("shared", namespace).WithStatus(s)
	}
	stored := func(ctx SpecContext) *clusterv1.Machine {
		GinkgoHelper()
		m := &clusterv1.Machine{}
		Expect(c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "shared"}, m)).To(Succeed())
		return m
	}

	BeforeEach(func(ctx SpecContext) {
		namespace, since = suite.Namespace(ctx, env), metav1.Now().Rfc3339Copy()
		Expect(c.Create(ctx, machine(namespace, "shared"))).To(Succeed())
		Expect(c.Status().Apply(ctx, status(clusterv1ac.MachineStatus().WithConditions(condition("HealthCheckSucceeded"))), theirs)).To(Succeed())
		Expect(c.Status().Apply(ctx, status(clusterv1ac.MachineStatus().
			WithPhase(string(clusterv1.MachinePhaseRunning)).
			WithAddresses(clusterv1.MachineAddresses{{Type: clusterv1.MachineInternalIP, Address: "10.0.0.7"}}).
			WithConditions(condition("Ready"), condition("Available"))), ours)).To(Succeed())
	})

	It("leave conditions of other writers alone", func(ctx SpecContext) {
		Expect(stored(ctx).Status.Conditions).To(ConsistOf(
			HaveField("Type", "HealthCheckSucceeded"), HaveField("Type", "Ready"), HaveField("Type", "Available")))

		By("applying without Available, which is ours to drop")
		Expect(c.Status().Apply(ctx, status(clusterv1ac.MachineStatus().WithConditions(condition("Ready"))), ours)).To(Succeed())
		after := stored(ctx)
		Expect(after.Status.Conditions).To(ConsistOf(HaveField("Type", "HealthCheckSucceeded"), HaveField("Type", "Ready")))
		Expect(after.Status.Phase).To(BeEmpty())
		Expect(after.Status.Addresses).To(BeEmpty())
	})

	It("change nothing when applied again", func(ctx SpecContext) {
		before := stored(ctx)
		extracted, err := clusterv1ac.ExtractMachineStatus(before, string(ours))
		Expect(err).NotTo(HaveOccurred())
		Expect(c.Status().Apply(ctx, extracted, ours)).To(Succeed())
		Expect(stored(ctx).ResourceVersion).To(Equal(before.ResourceVersion))
	})

	It("extract exactly what the field owner has applied", func(ctx SpecContext) {
		extracted, err := clusterv1ac.ExtractMachineStatus(stored(ctx), string(ours))
		Expect(err).NotTo(HaveOccurred())
		Expect(*extracted.GetName()).To(Equal("shared"))
		Expect(extracted.Spec).To(BeNil())
		Expect(*extracted.Status.Phase).To(Equal("Running"))
		Expect(*extracted.Status.Addresses).To(HaveLen(1))
		Expect(extracted.Status.Conditions).To(ConsistOf(HaveField("Type", HaveValue(Equal("Ready"))), HaveField("Type", HaveValue(Equal("Available")))))

		extracted, err = clusterv1ac.ExtractMachineStatus(stored(ctx), string(theirs))
		Expect(err).NotTo(HaveOccurred())
		Expect(extracted.Status.Phase).To(BeNil())
		Expect(extracted.Status.Conditions).To(ConsistOf(HaveField("Type", HaveValue(Equal("HealthCheckSucceeded")))))
	})

	It("conflict over a field that another writer has", func(ctx SpecContext) {
		contested := status(clusterv1ac.MachineStatus().WithPhase(string(clusterv1.MachinePhaseUnknown)))
		Expect(c.Status().Apply(ctx, contested, theirs)).To(MatchError(ContainSubstring(`conflict with "ours" with subresource "status"`)))
		Expect(c.Status().Apply(ctx, contested, theirs, client.ForceOwnership)).To(Succeed())
		Expect(stored(ctx).Status.Phase).To(Equal("Unknown"))
	})

	It("create and change spec and metadata", func(ctx SpecContext) {
		rule := clusterv1ac.MachineDrainRule("applied", namespace).
			WithLabels(map[string]string{"team": "storage"}).
			WithSpec(clusterv1ac.MachineDrainRuleSpec().
				WithDrain(clusterv1ac.MachineDrainRuleDrainConfig().WithBehavior(clusterv1.MachineDrainRuleDrainBehaviorDrain).WithOrder(7)))
		Expect(c.Apply(ctx, rule, ours)).To(Succeed())

		rule.Spec.Drain.WithOrder(8)
		Expect(c.Apply(ctx, rule, ours)).To(Succeed())
		found := &clusterv1.MachineDrainRule{}
		Expect(c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "applied"}, found)).To(Succeed())
		Expect(found.Spec.Drain.Order).To(HaveValue(BeEquivalentTo(8)))
		Expect(found.Labels).To(HaveKeyWithValue("team", "storage"))
	})

	It("work with the clientset as well", func(ctx SpecContext) {
		machines := versioned.NewForConfigOrDie(env.ConfigFor("clientset")).ClusterV1beta2().Machines(namespace)
		applied, err := machines.ApplyStatus(ctx, status(clusterv1ac.MachineStatus().
			WithNodeRef(clusterv1ac.MachineNodeReference().WithName("node-0"))), metav1.ApplyOptions{FieldManager: "clientset"})
		Expect(err).NotTo(HaveOccurred())
		Expect(applied.Status.NodeRef.Name).To(Equal("node-0"))
		Expect(applied.Status.Phase).To(Equal("Running"))
	})
})
