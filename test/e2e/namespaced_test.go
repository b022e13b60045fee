// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// What the manager is given here are Roles: it has its own namespace, and the Machines in it.
var _ = Describe("Machinist in one namespace", Ordered, func() {
	var (
		machinist              *installation
		inside, metal, outside *fleet
	)
	const own = "e2e-team"

	BeforeAll(func(ctx SpecContext) {
		installProviders(ctx)
		createNamespace(ctx, own) // this flavour does not bring it
		machinist = deployInto(ctx, own, "overlays/namespaced")
		eventuallyRefused(ctx, own)
		elsewhere := newNamespace(ctx)
		sim := startSimulator(ctx, false)
		outside = createFleet(ctx, sim, elsewhere, "outside", simMachine, 2)
		inside = createFleet(ctx, sim, own, "inside", simMachine, 3)
		metal = createFleet(ctx, sim, own, "metal", metalMachine, 3)
	}, NodeTimeout(deployTimeout))

	It("brings the Machines of its namespace to Running", func(ctx SpecContext) {
		inside.eventuallyRunning(ctx, 3)
		metal.eventuallyRunning(ctx, 3)
	}, NodeTimeout(2*eventuallyTimeout))

	It("leaves those of others alone", func(ctx SpecContext) {
		for _, machine := range outside.machines(ctx, Default) {
			Expect(machine.Status).To(BeZero())
			Expect(machine.Finalizers).To(BeEmpty())
		}
	})

	DescribeTable("may, and may not,", func(ctx SpecContext, elsewhere, allowed bool, verb, group, resource string) {
		namespace := own
		if elsewhere {
			namespace = outside.cluster.Namespace
		}
		Expect(machinist.may(ctx, namespace, verb, group, resource)).To(Equal(allowed))
	},
		Entry("list Machines in its namespace", false, true, "list", clusterv1.GroupVersion.Group, "machines"),
		Entry("list Machines elsewhere", true, false, "list", clusterv1.GroupVersion.Group, "machines"),
		Entry("watch a provider's objects in its namespace", false, true, "watch", metalMachine.Group, "metalmachines"),
		Entry("watch a provider's objects elsewhere", true, false, "watch", metalMachine.Group, "metalmachines"),
		Entry("get Secrets in its namespace", false, true, "get", "", "secrets"),
		Entry("get Secrets elsewhere", true, false, "get", "", "secrets"),
		Entry("list Secrets in its namespace", false, false, "list", "", "secrets"),
		Entry("watch Secrets in its namespace", false, false, "watch", "", "secrets"),
	)

	It("has asked for nothing that its roles don't allow, also to delete Machines", func(ctx SpecContext) {
		for _, f := range []*fleet{inside, metal, outside} {
			f.delete(ctx)
		}
		Expect(restarts(ctx)).To(BeZero(), describePods(ctx))
		machinist.expectNothingForbidden()
	}, NodeTimeout(2*eventuallyTimeout))

	It("leaves nothing when it is undeployed, and the namespace as it was", func(ctx SpecContext) {
		machinist.undeploy(ctx)
		Eventually(func(g Gomega) {
			g.Expect(inventory(ctx)).To(ConsistOf(append(machinist.before, "Namespace "+outside.cluster.Namespace)))
			g.Expect(inventoryOf(ctx, namespaced, client.InNamespace(own))).To(BeEmpty())
		}).WithContext(ctx).Should(Succeed())
	}, NodeTimeout(deployTimeout))
})
