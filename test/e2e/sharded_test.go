// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/builder"
)

// Two managers, each with a standby, and a Machine belongs to the one that its label names.
var _ = Describe("Machinist in shards", Ordered, func() {
	var (
		machinist *installation
		shards    map[string]*fleet // by the value of the label
		namespace string
	)
	const nobodys = "nobodys"

	BeforeAll(func(ctx SpecContext) {
		installProviders(ctx)
		machinist = deploy(ctx, "overlays/sharded")
		eventuallyRefused(ctx, metav1.NamespaceDefault)
		namespace = newNamespace(ctx)
		sim := startSimulator(ctx, false)
		shards = map[string]*fleet{}
		for _, shard := range []string{"shard-0", "shard-1"} {
			shards[shard] = &fleet{
				sim: sim, cluster: builder.Cluster(namespace, shard).Build(), infra: simMachine,
				labels: map[string]string{clusterv1.WatchLabel: shard},
			}
		}
	}, NodeTimeout(deployTimeout))

	It("has a leader for each shard, and a standby", func(ctx SpecContext) {
		Expect(pods(ctx)).To(HaveLen(4))
		for shard := range shards {
			Eventually(func(g Gomega) {
				g.Expect(leader(ctx, g, leaseName+"-"+shard)).To(HavePrefix(deploymentName + "-" + shard))
			}).WithContext(ctx).Should(Succeed())
		}
	})

	It("brings the Machines of each shard to Running", func(ctx SpecContext) {
		Expect(k8s.Create(ctx, builder.Machine(namespace, nobodys).Build())).To(Succeed())
		for shard, f := range shards {
			Expect(k8s.Create(ctx, f.cluster)).To(Succeed())
			f.create(ctx, shard, 1, 1)
		}
		for _, f := range shards {
			f.eventuallyRunning(ctx, 2)
			f.expectOneNodeEach(ctx)
		}
	}, NodeTimeout(2*eventuallyTimeout))

	It("leaves a Machine without the label to nobody", func(ctx SpecContext) {
		machine := &clusterv1.Machine{}
		Expect(k8s.Get(ctx, shards["shard-0"].key(nobodys), machine)).To(Succeed())
		Expect(machine.Status).To(BeZero())
		Expect(machine.Finalizers).To(BeEmpty())
	})

	It("has asked for nothing that its roles don't allow, also to delete Machines", func(ctx SpecContext) {
		for _, f := range shards {
			f.delete(ctx)
		}
		Expect(restarts(ctx)).To(BeZero(), describePods(ctx))
		machinist.expectNothingForbidden()
	}, NodeTimeout(2*eventuallyTimeout))

	It("leaves nothing when it is undeployed", func(ctx SpecContext) {
		machinist.undeployLeaving(ctx, "Namespace "+namespace)
	}, NodeTimeout(deployTimeout))
})
