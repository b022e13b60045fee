// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/webhooks/machine"
	"github.com/machinist-dev/machinist/webhooks/meter"
)

// counted returns what the meter has counted of rules, each as "operation outcome rule": how often.
func counted(m *meter.Meter) map[string]int {
	GinkgoHelper()
	registry := prometheus.NewPedanticRegistry()
	Expect(registry.Register(m)).To(Succeed())
	families, err := registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	counts := map[string]int{}
	for _, family := range families {
		Expect(family.GetName()).To(Equal("machinist_reference_validation_rules_total"))
		for _, metric := range family.GetMetric() {
			var labels []string
			for _, label := range metric.GetLabel() { // which are sorted by their names
				labels = append(labels, label.GetValue())
			}
			counts[strings.Join(labels, " ")] = int(metric.GetCounter().GetValue())
		}
	}
	return counts
}

// bothWays has the Machine created, and made of one that breaks no rule.
func bothWays(ctx SpecContext, o machine.Options, m *clusterv1.Machine) map[string]int {
	GinkgoHelper()
	o.Meter = meter.New()
	v := &machine.Validator{Options: o}
	_, _ = v.ValidateCreate(ctx, m) // what comes of it is the matter of others
	_, _ = v.ValidateUpdate(ctx, valid.Build(), m)
	return counted(o.Meter)
}

var _ = DescribeTable("What comes of the rules that Cluster API does not have is counted:",
	func(ctx SpecContext, given change, created, updated map[string]string) {
		want := map[string]int{}
		for rule, outcome := range created {
			want["create "+outcome+" "+rule] = 1
		}
		for rule, outcome := range updated {
			want["update "+outcome+" "+rule] = 1
		}
		Expect(bothWays(ctx, machine.Options{}, valid.With(given).Build())).To(Equal(want))
		Expect(bothWays(ctx, machine.Options{WithoutReferenceRules: true}, valid.With(given).Build())).To(BeEmpty(), "they are turned off")
	},
	Entry("nothing found", func(*clusterv1.Machine) {},
		map[string]string{"R3": "allow", "R12": "allow", "R18": "allow", "R18a": "allow"}, nil),
	Entry("nothing found in what has changed", gates("MyReady"),
		map[string]string{"R3": "allow", "R12": "allow", "R18": "allow", "R18a": "allow"}, map[string]string{"R18": "allow", "R18a": "allow"}),
	Entry("a template", infraKind("infrastructure.cluster.x-k8s.io", "SimMachineTemplate"),
		map[string]string{"R3": "deny", "R12": "allow", "R18": "allow", "R18a": "allow"}, map[string]string{"R3": "deny", "R12": "allow"}),
	Entry("a core kind", configKind("cluster.x-k8s.io", "Machine"),
		map[string]string{"R3": "allow", "R12": "deny", "R18": "allow", "R18a": "allow"}, map[string]string{"R3": "allow", "R12": "deny"}),
	Entry("gates", all(contradicts("Deleting"), func(m *clusterv1.Machine) {
		m.Spec.ReadinessGates = append(m.Spec.ReadinessGates, clusterv1.MachineReadinessGate{ConditionType: "Ready"})
	}), map[string]string{"R3": "allow", "R12": "allow", "R18": "deny", "R18a": "warn"}, map[string]string{"R18": "deny", "R18a": "warn"}),
	Entry("exempt from one", all(breaks, skip("R3")),
		map[string]string{"R3": "skipped", "R12": "deny", "R18": "deny", "R18a": "allow"}, map[string]string{"R3": "skipped", "R12": "deny", "R18": "deny", "R18a": "allow"}),
	Entry("exempt from all", all(breaks, skip("all")),
		map[string]string{"R3": "skipped", "R12": "skipped", "R18": "skipped", "R18a": "skipped"},
		map[string]string{"R3": "skipped", "R12": "skipped", "R18": "skipped", "R18a": "skipped"}),
	Entry("exempt, and nothing else", skip("all"),
		map[string]string{"R3": "skipped", "R12": "skipped", "R18": "skipped", "R18a": "skipped"}, nil),
)

var _ = It("Of a Machine that keeps what it has, or is being deleted, nothing is counted", func(ctx SpecContext) {
	counts := meter.New()
	v := &machine.Validator{Options: machine.Options{Meter: counts}}
	_, err := v.ValidateUpdate(ctx, valid.With(breaks).Build(), valid.With(breaks).With(label("a", "b")).Build())
	Expect(err).NotTo(HaveOccurred())
	_, err = v.ValidateUpdate(ctx, valid.With(deleting).Build(), valid.With(all(deleting, breaks)).Build())
	Expect(err).NotTo(HaveOccurred())
	Expect(counted(counts)).To(BeEmpty())
})

var _ = It("The webhooks of Machine ask for something that counts", func() {
	Expect(machine.SetupWithManager(nil, machine.Options{})).To(MatchError(ContainSubstring("set Options.Meter")))
})
