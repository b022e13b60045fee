// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/machinist-dev/machinist/test/builder"
)

var _ = It("Metrics tell of each kind in use what it holds, what it has seen and how it is, and of no other", func(ctx SpecContext) {
	p := newPlace(ctx)
	used, missing := p.kind("used"), p.kind("missing")
	used.install()
	startManager(p.namespace)
	usedLabels, missingLabels := used.Group+",TestMachine,InfraMachine", missing.Group+",TestMachine,InfraMachine"

	By("showing nothing without a Machine")
	Expect(series("machinist_provider_objects")).To(BeEmpty())

	By("counting objects, and events with those that changed nothing in the contract")
	for _, name := range []string{"a", "b", "c"} {
		used.create(ctx, p.namespace, name, object{"spec": object{}})
	}
	p.machine(ctx, used, "a")
	p.machine(ctx, missing, "x")
	Eventually(func() map[string]float64 { return series("machinist_provider_objects") }).WithContext(ctx).
		Should(Equal(map[string]float64{usedLabels: 3, missingLabels: 0}))
	Expect(series("machinist_provider_object_bytes")).To(SatisfyAll(HaveKeyWithValue(usedLabels, BeNumerically("~", 3*500, 3*300)), HaveKeyWithValue(missingLabels, BeZero())))
	Eventually(func() map[string]float64 { return series("machinist_provider_informer_info") }).WithContext(ctx).Should(Equal(map[string]float64{
		newAPI + ",v1beta2," + used.Group + ",TestMachine,InfraMachine,synced":             1,
		",," + missing.Group + ",TestMachine,InfraMachine,CustomResourceDefinitionMissing": 1,
	}))
	Eventually(used.get(ctx, p.namespace, "a")).WithContext(ctx).Should(HaveField("GetOwnerReferences()", HaveLen(1)))
	counted := func(name string) func() float64 { return func() float64 { return series(name)[usedLabels] } }
	Eventually(counted("machinist_provider_events_total")).WithContext(ctx).Should(BeNumerically("==", 4), "three objects, and the owner reference of one")

	seen, ignored := counted("machinist_provider_events_total")(), counted("machinist_provider_events_contract_equal_total")()
	for turn := range 5 {
		used.patch(ctx, p.namespace, "a", object{"status": object{"heartbeat": turn}}, "status")
	}
	used.patch(ctx, p.namespace, "a", object{"status": object{"failureMessage": "out of memory"}}, "status")
	Eventually(counted("machinist_provider_events_total")).WithContext(ctx).Should(BeNumerically("==", seen+6))
	Expect(counted("machinist_provider_events_contract_equal_total")()).To(BeNumerically("==", ignored+5))

	By("counting Machines by phase and by what they wait for")
	Eventually(func() map[string]float64 { return series("machinist_machines_waiting") }).WithContext(ctx).Should(Equal(map[string]float64{
		"InfrastructureReady,NotReady": 1, "InfrastructureReady,CustomResourceDefinitionMissing": 1,
	}))
	Expect(series("machinist_machines")).To(SatisfyAll(HaveKeyWithValue("Provisioning", BeNumerically("==", 2)), HaveKeyWithValue("Running", BeZero())))

	By("forgetting a kind with its last Machine")
	Expect(k8s.Delete(ctx, builder.Machine(p.namespace, "x").Build())).To(Succeed())
	Eventually(func() map[string]float64 { return series("machinist_provider_informer_info") }).WithContext(ctx).Should(HaveLen(1))
	Expect(k8s.Delete(ctx, builder.Machine(p.namespace, "a").Build())).To(Succeed())
	for _, name := range []string{"objects", "object_bytes", "informer_info", "events_total", "events_contract_equal_total", "reads_own_write_total"} {
		Eventually(func() map[string]float64 { return series("machinist_provider_" + name) }).WithContext(ctx).Should(BeEmpty(), name)
	}
	Eventually(openWatches(ctx, used)).WithContext(ctx).Should(BeEmpty())
})
