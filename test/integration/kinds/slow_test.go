// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"context"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/builder"
	"github.com/machinist-dev/machinist/test/environment"
	"github.com/machinist-dev/machinist/test/environment/delay"
	"github.com/machinist-dev/machinist/test/manager"
)

// Thousands of objects take long to list when API server and manager have just started, and much else to do.
var _ = It("Machines that are deleted while their objects are still being listed, and listed again, get no event and no superfluous status", func(ctx SpecContext) {
	const (
		listing   = 20 * time.Second // a kind that fails is said to after 10, and one of which nothing is heard after 30
		looking   = 12 * time.Second
		writes    = 2 // that the InfraMachine is waited for, and that it is gone
		resources = "testmachines"
	)
	p := newPlace(ctx)
	slow := p.kind("slow")
	slow.install()
	proxy, err := delay.Start(ctx, env.Config)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(proxy.Close)
	forgetMetrics()
	before := manager.Run(proxy.Config(), managerOptions(p.namespace))
	names := p.machines(ctx, slow, 30)
	p.expectRecovered(ctx, slow, names)
	before.Stop()

	proxy.Delay(listing, resources)
	asked := len(requests(ctx))
	startManagerWith(proxy.Config(), managerOptions(p.namespace))
	Expect(k8s.DeleteAllOf(ctx, &clusterv1.Machine{}, client.InNamespace(p.namespace))).To(Succeed())
	Consistently(p.phases(ctx)).WithContext(ctx).WithTimeout(looking).WithPolling(time.Second).Should(HaveKeyWithValue("Running", len(names)))
	proxy.Delay(0)
	Eventually(p.phases(ctx)).WithContext(ctx).Should(HaveKey("Deleting"))
	proxy.Expire(resources, "machines")
	Eventually(p.phases(ctx)).WithContext(ctx).Should(BeEmpty())

	for _, name := range names {
		Expect(p.warnings(ctx, name)(Default)).To(BeEmpty())
	}
	patched := requests(ctx)[asked:].Where(func(r environment.Request) bool {
		// What a cache that is being filled again has not heard of yet is refused.
		return r.Namespace == p.namespace && r.String() == "patch machines/status" && r.Code == http.StatusOK
	})
	Expect(len(patched)).To(BeNumerically("<=", writes*len(names)))
})

// phases counts the Machines by phase.
func (p *place) phases(ctx context.Context) func(g Gomega) map[string]int {
	return func(g Gomega) map[string]int {
		list := &clusterv1.MachineList{}
		g.Expect(k8s.List(ctx, list, client.InNamespace(p.namespace))).To(Succeed())
		phases := map[string]int{}
		for i := range list.Items {
			phases[list.Items[i].Status.Phase]++
		}
		return phases
	}
}

var _ = It("A Machine with two objects of which nobody knows the kinds says so in an event about each", func(ctx SpecContext) {
	p := newPlace(ctx)
	startManager(p.namespace)
	infra, config := p.kind("infra"), schema.GroupKind{Group: "config." + p.namespace + ".example.org", Kind: "TestConfig"}
	Expect(k8s.Create(ctx, builder.Machine(p.namespace, "m").WithClusterName(clusterName).
		WithInfrastructureRef(infra.GroupKind, "m").WithBootstrapRef(config, "m").Build())).To(Succeed())
	p.eventually(ctx, "m", haveInfrastructureReady(metav1.ConditionUnknown, "CustomResourceDefinitionMissing", ContainSubstring(infra.Group)))
	Eventually(p.warnings(ctx, "m")).WithContext(ctx).Should(ConsistOf(
		HavePrefix("CustomResourceDefinitionMissing: TestMachine: "), HavePrefix("CustomResourceDefinitionMissing: TestConfig: "),
	))
})
