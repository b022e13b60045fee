// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package references

import (
	"fmt"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/builder"
	"github.com/machinist-dev/machinist/test/simulator"
)

// found is what is said about a Machine: what is denied in mode enforce, what is only advice, and what can't be found out,
// which is only said in mode warn.
type found struct{ denied, advised, unknown []string }

// says matches the answer in a mode.
func (f found) says(mode string) OmegaMatcher {
	if mode == warn {
		return warnAbout(slices.Concat(f.denied, f.advised, f.unknown)...)
	}
	return says(f.denied, f.advised)
}

var _ = Describe("What is found at creation", func() {
	labelled := func(cluster string) func(*unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) {
			o.SetLabels(map[string]string{clusterv1.ClusterNameLabel: cluster})
		}
	}
	nothing := func(SpecContext, place) {}

	DescribeTable("by the rules that look things up",
		func(ctx SpecContext, prepare func(ctx SpecContext, p place), change func(m *clusterv1.Machine), want found) {
			for _, mode := range []string{warn, enforce} {
				p := newPlace(ctx, mode)
				prepare(ctx, p)
				m := p.machine("m").With(change).Build()
				Eventually(func() answer { return admin.tries(ctx, m) }).WithContext(ctx).Should(want.says(mode), mode)
			}
		},
		Entry("R2", nothing, infra(noContract, "m"), found{denied: []string{"spec.infrastructureRef.kind R2"}}),
		Entry("R4", nothing, infra(notServed, "m"), found{advised: []string{"spec.infrastructureRef.kind R4"}}),
		Entry("R21", nothing, infra(clusterScoped, "m"), found{denied: []string{"spec.infrastructureRef.kind R21"}}),
		Entry("R14, and that the object can't be read", nothing, func(m *clusterv1.Machine) {
			infra(forbidden, "m")(m)
			m.Spec.Bootstrap = clusterv1.Bootstrap{DataSecretName: new("data")}
		}, found{
			advised: []string{"spec.infrastructureRef.kind R14"},
			unknown: []string{"spec.infrastructureRef could not be checked: the manager may not read it"},
		}),
		Entry("R6", func(ctx SpecContext, p place) { p.object(ctx, simulator.SimMachine, "m", labelled("red")) }, same,
			found{denied: []string{"spec.infrastructureRef.name R6"}}),
		Entry("R7, R7a", func(ctx SpecContext, p place) {
			first := p.machine("first").Build()
			Expect(k8s.Create(ctx, first)).To(Succeed())
			p.object(ctx, simulator.SimMachine, "m", ownedBy("cluster.x-k8s.io/v1beta2", "Machine", "first", first.UID))
			p.object(ctx, simulator.SimConfig, "m", ownedBy("cluster.x-k8s.io/v1beta2", "Machine", "gone", "gone"))
		}, same, found{denied: []string{"spec.infrastructureRef.name R7"}, advised: []string{"spec.bootstrap.configRef.name R7a"}}),
		Entry("R7d", func(ctx SpecContext, p place) {
			p.object(ctx, simulator.SimMachine, "m", ownedBy("example.org/v1", "Fleet", "fleet", "fleet"))
		}, same, found{denied: []string{"spec.infrastructureRef.name R7d"}}),
		Entry("R8, R8b", func(ctx SpecContext, p place) {
			p.stored(ctx, p.machine("first").With(infra(simulator.SimMachine, "m")).WithBootstrapRef(simulator.SimConfig, "m").Build(), nil)
		}, same, found{denied: []string{"spec.infrastructureRef.name R8"}, advised: []string{"spec.bootstrap.configRef.name R8b"}}),
		Entry("R17", func(ctx SpecContext, p place) {
			p.stored(ctx, p.machine("first").WithProviderID("sim:///1").Build(), nil)
		}, func(m *clusterv1.Machine) { m.Spec.ProviderID = "sim:///1" }, found{denied: []string{"spec.providerID R17"}}),
		Entry("R13, R13a", nothing, func(m *clusterv1.Machine) { m.Spec.Bootstrap.ConfigRef = m.Spec.InfrastructureRef },
			found{denied: []string{"spec.bootstrap.configRef R13a"}, advised: []string{"spec.bootstrap.configRef.apiGroup R13"}}),
		Entry("R15", nothing, func(m *clusterv1.Machine) { m.Spec.ClusterName = "red" }, found{advised: []string{"spec.clusterName R15"}}),
		Entry("R15a", func(ctx SpecContext, p place) {
			cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "cluster"}}
			merge(ctx, cluster, map[string]any{"metadata": map[string]any{"finalizers": []string{"example.org/hold"}}})
			Expect(k8s.Delete(ctx, cluster)).To(Succeed())
		}, same, found{advised: []string{"spec.clusterName R15a"}}),
		Entry("R16", func(ctx SpecContext, p place) {
			cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "cluster"}}
			mergeStatus(ctx, cluster, map[string]any{"failureDomains": []any{map[string]any{"name": "b"}}})
		}, func(m *clusterv1.Machine) { m.Spec.FailureDomain = "a" }, found{advised: []string{"spec.failureDomain R16"}}),
		Entry("R22", func(ctx SpecContext, p place) {
			o := p.object(ctx, simulator.SimConfig, "m", func(o *unstructured.Unstructured) { o.SetFinalizers([]string{"example.org/hold"}) })
			Expect(k8s.Delete(ctx, o)).To(Succeed())
		}, same, found{advised: []string{"spec.bootstrap.configRef.name R22"}}),
	)
})

