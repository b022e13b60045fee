// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

var _ = Describe("What a reconcile asks for", func() {
	It("is kept if one of its phases fails, as the next attempt may be far away", func() {
		queue := priorityqueue.New[reconcile.Request]("test")
		DeferCleanup(queue.ShutDown)
		s := knowing()
		s.wakeAfter(10 * time.Millisecond)
		_, err := (&Reconciler{queue: queue}).result(s, errors.New("a phase has failed"))
		Expect(err).To(MatchError("a phase has failed"))
		next, _, _ := queue.GetWithPriority()
		Expect(next.NamespacedName).To(Equal(client.ObjectKeyFromObject(s.machine)))
	})

	It("is nothing if a failing phase is all there is", func() {
		_, err := (&Reconciler{}).result(knowing(), errors.New("a phase has failed"))
		Expect(err).To(HaveOccurred())
	})

	DescribeTable("while its workload cluster is not connected", func(s *scope, after time.Duration) {
		computeStatus(s, grace)
		Expect(s.requeueAfter).To(Equal(after))
	},
		Entry("is nothing before that has been tried a few times: it is woken by the outcome", knowing(probed(never, 0), nodeError(errNotConnected)), time.Duration(0)),
		Entry("is nothing when it is about to be", knowing(probed(never, 4), nodeError(errNotConnected)), time.Duration(0)),
		Entry("is the end of the time for which its conditions are believed", knowing(probed(lastProbe, 2), nodeError(errNotConnected)), grace-time.Minute+time.Second),
		Entry("is nothing after that", knowing(probed(now.Add(-time.Hour), 9), nodeError(errNotConnected)), time.Duration(0)),
	)
})
