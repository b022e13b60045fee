// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers"
	"github.com/machinist-dev/machinist/controllers/workload"
	"github.com/machinist-dev/machinist/test/environment/suite"
	simulated "github.com/machinist-dev/machinist/test/simulator/workload"
)

var nodeConditions = []string{clusterv1.MachineNodeReadyCondition, clusterv1.MachineNodeHealthyCondition}

var _ = DescribeTable("What is known about a Node is believed for the grace period after the last successful probe",
	func(ctx SpecContext, outage simulated.Outage, grace time.Duration) {
		w := newWorld(ctx)
		w.run(func(o *controllers.Options) { o.RemoteConditionsGracePeriod = grace })
		blue := w.cluster(ctx, "blue")
		w.workers(ctx, "blue", 1)
		w.eventuallyRunning(ctx, "blue", 1)
		name := worker("blue", 0)
		before := w.settled(ctx, name)
		blue.TakeDown(outage)
		By("writing once, when it has passed")
		var after *clusterv1.Machine
		w.eventually(ctx, name, func(g Gomega, m *clusterv1.Machine) {
			g.Expect(m.ResourceVersion).NotTo(Equal(before.ResourceVersion))
			after = m
		})
		for _, condition := range nodeConditions {
			c := apimeta.FindStatusCondition(after.Status.Conditions, condition)
			Expect(c).To(And(HaveField("Status", metav1.ConditionUnknown), HaveField("Reason", clusterv1.MachineNodeConnectionDownReason)))
			since, ok := strings.CutPrefix(c.Message, "Last successful probe at ")
			Expect(ok).To(BeTrue(), c.Message)
			probed, err := time.Parse(time.RFC3339, since)
			Expect(err).NotTo(HaveOccurred())
			// Both times are in whole seconds.
			Expect(c.LastTransitionTime.Sub(probed)).To(BeNumerically(">=", grace-time.Second))
		}
		Expect(after.Status.Conditions).To(haveCondition(clusterv1.MachineReadyCondition, metav1.ConditionUnknown, Not(BeEmpty())))
		Expect(after.Status.Conditions).To(haveCondition(clusterv1.MachineAvailableCondition, metav1.ConditionFalse, Equal(clusterv1.NotReadyReason)))
		Expect(after.Status.Phase).To(Equal("Running"))
		Expect(after.Status.NodeRef).To(Equal(before.Status.NodeRef))
		Expect(w.settled(ctx, name).ResourceVersion).To(Equal(after.ResourceVersion), "attempts to connect write nothing")

		By("coming back with the cluster")
		blue.BringUp()
		w.eventuallyRunning(ctx, "blue", 1)
		w.eventuallyHears(ctx, blue, name)
	},
	// A lost connection is noticed after one second, or after six, see brisk.
	Entry("when connections are refused, and the connection is lost before", simulated.Refused, 4*time.Second),
	Entry("when nothing answers, and the connection is lost before", simulated.Hanging, 9*time.Second),
	Entry("when the grace period is over before the connection is given up", simulated.Hanging, 2*time.Second),
)

var _ = It("An outage that is shorter than the grace period is not noticed in any Machine", func(ctx SpecContext) {
	w := newWorld(ctx)
	w.run()
	blue := w.cluster(ctx, "blue")
	w.workers(ctx, "blue", 2)
	w.eventuallyRunning(ctx, "blue", 2)
	before := []*clusterv1.Machine{w.settled(ctx, worker("blue", 0)), w.settled(ctx, worker("blue", 1))}
	watches := requests(blue, "watch", "nodes")
	blue.TakeDown(simulated.Refused)
	// Long enough to give the connection up.
	Consistently(func(g Gomega) {
		g.Expect(w.machine(ctx, g, before[0].Name).ResourceVersion).To(Equal(before[0].ResourceVersion))
	}).WithContext(ctx).WithTimeout(2 * workload.ProbeFailures * brisk.ProbeInterval).Should(Succeed())
	blue.BringUp()
	Eventually(func() int { return requests(blue, "watch", "nodes") }).WithContext(ctx).Should(BeNumerically(">", watches))
	for _, m := range before {
		Expect(w.settled(ctx, m.Name).ResourceVersion).To(Equal(m.ResourceVersion))
	}
	w.eventuallyHears(ctx, blue, before[0].Name)
})

var _ = Describe("The watch of Nodes", func() {
	It("goes on after it has been broken, and after its history is gone", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.run(func(o *controllers.Options) { o.WorkloadTiming.ProbeInterval = suite.EventuallyTimeout })
		blue := w.cluster(ctx, "blue")
		w.workers(ctx, "blue", 1)
		w.eventuallyRunning(ctx, "blue", 1)
		blue.TakeDown(simulated.Refused)
		blue.BringUp()
		w.eventuallyHears(ctx, blue, worker("blue", 0))
		blue.Compact()
		w.eventuallyHears(ctx, blue, worker("blue", 0))
	})

	DescribeTable("that is not allowed any more is noticed, although all probes succeed, and until it is allowed again there are few attempts",
		func(ctx SpecContext, forbidden func(simulated.Request) bool) {
			w := newWorld(ctx)
			w.run(func(o *controllers.Options) { o.RemoteConditionsGracePeriod = 4 * time.Second })
			blue := w.cluster(ctx, "blue")
			w.workers(ctx, "blue", 1)
			w.eventuallyRunning(ctx, "blue", 1)
			name := worker("blue", 0)
			w.settled(ctx, name)
			blue.Forbid(forbidden)
			blue.Compact() // ends the watch
			w.eventually(ctx, name, func(g Gomega, m *clusterv1.Machine) {
				for _, condition := range nodeConditions {
					g.Expect(m.Status.Conditions).To(haveCondition(condition, metav1.ConditionUnknown, Equal(clusterv1.MachineNodeConnectionDownReason)))
				}
			})
			attempts := func() int { return requests(blue, "list", "nodes") + requests(blue, "watch", "nodes") }
			before := attempts()
			Consistently(func() int { return attempts() - before }).WithContext(ctx).Should(BeNumerically("<=", 6))
			blue.Forbid(nil)
			w.eventuallyRunning(ctx, "blue", 1)
			w.eventuallyHears(ctx, blue, name)
		},
		Entry("listing and watching", func(r simulated.Request) bool { return r.Resource == "nodes" }),
	)

	It("that is not allowed where lists are is replaced by lists", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.run()
		blue := w.cluster(ctx, "blue")
		w.workers(ctx, "blue", 1)
		w.eventuallyRunning(ctx, "blue", 1)
		blue.Forbid(func(r simulated.Request) bool { return r.Resource == "nodes" && r.Verb == "watch" })
		blue.Compact()
		w.eventuallyHears(ctx, blue, worker("blue", 0))
		before := requests(blue, "list", "nodes")
		Consistently(func() int { return requests(blue, "list", "nodes") - before }).WithContext(ctx).Should(BeNumerically("<=", 10))
	})
})
