// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers"
	"github.com/machinist-dev/machinist/test/builder"
	"github.com/machinist-dev/machinist/test/environment"
	"github.com/machinist-dev/machinist/test/manager"
	"github.com/machinist-dev/machinist/test/simulator/workload"
)

// elected makes a manager take part in an election whose Lease is in the world's namespace. The times are shorter than the
// defaults, and long enough for a busy computer.
func (w world) elected(o *controllers.Options) {
	o.LeaderElect, o.LeaderElectNamespace = true, w.namespace
	o.LeaderElectLeaseDuration, o.LeaderElectRenewDeadline, o.LeaderElectRetryPeriod = 6*time.Second, 4*time.Second, 500*time.Millisecond
}

func (w world) lease(ctx context.Context, g Gomega) *coordinationv1.Lease {
	lease := &coordinationv1.Lease{}
	g.Expect(k8s.Get(ctx, w.key("controller-leader-election-machinist"), lease)).To(Succeed())
	return lease
}

// nodeWatches is how many watches of Nodes the managers have opened in the workload cluster.
func (w world) nodeWatches(cluster string) int {
	GinkgoHelper()
	served, ok := providers.Workload().Cluster(w.key(cluster))
	Expect(ok).To(BeTrue())
	return served.Requests()[workload.Request{UserAgent: controllers.UserAgent, Verb: "watch", Resource: "nodes"}]
}

// watching is what a manager has opened watches of, each once.
func (r *replica) watching() []string {
	var resources []string
	for _, c := range r.since(0, func(c call) bool { return c.Verb == "watch" }) {
		resources = append(resources, c.resource())
	}
	slices.Sort(resources)
	return slices.Compact(resources)
}

// onStandby starts a second manager and waits until its caches are filled, those of workload clusters, too.
func (w world) onStandby(ctx context.Context, clusters ...string) *replica {
	GinkgoHelper()
	before := map[string]int{}
	for _, cluster := range clusters {
		before[cluster] = w.nodeWatches(cluster)
	}
	standby := start(w.namespace, w.elected)
	Eventually(standby.watching).WithContext(ctx).Should(Equal([]string{"clusters", "customresourcedefinitions", "machinedrainrules", "machines", "simconfigs", "simmachines"}))
	for _, cluster := range clusters {
		Eventually(func() int { return w.nodeWatches(cluster) }).WithContext(ctx).Should(BeNumerically(">", before[cluster]))
	}
	Consistently(standby.Elected()).WithContext(ctx).ShouldNot(BeClosed())
	return standby
}

var _ = Describe("A manager on standby", func() {
	It("has all caches filled when it takes over, and then neither lists nor writes what is settled", func(ctx SpecContext) {
		w := newWorld(ctx)
		leader := run(ctx, w.namespace, w.elected)
		w.cluster(ctx, "blue", 3)
		w.cluster(ctx, "green", 3)
		w.eventuallyRunning(ctx, 6)
		standby := w.onStandby(ctx, "blue", "green")
		Expect(standby.since(0, isWrite)).To(BeEmpty())

		By("following what happens meanwhile")
		w.cluster(ctx, "red", 2)
		w.eventuallyRunning(ctx, 8)
		Eventually(func() int { return w.nodeWatches("red") }).WithContext(ctx).Should(Equal(2), "the leader's and the other's")
		w.settle(ctx)

		By("taking over at once from a leader that stops")
		mark, watches := standby.mark(), w.nodeWatches("blue")
		done := manager.Reconciles()
		leader.Stop()
		left := time.Now()
		Expect(w.lease(ctx, NewWithT(GinkgoT())).Spec.HolderIdentity).To(HaveValue(BeEmpty()), "released")
		Eventually(standby.Elected()).WithContext(ctx).Should(BeClosed())
		AddReportEntry("takeover after a leader has stopped", time.Since(left).String())
		Eventually(manager.Reconciles).WithContext(ctx).Should(BeNumerically(">=", done+8), "it looks at all Machines")
		Consistently(func() []call { return standby.since(mark, every) }).WithContext(ctx).Should(BeEmpty(), "requests but those of the election")
		Expect(w.nodeWatches("blue")).To(Equal(watches))

		By("working")
		w.cluster(ctx, "yellow", 1)
		w.eventuallyRunning(ctx, 9)
	})

	It("takes over from a leader that is cut off, which gives up before", func(ctx SpecContext) {
		w := newWorld(ctx)
		leader := run(ctx, w.namespace, w.elected)
		w.cluster(ctx, "blue", 2)
		w.eventuallyRunning(ctx, 2)
		standby := w.onStandby(ctx, "blue")
		w.settle(ctx)
		leader.sever()
		cut := time.Now()
		renewed := w.lease(ctx, NewWithT(GinkgoT())).Spec.RenewTime.Time
		// While nobody leads: the old leader hears of it, and can't write.
		w.cluster(ctx, "green", 2)
		Expect(leader.Err()).To(MatchError(ContainSubstring("leader election lost")))
		Expect(standby.Elected()).NotTo(BeClosed(), "the old leader gives up before another one takes over")
		Eventually(standby.Elected()).WithContext(ctx).Should(BeClosed())
		AddReportEntry("takeover after a leader was cut off", fmt.Sprintf("%s, %s after the last renewal, of a Lease of 6s", time.Since(cut), time.Since(renewed)))
		w.eventuallyRunning(ctx, 4)
		Expect(w.lease(ctx, NewWithT(GinkgoT())).Spec.LeaseTransitions).To(HaveValue(BeEquivalentTo(1)))
		w.expectNothingTwice(ctx, 4)
	})

	It("does nothing twice that the leader has done when it stops in the middle of work", func(ctx SpecContext) {
		w := newWorld(ctx)
		leader := run(ctx, w.namespace, w.elected)
		w.cluster(ctx, "blue", 1)
		w.eventuallyRunning(ctx, 1)
		second := w.onStandby(ctx, "blue")
		const machines = 30
		w.cluster(ctx, "green", machines)
		// Some are adopted, most are not Running yet.
		Eventually(func() int { return len(w.adoptions(ctx)) }).WithContext(ctx).Should(BeNumerically(">", 10))
		leader.Stop()
		w.eventuallyRunning(ctx, machines+1)
		w.expectNothingTwice(ctx, machines+1)

		By("deleting all, and the next one stopping in the middle of it")
		w.onStandby(ctx, "blue")
		for i := range machines {
			Expect(k8s.Delete(ctx, builder.Machine(w.namespace, worker("green", i)).Build())).To(Succeed())
		}
		Eventually(func() int { return len(w.deletions(ctx)) }).WithContext(ctx).Should(BeNumerically(">", 10))
		second.Stop()
		w.expectDeletedOnce(ctx, machines)
	})
})

