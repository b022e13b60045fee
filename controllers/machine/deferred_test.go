// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

var _ = Describe("A status that is held back", func() {
	const start = 1_700_000_000 // in Unix seconds
	// after is a reconcile of one Machine so long after the first one, whose conditions say why it waits.
	after := func(since time.Duration, why string) *scope {
		s := &scope{machine: &clusterv1.Machine{}, stored: &clusterv1.Machine{}, now: time.Unix(start, 0).Add(since)}
		s.machine.UID = "m"
		if why != "" {
			s.machine.Status.Conditions = []metav1.Condition{{Type: "Ready", Message: why, LastTransitionTime: metav1.NewTime(s.now)}}
		}
		return s
	}
	var deferred *deferredStatus
	BeforeEach(func() { deferred = &deferredStatus{} })

	It("is written when it has stayed the same for a while", func() {
		Expect(deferred.wait(after(0, "no data"))).To(Equal(statusPause))
		Expect(deferred.wait(after(time.Second, "no server"))).To(Equal(statusPause), "it has changed")
		Expect(deferred.wait(after(2*time.Second, "no server"))).To(Equal(statusPause-time.Second), "only the time of its condition has changed")
		Expect(deferred.wait(after(3*time.Second, "no server"))).To(BeZero())
	})

	It("is written after some time also if it goes on changing", func() {
		var wait time.Duration
		for seconds := range 10 {
			wait = deferred.wait(after(time.Duration(seconds)*time.Second, time.Duration(seconds).String()))
			Expect(wait).To(BeNumerically(">", 0), "after %d s", seconds)
		}
		Expect(wait).To(Equal(time.Second))
		Expect(deferred.wait(after(statusDelay, "still"))).To(BeZero())
	})

	It("loses its patience with other Machines after a while", func() {
		s := after(0, "no data")
		s.machine.Namespace, s.machine.Name = "ns", "m"
		deferred.wait(s)
		Expect(deferred.overdue(s.now.Add(statusPatience))).To(BeEmpty())
		Expect(deferred.overdue(s.now.Add(statusPatience + time.Second))).To(Equal([]types.NamespacedName{{Namespace: "ns", Name: "m"}}))
		deferred.forget("m")
		Expect(deferred.overdue(s.now.Add(time.Hour))).To(BeEmpty())
	})

	DescribeTable("is one of a Machine on its way to Running, and of no other", func(change func(*scope)) {
		s := after(0, "no data")
		change(s)
		Expect(deferred.wait(s)).To(BeZero())
	},
		Entry("being deleted", func(s *scope) { s.machine.DeletionTimestamp = &metav1.Time{Time: time.Unix(start, 0)} }),
		Entry("with a Node", func(s *scope) { s.machine.Status.NodeRef.Name = "node" }),
		Entry("being updated", func(s *scope) { s.machine.Status.SetTypedPhase(clusterv1.MachinePhaseUpdating) }),
		Entry("with unusable bootstrap data", func(s *scope) { s.bootstrap.problem = clusterMissingError{} }),
		Entry("with an unusable server", func(s *scope) { s.infra.problem = clusterMissingError{} }),
		Entry("that has nothing to say", func(s *scope) { s.stored.Status = s.machine.Status }),
	)

	It("does not take the flags with it that went up", func() {
		provisioned := after(0, "")
		provisioned.machine.Status.Initialization.InfrastructureProvisioned = new(true)
		Expect(deferred.wait(provisioned)).To(Equal(statusPause))

		later := after(time.Second, "")
		deferred.restore(later)
		Expect(later.infrastructureProvisioned()).To(BeTrue())
		Expect(later.dataSecretCreated()).To(BeFalse())

		deferred.forget("m")
		fresh := after(time.Second, "")
		deferred.restore(fresh)
		Expect(fresh.infrastructureProvisioned()).To(BeFalse())
	})

	It("lets other Machines go first", func() {
		held, both := after(0, ""), after(0, "")
		held.statusDue = time.Second
		both.statusDue, both.requeueAfter = 2*time.Second, time.Second
		r := &Reconciler{}
		result, err := r.result(held)
		Expect(err).NotTo(HaveOccurred())
		Expect(result.RequeueAfter).To(Equal(time.Second))
		Expect(*result.Priority).To(BeNumerically("<", 0))
		result, err = r.result(both)
		Expect(err).NotTo(HaveOccurred())
		Expect(result.RequeueAfter).To(Equal(time.Second))
		Expect(*result.Priority).To(BeZero())
	})
})
