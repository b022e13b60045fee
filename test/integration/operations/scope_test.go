// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers"
	"github.com/machinist-dev/machinist/test/builder"
	"github.com/machinist-dev/machinist/test/environment"
	"github.com/machinist-dev/machinist/test/environment/suite"
	"github.com/machinist-dev/machinist/test/manager"
)

// touching matches the writes that name an object.
func touching(name string) func(call) bool {
	return func(c call) bool { return isWrite(c) && strings.Contains(c.Path+"/", "/"+name+"/") }
}

var _ = Describe("Managers that look after some Machines only", func() {
	It("share a Cluster by the watch filter, and hand a Machine over with its label", func(ctx SpecContext) {
		w := newWorld(ctx)
		filter := func(value string) func(*controllers.Options) {
			return func(o *controllers.Options) { o.WatchFilter = value }
		}
		red, green := run(ctx, w.namespace, filter("red")), run(ctx, w.namespace, filter("green"))
		w.cluster(ctx, "red", 1, labelled("red"))
		w.cluster(ctx, "green", 1, labelled("green"))
		w.cluster(ctx, "other", 1, labelled("blue"))
		ofRed, ofGreen, ofOther := worker("red", 0), worker("green", 0), worker("other", 0)
		for _, name := range []string{ofRed, ofGreen} {
			Eventually(func(g Gomega) { g.Expect(*w.machine(ctx, g, name)).To(beRunning()) }).WithContext(ctx).Should(Succeed())
		}
		Expect(red.since(0, touching(ofGreen))).To(BeEmpty())
		Expect(green.since(0, touching(ofRed))).To(BeEmpty())

		By("leaving alone what neither is asked to look after")
		untouched := func(g Gomega) {
			m := w.machine(ctx, g, ofOther)
			g.Expect(m.Finalizers).To(BeEmpty())
			g.Expect(m.Status.Conditions).To(BeEmpty())
		}
		Consistently(untouched).WithContext(ctx).Should(Succeed())
		Expect(append(red.since(0, touching(ofOther)), green.since(0, touching(ofOther))...)).To(BeEmpty())

		By("not connecting to a Cluster that has none of its Machines")
		Expect(red.since(0, func(c call) bool { return strings.Contains(c.Path, "green-kubeconfig") })).To(BeEmpty())
		Expect(append(red.leases(), green.leases()...)).To(BeEmpty(), "nobody asked for an election")

		By("handing over")
		patch(ctx, builder.Machine(w.namespace, ofOther).Build(), metadata(map[string]any{"labels": map[string]any{clusterv1.WatchLabel: "red"}}))
		Eventually(func(g Gomega) { g.Expect(*w.machine(ctx, g, ofOther)).To(beRunning()) }).WithContext(ctx).Should(Succeed())
		patch(ctx, builder.Machine(w.namespace, ofOther).Build(), metadata(map[string]any{"labels": map[string]any{clusterv1.WatchLabel: "green"}}))
		mark := red.mark()
		Expect(k8s.Delete(ctx, builder.Machine(w.namespace, ofOther).Build())).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(apierrors.IsNotFound(k8s.Get(ctx, w.key(ofOther), &clusterv1.Machine{}))).To(BeTrue())
			g.Expect(green.since(0, touching(ofOther))).To(ContainElement(HaveField("Verb", "delete")))
		}).WithContext(ctx).Should(Succeed())
		Expect(red.since(mark, touching(ofOther))).To(BeEmpty())
	})

	It("ask for nothing outside of their namespace but CustomResourceDefinitions", func(ctx SpecContext) {
		ours, theirs := newWorld(ctx), newWorld(ctx)
		r := run(ctx, ours.namespace)
		theirs.cluster(ctx, "blue", 2)
		ours.cluster(ctx, "blue", 2)
		ours.eventuallyRunning(ctx, 2)
		Consistently(func(g Gomega) {
			for _, m := range theirs.machines(ctx, g) {
				g.Expect(m.Finalizers).To(BeEmpty())
			}
		}).WithContext(ctx).Should(Succeed())
		Expect(r.since(0, every)).To(HaveEach(HaveField("Path", Or(
			ContainSubstring("/namespaces/"+ours.namespace+"/"),
			HavePrefix("/apis/apiextensions.k8s.io/v1/customresourcedefinitions"),
			MatchRegexp("^/apis?(/[^/]+(/[^/]+)?)?$"), // discovery
		))))
	})
})

var _ = It("One manager keeps Clusters and Machines of the same names in several namespaces apart", func(ctx SpecContext) {
	first, second := newWorld(ctx), newWorld(ctx)
	run(ctx, "")
	for _, w := range []world{first, second} {
		w.cluster(ctx, "blue", 2)
	}
	for _, w := range []world{first, second} {
		w.eventuallyRunning(ctx, 2)
	}
	By("hearing of a Node in the one only")
	before := second.machine(ctx, NewWithT(GinkgoT()), worker("blue", 0))
	workload, ok := providers.Workload().Cluster(first.key("blue"))
	Expect(ok).To(BeTrue())
	node := first.machine(ctx, NewWithT(GinkgoT()), worker("blue", 0)).Status.NodeRef.Name
	Expect(workload.Delete(client.ObjectKey{Name: node}, &corev1.Node{})).To(Succeed())
	Eventually(func(g Gomega) {
		g.Expect(first.machine(ctx, g, worker("blue", 0)).Status.Conditions).To(ContainElement(And(
			HaveField("Type", clusterv1.MachineNodeReadyCondition), HaveField("Reason", clusterv1.MachineNodeDeletedReason))))
	}).WithContext(ctx).Should(Succeed())
	Consistently(func(g Gomega) {
		g.Expect(second.machine(ctx, g, worker("blue", 0)).ResourceVersion).To(Equal(before.ResourceVersion))
	}).WithContext(ctx).Should(Succeed())

	By("deleting in the one only")
	Expect(k8s.Delete(ctx, builder.Cluster(first.namespace, "blue").Build())).To(Succeed())
	first.eventuallyEmpty(ctx)
	Consistently(func(g Gomega) {
		for _, m := range second.machines(ctx, g) {
			g.Expect(m).To(beRunning())
		}
	}).WithContext(ctx).Should(Succeed())
})

var _ = It("The resync reconciles every Machine and writes nothing", func(ctx SpecContext) {
	w := newWorld(ctx)
	w.cluster(ctx, "blue", 3)
	r := run(ctx, w.namespace, func(o *controllers.Options) { o.SyncPeriod = 200 * time.Millisecond })
	w.eventuallyRunning(ctx, 3)
	settled := 0
	Eventually(func(g Gomega) {
		settled = len(w.requests(ctx, func(environment.Request) bool { return true }))
		g.Consistently(func() int { return r.mark() }).WithContext(ctx).WithTimeout(2 * suite.ConsistentlyDuration).Should(Equal(r.mark()))
	}).WithContext(ctx).Should(Succeed())

	By("counting")
	before := manager.Reconciles()
	Eventually(manager.Reconciles).WithContext(ctx).Should(BeNumerically(">", before+3*5), "five rounds")
	Expect(w.requests(ctx, func(environment.Request) bool { return true })).To(HaveLen(settled))
})
