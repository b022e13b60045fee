// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers/workload"
)

// nobody is what no Machine refers to.
type nobody struct{}

func (nobody) OfCluster(context.Context, types.NamespacedName) []reconcile.Request { return nil }

func (nobody) OfNode(context.Context, types.NamespacedName, *corev1.Node) []reconcile.Request {
	return nil
}

var _ = Describe("A status that is held back", func() {
	// holding is a reconciler that holds the status of the scope's Machine back.
	holding := func(filter string, s *scope, cached bool) *Reconciler {
		scheme := runtime.NewScheme()
		Expect(clusterv1.AddToScheme(scheme)).To(Succeed())
		builder := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&clusterv1.Machine{})
		if cached {
			builder = builder.WithObjects(s.stored)
		}
		r := &Reconciler{Client: builder.Build(), WatchFilter: filter, Workload: workload.NewClusters(workload.Options{Referrers: nobody{}})}
		s.machine.Status.SetTypedPhase(clusterv1.MachinePhasePending)
		Expect(r.deferred.wait(s)).To(BeNumerically(">", 0))
		return r
	}
	overdue := func(r *Reconciler) []types.NamespacedName { return r.deferred.overdue(now.Add(time.Hour)) }

	It("is forgotten when the Machine is paused, and made anew afterwards", func(ctx SpecContext) {
		s := knowing(func(s *scope) { s.machine.UID = "m" })
		r := holding("", s, true)
		Expect(r.persistPaused(ctx, s, "paused")).To(Succeed())
		Expect(overdue(r)).To(BeEmpty())
	})

	DescribeTable("is forgotten after the reconcile of a Machine that is not in the cache any more", func(ctx SpecContext, filter string, cached, forgotten bool) {
		s := knowing(func(s *scope) { s.machine.UID = "m" })
		r := holding(filter, s, cached)
		r.forgetIfGone(ctx, s)
		Expect(overdue(r)).To(HaveLen(map[bool]int{true: 0, false: 1}[forgotten]))
	},
		Entry("as it has been handed over by its label", "ours", false, true),
		Entry("but not if it is there", "ours", true, false),
		Entry("nor if it can't be handed over, as nobody looks", "", false, false),
	)
})
