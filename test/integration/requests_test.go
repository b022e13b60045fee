// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

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
		lists := requests(ctx)[before:].Where(func(r environment.Request) bool {
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

	It("delete a Machine whose Node is empty by six writes", func(ctx SpecContext) {
		keeper := f.machine("keeper") // a control plane Machine, so that the Nodes are worth draining and deleting
		keeper.Labels = map[string]string{clusterv1.MachineControlPlaneLabel: ""}
		create(ctx, keeper)
		f.eventually(ctx, "keeper", func(g Gomega, m *clusterv1.Machine) { g.Expect(m.Status.Phase).To(Equal("Pending")) })
		for i := range machines { // as with real providers, the objects don't go at once
			name := fmt.Sprintf("m-%d", i)
			mergePatch(ctx, f.infraMachine(f.namespace, name).Build(), finalizers("example.org/provider"))
			mergePatch(ctx, f.bootstrapConfig(f.namespace, name).Build(), finalizers("example.org/provider"))
		}
		before = len(requests(ctx))
		for i := range machines {
			Expect(k8s.Delete(ctx, f.machine(fmt.Sprintf("m-%d", i)))).To(Succeed())
		}
		for i := range machines {
			name := fmt.Sprintf("m-%d", i)
			f.eventually(ctx, name, func(g Gomega, m *clusterv1.Machine) {
				g.Expect(m.Status.Conditions).To(haveCondition("Deleting", Not(BeNil()), "WaitingForInfrastructureDeletion", Not(BeNil())))
			})
			mergePatch(ctx, f.infraMachine(f.namespace, name).Build(), finalizers())
			f.eventually(ctx, name, func(g Gomega, m *clusterv1.Machine) {
				g.Expect(m.Status.Conditions).To(haveCondition("Deleting", Not(BeNil()), "WaitingForBootstrapDeletion", Not(BeNil())))
			})
			mergePatch(ctx, f.bootstrapConfig(f.namespace, name).Build(), finalizers())
			eventuallyGone(ctx, f.machine(name))
		}
		Expect(f.workload.Count(&corev1.Node{})).To(BeZero())
		writes := requests(ctx)[before:].Where(func(r environment.Request) bool {
			return r.Namespace == f.namespace && strings.HasPrefix(r.Name, "m-") && r.Verb != "get" && r.Group != "events.k8s.io"
		})
		AddReportEntry(fmt.Sprintf("requests for the deletion of %d Machines", machines), writes.Counts())
		Expect(writes).To(HaveLen(6*machines), "%v", writes.Counts())
		Expect(writes).NotTo(ContainElement(HaveField("Code", 409)))
	})
})

func finalizers(names ...string) map[string]any {
	return map[string]any{"metadata": map[string]any{"finalizers": names}}
}

// mergeHeartbeat changes a provider object in a field that is not in the contract.
func mergeHeartbeat(ctx context.Context, f *fixture, name string) {
	GinkgoHelper()
	setStatus(ctx, f.infraMachine(f.namespace, name).Build(), map[string]any{"heartbeat": "2026-01-01T00:00:00Z"})
	setStatus(ctx, f.bootstrapConfig(f.namespace, name).Build(), map[string]any{"heartbeat": "2026-01-01T00:00:00Z"})
}
