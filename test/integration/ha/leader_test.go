// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package ha

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/machinist-dev/machinist/test/environment/suite"
)

// loseLeader kills the leader, and waits for the next one. The time until then counts from the last renewal of the Lease; a
// replica looks each retry period, and up to a fifth later, and has seen that renewal as much later.
func (w world) loseLeader(ctx context.Context, leader *process) {
	GinkgoHelper()
	leader.expectAlive()
	leader.kill()
	killed := time.Now()
	lease := w.lease(ctx, NewWithT(GinkgoT()))
	acquired := w.eventuallyHeldByAnother(ctx, *lease.Spec.HolderIdentity)
	vacant := acquired.Sub(lease.Spec.RenewTime.Time)
	AddReportEntry("time without a leader, of a Lease of "+leaseDuration.String(), vacant.String()+", "+acquired.Sub(killed).String()+" after the kill")
	const looks = 2 * retryPeriod * 12 / 10
	Expect(vacant).To(BeNumerically("<=", leaseDuration+looks+leaseDuration/2), "half a Lease for a busy computer")
}

var _ = Describe("A leader that is lost", func() {
	It("is followed within its Lease, and nothing is done twice", func(ctx SpecContext) {
		w := newWorld(ctx, machines)
		first := w.manager(ctx)
		second := w.manager(ctx)
		started := time.Now()
		created := w.create(ctx)
		Eventually(w.adoptions).WithContext(ctx).WithTimeout(convergenceTimeout).WithPolling(suite.EventuallyPolling).Should(BeNumerically(">", w.total()/2))
		states := w.states(ctx, NewWithT(GinkgoT()))
		AddReportEntry("Machines when the leader was killed", states)
		Expect(states[running]).To(BeNumerically("<", w.total()/2), "most are provisioning")
		w.loseLeader(ctx, first)
		Eventually(created).WithTimeout(convergenceTimeout).Should(BeClosed())
		w.eventuallyRunning(ctx, second)
		AddReportEntry("time until all Machines were Running", time.Since(started).String())
		w.expectOnce(ctx, "patch", workers)
		w.expectNoConflict(ctx)
		for _, cluster := range clusters {
			now, deleted := w.nodes(cluster)
			Expect([]int{now, deleted}).To(Equal([]int{w.machines, 0}), cluster)
		}

		By("deleting, and losing the next one in the middle of it")
		third := w.manager(ctx)
		started = time.Now()
		deleting := w.deleteMachines(ctx)
		Eventually(w.deletions).WithContext(ctx).WithTimeout(convergenceTimeout).WithPolling(suite.EventuallyPolling).Should(BeNumerically(">", w.total()/2))
		w.loseLeader(ctx, second)
		Eventually(deleting).WithTimeout(convergenceTimeout).Should(BeClosed())
		w.eventuallyEmpty(ctx, third)
		AddReportEntry("time until all Machines were gone", time.Since(started).String())
		w.expectOnce(ctx, "delete", workers)
		w.expectNoConflict(ctx)
	})
})

var _ = Describe("A leader that is told to stop", func() {
	It("finishes what it has begun, gives its Lease back and exits with 0; the other one goes on at once", func(ctx SpecContext) {
		w := newWorld(ctx, machines/3)
		first := w.manager(ctx)
		second := w.manager(ctx)
		created := w.create(ctx)
		Eventually(w.adoptions).WithContext(ctx).WithTimeout(convergenceTimeout).WithPolling(suite.EventuallyPolling).Should(BeNumerically(">", w.total()/2))
		holder := w.holder(ctx, NewWithT(GinkgoT()))
		Expect(first.terminate()).To(Succeed(), "exit code 0")
		ended := time.Now()
		vacant := w.eventuallyHeldByAnother(ctx, holder).Sub(ended)
		AddReportEntry("time without a leader", vacant.String())
		Expect(vacant).To(BeNumerically("<", leaseDuration/2), "without waiting for the end of the Lease")
		Expect(first.log()).NotTo(ContainSubstring("Reconciler error"), "no reconcile was cut off")
		Eventually(created).WithTimeout(convergenceTimeout).Should(BeClosed())
		w.eventuallyRunning(ctx, second)
		w.expectOnce(ctx, "patch", 0)
		w.expectNoConflict(ctx)

		By("stopping the other one, too")
		Expect(second.terminate()).To(Succeed(), "exit code 0")
		Expect(w.holder(ctx, NewWithT(GinkgoT()))).To(BeEmpty())
	})
})