// settle waits until the managers of the world write nothing any more.
func (w world) settle(ctx context.Context) {
	GinkgoHelper()
	count := func() int { return len(w.requests(ctx, func(environment.Request) bool { return true })) }
	Eventually(func(g Gomega) {
		g.Consistently(count).WithContext(ctx).Should(Equal(count()))
	}).WithContext(ctx).Should(Succeed())
}

// adoptions are the patches that made provider objects their Machines'.
func (w world) adoptions(ctx context.Context) environment.Requests {
	GinkgoHelper()
	return w.requests(ctx, func(r environment.Request) bool {
		return r.Verb == "patch" && (r.Resource == "simmachines" || r.Resource == "simconfigs") && r.Code == 200
	})
}

// deletions are those of provider objects of the Cluster green.
func (w world) deletions(ctx context.Context) environment.Requests {
	GinkgoHelper()
	return w.requests(ctx, func(r environment.Request) bool {
		return r.Verb == "delete" && strings.HasPrefix(r.Name, "green-") && r.Code == 200
	})
}

// expectNothingTwice checks that each provider object was adopted once, and that no write of any manager has met another's.
// Events are not looked at: client-go sends one again when the manager stops before it has the answer.
func (w world) expectNothingTwice(ctx context.Context, machines int) {
	GinkgoHelper()
	seen := map[string]int{}
	for _, r := range w.adoptions(ctx) {
		seen[r.Resource+" "+r.Name]++
	}
	Expect(seen).To(HaveLen(2 * machines))
	Expect(seen).To(HaveEach(1))
	Expect(w.requests(ctx, func(r environment.Request) bool { return r.Code == 409 && r.Resource != "events" }).Counts()).To(BeEmpty())
}

// expectDeletedOnce waits until the Machines of the Cluster green are gone, and checks that each of their objects was deleted
// once.
func (w world) expectDeletedOnce(ctx context.Context, machines int) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		for _, m := range w.machines(ctx, g) {
			g.Expect(m.Spec.ClusterName).NotTo(Equal("green"))
		}
	}).WithContext(ctx).Should(Succeed())
	seen := map[string]int{}
	for _, r := range w.deletions(ctx) {
		seen[r.Resource+" "+r.Name]++
	}
	Expect(seen).To(HaveLen(2 * machines))
	Expect(seen).To(HaveEach(1))
}

var _ = It("A leader that has far too much to do keeps its Lease", func(ctx SpecContext) {
	w := newWorld(ctx)
	w.cluster(ctx, "blue", 5)
	r := run(ctx, w.namespace, w.elected, func(o *controllers.Options) {
		o.KubeAPIQPS, o.KubeAPIBurst = 0.5, 1
	})
	// Each of the clients sends a request every two seconds, which is half of what an election takes.
	Eventually(func(g Gomega) {
		g.Expect(w.machine(ctx, g, worker("blue", 0)).Finalizers).To(ContainElement(clusterv1.MachineFinalizer))
		g.Expect(len(r.leases())).To(BeNumerically(">", 20))
	}).WithContext(ctx).WithTimeout(time.Minute).Should(Succeed())
	Expect(r.Ended()).NotTo(BeClosed())
	leases := r.leases()
	gap := time.Duration(0)
	for i := 1; i < len(leases); i++ {
		gap = max(gap, leases[i].At.Sub(leases[i-1].At))
	}
	AddReportEntry("longest time between two requests of the election, of 500ms", gap.String())
})
