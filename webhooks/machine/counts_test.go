// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"strings"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

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

var _ = DescribeTable("What comes of the rules that Cluster API does not have is counted, once for each part that they judge:",
	func(ctx SpecContext, given change, created, updated map[string]int) {
		want := map[string]int{}
		for what, count := range created {
			want["create "+what] = count
		}
		for what, count := range updated {
			want["update "+what] = count
		}
		Expect(bothWays(ctx, machine.Options{}, valid.With(given).Build())).To(Equal(want))
		Expect(bothWays(ctx, machine.Options{WithoutReferenceRules: true}, valid.With(given).Build())).To(BeEmpty(), "they are turned off")
	},
	Entry("nothing found", func(*clusterv1.Machine) {},
		map[string]int{"allow R3": 2, "allow R12": 2, "allow R18": 1, "allow R18a": 1}, nil),
	Entry("nothing found in what has changed", gates("MyReady"),
		map[string]int{"allow R3": 2, "allow R12": 2, "allow R18": 1, "allow R18a": 1}, map[string]int{"allow R18": 1, "allow R18a": 1}),
	Entry("a template", infraKind("infrastructure.cluster.x-k8s.io", "SimMachineTemplate"),
		map[string]int{"deny R3": 1, "allow R3": 1, "allow R12": 2, "allow R18": 1, "allow R18a": 1}, map[string]int{"deny R3": 1, "allow R12": 1}),
	Entry("two templates", all(infraKind("example.org", "OneTemplate"), configKind("example.org", "OtherTemplate")),
		map[string]int{"deny R3": 2, "allow R12": 2, "allow R18": 1, "allow R18a": 1}, map[string]int{"deny R3": 2, "allow R12": 2}),
	Entry("a core kind", configKind("cluster.x-k8s.io", "Machine"),
		map[string]int{"allow R3": 2, "deny R12": 1, "allow R12": 1, "allow R18": 1, "allow R18a": 1}, map[string]int{"allow R3": 1, "deny R12": 1}),
	Entry("gates", all(contradicts("Deleting"), func(m *clusterv1.Machine) {
		m.Spec.ReadinessGates = append(m.Spec.ReadinessGates, clusterv1.MachineReadinessGate{ConditionType: "Ready"})
	}), map[string]int{"allow R3": 2, "allow R12": 2, "deny R18": 1, "warn R18a": 1}, map[string]int{"deny R18": 1, "warn R18a": 1}),
	Entry("exempt from one", all(breaks, skip("R3")),
		map[string]int{"skipped R3": 2, "deny R12": 1, "allow R12": 1, "deny R18": 1, "allow R18a": 1},
		map[string]int{"skipped R3": 1, "deny R12": 1, "deny R18": 1, "allow R18a": 1}),
	Entry("exempt from all", all(breaks, skip("all")),
		map[string]int{"skipped R3": 2, "skipped R12": 2, "skipped R18": 1, "skipped R18a": 1},
		map[string]int{"skipped R3": 1, "skipped R12": 1, "skipped R18": 1, "skipped R18a": 1}),
	Entry("exempt, and nothing else", skip("all"),
		map[string]int{"skipped R3": 2, "skipped R12": 2, "skipped R18": 1, "skipped R18a": 1}, nil),
)

// logged returns what is logged while the Machine is created, by a dry run.
func logged(ctx SpecContext, m *clusterv1.Machine) []string {
	GinkgoHelper()
	var lines []string
	logger := funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})
	request := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{DryRun: new(true)}}
	_, _ = strict.ValidateCreate(admission.NewContextWithRequest(ctrl.LoggerInto(ctx, logger), request), m) // what comes of it is the matter of others
	return lines
}

var _ = It("What they deny, warn about, and are kept from is logged", func(ctx SpecContext) {
	const how = `"operation"="CREATE" "dryRun"=true`
	gated := all(contradicts("Deleting"), infraKind("infrastructure.cluster.x-k8s.io", "SimMachineTemplate"))
	Expect(logged(ctx, valid.With(gated).Build())).To(HaveExactElements(
		SatisfyAll(ContainSubstring(`"msg"="A rule of admission denies a Machine"`), ContainSubstring(how),
			ContainSubstring(`"rule"="R3" "field"="spec.infrastructureRef.kind" "problem"="must not be a template`)),
		SatisfyAll(ContainSubstring(`"msg"="A rule of admission warns about a Machine"`), ContainSubstring(how),
			ContainSubstring(`"rule"="R18a" "field"="spec.readinessGates[0].polarity" "problem"="Deleting is negative`))))
	Expect(logged(ctx, valid.With(all(gated, skip("all"))).Build())).To(HaveExactElements(
		SatisfyAll(ContainSubstring(`"msg"="Rules of admission are skipped"`), ContainSubstring(how), ContainSubstring(`"rules"=["R3" "R12" "R18" "R18a"]`))))
	Expect(logged(ctx, valid.Build())).To(BeEmpty())
})

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
