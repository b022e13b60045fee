// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"math/rand/v2"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/machinist-dev/machinist/test/builder"
)

var _ = Describe("A manager that is told to stop", func() {
	It("finishes the reconcile that it is in, and holds its Lease until then", func(ctx SpecContext) {
		w := newWorld(ctx)
		r := run(ctx, w.namespace, w.elected)
		name := worker("blue", 0)
		// A reconcile adopts the BootstrapConfig first, and then the InfraMachine.
		adoption := r.holdNext(adopts("simconfigs", name))
		w.cluster(ctx, "blue", 1)
		Eventually(adoption.made).WithContext(ctx).Should(BeClosed())
		mark := r.mark()
		r.Tell()
		Consistently(r.Ended()).WithContext(ctx).ShouldNot(BeClosed())
		Expect(w.lease(ctx, NewWithT(GinkgoT())).Spec.HolderIdentity).NotTo(HaveValue(BeEmpty()))

		By("going on with the next object")
		Expect(r.since(mark, isWrite)).To(BeEmpty())
		close(adoption.release)
		Expect(r.Err()).NotTo(HaveOccurred())
		Expect(r.since(mark, adopts("simmachines", name))).To(HaveLen(1))
		Expect(w.lease(ctx, NewWithT(GinkgoT())).Spec.HolderIdentity).To(HaveValue(BeEmpty()))
	})

	It("does not begin what waits in its queue", func(ctx SpecContext) {
		w := newWorld(ctx)
		r := run(ctx, w.namespace)
		w.cluster(ctx, "blue", 1)
		w.eventuallyRunning(ctx, 1)
		w.settle(ctx)
		r.Stop()
		mark := r.mark()
		w.cluster(ctx, "green", 3)
		Consistently(func() []call { return r.since(mark, every) }).WithContext(ctx).Should(BeEmpty())
	})

	It("at any time loses nothing, and its successor does nothing again", func(ctx SpecContext) {
		const machines = 20
		w := newWorld(ctx)
		seed := rand.Uint64()
		AddReportEntry("seed", seed, ReportEntryVisibilityFailureOrVerbose)
		random := rand.New(rand.NewPCG(seed, 0))
		restarts := 0
		w.cluster(ctx, "keeper", 1)
		w.cluster(ctx, "green", machines)
		restartUntil := func(done func(g Gomega)) {
			GinkgoHelper()
			Eventually(func(g Gomega) {
				r := start(w.namespace)
				// A start takes some tenths of a second, and the work after it some more.
				g.Consistently(r.Ended()).WithContext(ctx).WithTimeout(time.Duration(200+random.IntN(500)) * time.Millisecond).ShouldNot(BeClosed())
				r.Stop()
				restarts++
				done(g)
			}).WithContext(ctx).WithTimeout(time.Minute).Should(Succeed())
		}
		restartUntil(func(g Gomega) {
			for _, m := range w.machines(ctx, g) {
				g.Expect(m.Spec.ProviderID).NotTo(BeEmpty())
			}
		})
		r := run(ctx, w.namespace)
		w.eventuallyRunning(ctx, machines+1)
		w.expectNothingTwice(ctx, machines+1)
		r.Stop()
		AddReportEntry("restarts until all Machines had their machines", restarts)

		By("deleting")
		for i := range machines {
			Expect(k8s.Delete(ctx, builder.Machine(w.namespace, worker("green", i)).Build())).To(Succeed())
		}
		restartUntil(func(g Gomega) {
			for _, m := range w.machines(ctx, g) {
				g.Expect(m.Spec.ClusterName).To(Equal("keeper"))
			}
		})
		w.expectDeletedOnce(ctx, machines)
		AddReportEntry("restarts in all", restarts)
	})
})

func adopts(resource, name string) func(call) bool {
	return func(c call) bool { return c.Verb == "patch" && strings.HasSuffix(c.Path, "/"+resource+"/"+name) }
}