func same(*clusterv1.Machine) {}

// running is what the status of a Machine says whose machine exists.
var running = map[string]any{
	"initialization": map[string]any{"infrastructureProvisioned": true}, "nodeRef": map[string]any{"name": "node"},
}

var _ = Describe("What is found in an update", func() {
	DescribeTable("by the rules about changes",
		func(ctx SpecContext, start func(builder.MachineBuilder) builder.MachineBuilder, change func(*clusterv1.Machine), want found) {
			for _, mode := range []string{warn, enforce} {
				p := newPlace(ctx, mode)
				m := p.stored(ctx, start(p.machine("m")).Build(), running)
				dry := admin.changes(ctx, m, change, client.DryRunAll)
				Expect(dry).To(want.says(mode), mode)
				done := admin.changes(ctx, m, change)
				Expect(done).To(want.says(mode), mode)
				Expect(done.Texts).To(Equal(dry.Texts))

				By("having forgotten it when something else changes")
				Expect(admin.changes(ctx, m, func(m *clusterv1.Machine) { m.Annotations = map[string]string{"example.org/new": mode} })).To(saySilently())
				Expect(admin.changes(ctx, m, func(m *clusterv1.Machine) { m.Spec.MinReadySeconds = new(int32(1)) })).To(saySilently())
			}
		},
		Entry("R9", whole, infra(simulator.SimMachine, "n"), found{denied: []string{"spec.infrastructureRef R9"}}),
		Entry("R9b", withData, func(m *clusterv1.Machine) { m.Spec.Bootstrap.ConfigRef.Name = "n" }, found{advised: []string{"spec.bootstrap.configRef R9b"}}),
		Entry("R10d", withData, func(m *clusterv1.Machine) { m.Spec.Bootstrap.ConfigRef = clusterv1.ContractVersionedObjectReference{} },
			found{advised: []string{"spec.bootstrap.configRef R10d"}}),
		Entry("R10e", withData, func(m *clusterv1.Machine) { m.Spec.Bootstrap.DataSecretName = new("other") },
			found{advised: []string{"spec.bootstrap.dataSecretName R10e"}}),
		Entry("R17a", func(b builder.MachineBuilder) builder.MachineBuilder { return b.WithProviderID("sim:///1") },
			func(m *clusterv1.Machine) { m.Spec.ProviderID = "" }, found{advised: []string{"spec.providerID R17a"}}),
		Entry("R1", whole, func(m *clusterv1.Machine) { m.Spec.Bootstrap.ConfigRef.Kind = "Unheard" },
			found{denied: []string{"spec.bootstrap.configRef.kind R1"}}),
	)
})

func whole(b builder.MachineBuilder) builder.MachineBuilder { return b }

func withData(b builder.MachineBuilder) builder.MachineBuilder { return b.WithDataSecretName("data") }

var _ = It("Who may not read an object is not told what is in it", func(ctx SpecContext) {
	p := newPlace(ctx, enforce)
	first := p.stored(ctx, p.machine("first").With(infra(simulator.SimMachine, "m")).Build(), nil)
	p.object(ctx, simulator.SimMachine, "m", ownedBy("cluster.x-k8s.io/v1beta2", "Machine", "first", first.UID), func(o *unstructured.Unstructured) {
		o.SetLabels(map[string]string{clusterv1.ClusterNameLabel: "secret"})
	})
	denied := []string{"spec.infrastructureRef.name R6", "spec.infrastructureRef.name R7", "spec.infrastructureRef.name R8"}
	m := p.machine("m").Build()
	hides := alice.creates(ctx, m)
	// The rules of names that alice may know nothing of end their texts.
	Expect(hides).To(denyFor(denied...))
	Expect(fmt.Sprint(hides.Texts, hides.Err)).NotTo(Or(ContainSubstring("first"), ContainSubstring("secret")))
	tells := admin.creates(ctx, m)
	Expect(tells.Texts).To(ConsistOf(
		ContainSubstring("is labelled for another Cluster: secret (R6)"),
		ContainSubstring("is controlled by another Machine: first (R7)"),
		ContainSubstring("is referenced by another Machine: first (R8)")))
})
