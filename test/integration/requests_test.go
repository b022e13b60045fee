// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/apis/contract"
	"github.com/machinist-dev/machinist/controllers"
	"github.com/machinist-dev/machinist/test/environment"
)

// Counted where they arrive, at the API server.
var _ = Describe("Requests of the manager", Serial, Ordered, func() {
	const machines = 5
	var f *fixture
	var before int
	requests := func(ctx context.Context) environment.Requests {
		GinkgoHelper()
		all, err := env.Requests(ctx)
		Expect(err).NotTo(HaveOccurred())
		return all.From(controllers.UserAgent)
	}

	BeforeAll(func(ctx SpecContext) {
		f = newFixture(ctx, newProvider)
		before = len(requests(ctx))
		for i := range machines {
			name := fmt.Sprintf("m-%d", i)
			create(ctx, f.bootstrapConfig(f.namespace, name).Build(), f.infraMachine(f.namespace, name).Build(), f.machine(name))
		}
		for i := range machines { // a provider waits for its owner, so it doesn't write while the manager adopts
			name := fmt.Sprintf("m-%d", i)
			eventuallyOwned(ctx, f.bootstrapConfig(f.namespace, name).Build())
			eventuallyOwned(ctx, f.infraMachine(f.namespace, name).Build())
		}
		for i := range machines {
			name := fmt.Sprintf("m-%d", i)
			report(ctx, f.bootstrapConfig(f.namespace, name).WithDataSecretCreated(true).WithDataSecretName(name).Build())
			report(ctx, f.infraMachine(f.namespace, name).WithProvisioned(true).WithProviderID("sim:///"+name).
				WithAddresses([]contract.MachineAddress{{Type: "InternalIP", Address: "10.0.0.7"}}).Build())
			f.node(name, "sim:///"+name)
		}
		for i := range machines {
			f.eventually(ctx, fmt.Sprintf("m-%d", i), func(g Gomega, m *clusterv1.Machine) { g.Expect(m.Status.Phase).To(Equal("Running")) })
		}
	})

	It("never read a provider object but by one list and one watch for each kind", func(ctx SpecContext) {
		reads := requests(ctx).Where(func(r environment.Request) bool {
			return (r.Group == newProvider.infra.Group || r.Group == newProvider.bootstrap.Group) && r.Verb != "patch" && r.Namespace == f.namespace
		})
		Expect(reads.Counts()).To(BeEmpty())
		lists := requests(ctx).Where(func(r environment.Request) bool {
			return r.Resource == "newmachines" && r.Namespace == "" && r.Code != 0
		})
		Expect(len(lists)).To(BeNumerically("<=", 2), "%v", lists.Counts())
	})

	It("get Secrets by name, and never list or watch them", func(ctx SpecContext) {
		secrets := requests(ctx).Where(func(r environment.Request) bool { return r.Resource == "secrets" })
		Expect(secrets).NotTo(BeEmpty())
		Expect(secrets).To(HaveEach(HaveField("Verb", "get")))
	})

	It("write a Machine's objects a bounded number of times", func(ctx SpecContext) {
		writes := requests(ctx)[before:].Where(func(r environment.Request) bool { return r.Namespace == f.namespace && r.Verb != "get" })
		AddReportEntry(fmt.Sprintf("requests for %d Machines from create to Running", machines), writes.Counts())
		conflicts := writes.Where(func(r environment.Request) bool { return r.Code == 409 })
		Expect(conflicts.Counts()).To(BeEmpty())
		patches := writes.Where(func(r environment.Request) bool { return r.Resource == "newmachines" || r.Resource == "newconfigs" })
		Expect(patches).To(HaveLen(2*machines), "one patch for each provider object: %v", patches.Counts())
		Expect(writes.Where(func(r environment.Request) bool { return r.Verb == "patch" })).To(HaveLen(len(writes.Where(func(r environment.Request) bool { return r.Group != "events.k8s.io" }))))
	})

	It("are none for a Machine that is settled, whatever its provider reports outside the contract", func(ctx SpecContext) {
		// Of this namespace only: the Machines of other specs may not have settled.
		count := func() int {
			return len(requests(ctx).Where(func(r environment.Request) bool { return r.Namespace == f.namespace }))
		}
		var settled int
		Eventually(func(g Gomega) {
			settled = count()
			g.Consistently(count).WithContext(ctx).Should(Equal(settled))
		}).WithContext(ctx).Should(Succeed())
		mergeHeartbeat(ctx, f, "m-0")
		Consistently(count).WithContext(ctx).Should(Equal(settled))
	})
})

// mergeHeartbeat changes a provider object in a field that is not in the contract.
func mergeHeartbeat(ctx context.Context, f *fixture, name string) {
	GinkgoHelper()
	setStatus(ctx, f.infraMachine(f.namespace, name).Build(), map[string]any{"heartbeat": "2026-01-01T00:00:00Z"})
	setStatus(ctx, f.bootstrapConfig(f.namespace, name).Build(), map[string]any{"heartbeat": "2026-01-01T00:00:00Z"})
}
