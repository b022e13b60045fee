// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/builder"
	"github.com/machinist-dev/machinist/test/environment"
	"github.com/machinist-dev/machinist/test/simulator"
)

var _ = DescribeTable("A paused Machine says why, and nothing else happens to it until it is not paused any more",
	func(ctx SpecContext, byCluster, byAnnotation bool, message string) {
		w := newWorld(ctx)
		name := worker("blue", 0)
		setPaused := func(paused bool) {
			GinkgoHelper()
			if byAnnotation {
				value := map[bool]any{true: "yes", false: nil}[paused]
				patch(ctx, builder.Machine(w.namespace, name).Build(), metadata(map[string]any{"annotations": map[string]any{clusterv1.PausedAnnotation: value}}))
			}
			if byCluster {
				patch(ctx, builder.Cluster(w.namespace, "blue").Build(), map[string]any{"spec": map[string]any{"paused": paused}})
			}
		}
		w.cluster(ctx, "blue", 1, func(m *clusterv1.Machine) {
			if byAnnotation {
				m.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
			}
		})
		setPaused(true)
		run(ctx, w.namespace)
		isPaused := func(g Gomega, m *clusterv1.Machine) {
			g.Expect(m.Status.Conditions).To(ContainElement(And(HaveField("Type", clusterv1.PausedCondition),
				HaveField("Status", metav1.ConditionTrue), HaveField("Reason", clusterv1.PausedReason), HaveField("Message", message))))
			g.Expect(m.Finalizers).To(ContainElement(clusterv1.MachineFinalizer))
		}
		Eventually(func(g Gomega) { isPaused(g, w.machine(ctx, g, name)) }).WithContext(ctx).Should(Succeed())

		By("not adopting its objects")
		provided := func(r environment.Request) bool { return r.Resource == "simmachines" || r.Resource == "simconfigs" }
		Consistently(func() environment.Requests { return w.requests(ctx, provided) }).WithContext(ctx).
			ShouldNot(ContainElement(HaveField("Verb", "patch")))

		By("going on when the pause ends")
		setPaused(false)
		w.eventuallyRunning(ctx, 1)

		By("not deleting anything while it is paused again")
		setPaused(true)
		Eventually(func(g Gomega) { isPaused(g, w.machine(ctx, g, name)) }).WithContext(ctx).Should(Succeed())
		Expect(k8s.Delete(ctx, builder.Machine(w.namespace, name).Build())).To(Succeed())
		Consistently(func(g Gomega) {
			m := w.machine(ctx, g, name)
			g.Expect(m.DeletionTimestamp).NotTo(BeNil())
			g.Expect(m.Status.Phase).To(Equal("Running"), "nothing but the pause is said")
			isPaused(g, m)
		}).WithContext(ctx).Should(Succeed())
		Expect(w.object(ctx, simulator.SimMachine, name).GetDeletionTimestamp()).To(BeNil())

		By("deleting it when the pause ends")
		setPaused(false)
		w.eventuallyEmpty(ctx)
	},
	Entry("by its Cluster", true, false, "Cluster spec.paused is set to true"),
	Entry("by its annotation", false, true, "Machine has the cluster.x-k8s.io/paused annotation"),
	Entry("by both", true, true, "Cluster spec.paused is set to true, Machine has the cluster.x-k8s.io/paused annotation"),
)
