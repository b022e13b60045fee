// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// What the rules of these specs select from.
var (
	gpuMachine        = &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"hardware": "gpu"}}}
	productionCluster = &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"stage": "production"}}}
)

var invalidSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Like"}}}

var _ = Describe("A MachineDrainRule", func() {
	match := func(key, value string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
	}
	named := func(name string, machines ...clusterv1.MachineDrainRuleMachineSelector) clusterv1.MachineDrainRule {
		return clusterv1.MachineDrainRule{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: clusterv1.MachineDrainRuleSpec{
				Drain:    clusterv1.MachineDrainRuleDrainConfig{Behavior: evictIt},
				Machines: machines,
			},
		}
	}

	DescribeTable("selects Machines",
		func(want bool, machines ...clusterv1.MachineDrainRuleMachineSelector) {
			rules, err := rulesFor([]clusterv1.MachineDrainRule{named("a", machines...)}, gpuMachine, productionCluster)
			Expect(err).NotTo(HaveOccurred())
			Expect(rules).To(HaveLen(map[bool]int{true: 1, false: 0}[want]))
		},
		Entry("all, without entries", true),
		Entry("all, by an entry without selectors", true, clusterv1.MachineDrainRuleMachineSelector{}),
		Entry("all, by empty selectors", true,
			clusterv1.MachineDrainRuleMachineSelector{Selector: &metav1.LabelSelector{}, ClusterSelector: &metav1.LabelSelector{}}),
		Entry("by their labels", true, clusterv1.MachineDrainRuleMachineSelector{Selector: match("hardware", "gpu")}),
		Entry("by those of their Cluster", true, clusterv1.MachineDrainRuleMachineSelector{ClusterSelector: match("stage", "production")}),
		Entry("by both", true, clusterv1.MachineDrainRuleMachineSelector{
			Selector: match("hardware", "gpu"), ClusterSelector: match("stage", "production")}),
		Entry("not if only the Machine matches", false, clusterv1.MachineDrainRuleMachineSelector{
			Selector: match("hardware", "gpu"), ClusterSelector: match("stage", "test")}),
		Entry("not if only the Cluster matches", false, clusterv1.MachineDrainRuleMachineSelector{
			Selector: match("hardware", "cpu"), ClusterSelector: match("stage", "production")}),
		Entry("by any entry", true,
			clusterv1.MachineDrainRuleMachineSelector{Selector: match("hardware", "cpu")},
			clusterv1.MachineDrainRuleMachineSelector{Selector: match("hardware", "gpu")}),
		Entry("not by halves of two entries", false,
			clusterv1.MachineDrainRuleMachineSelector{Selector: match("hardware", "gpu"), ClusterSelector: match("stage", "test")},
			clusterv1.MachineDrainRuleMachineSelector{Selector: match("hardware", "cpu"), ClusterSelector: match("stage", "production")}),
	)

	DescribeTable("selects Pods",
		func(want bool, pods ...clusterv1.MachineDrainRulePodSelector) {
			r := named("a")
			r.Spec.Pods = pods
			rules, err := rulesFor([]clusterv1.MachineDrainRule{r}, gpuMachine, productionCluster)
			Expect(err).NotTo(HaveOccurred())
			Expect(rules[0].selects(labels.Set{"app": "web"}, labels.Set{"team": "a"})).To(Equal(want))
		},
		Entry("all, without entries", true),
		Entry("by their labels", true, clusterv1.MachineDrainRulePodSelector{Selector: match("app", "web")}),
		Entry("by those of their Namespace", true, clusterv1.MachineDrainRulePodSelector{NamespaceSelector: match("team", "a")}),
		Entry("not if only the Pod matches", false, clusterv1.MachineDrainRulePodSelector{
			Selector: match("app", "web"), NamespaceSelector: match("team", "b")}),
		Entry("not if only the Namespace matches", false, clusterv1.MachineDrainRulePodSelector{
			Selector: match("app", "db"), NamespaceSelector: match("team", "a")}),
	)

	It("comes in the order of names", func() {
		rules, err := rulesFor([]clusterv1.MachineDrainRule{named("b"), named("c"), named("a")}, gpuMachine, nil)
		Expect(err).NotTo(HaveOccurred())
		Expect([]string{rules[0].name, rules[1].name, rules[2].name}).To(Equal([]string{"a", "b", "c"}))
	})

	It("has an order only if it is to evict", func() {
		first := named("a")
		first.Spec.Drain.Order = new(int32(7))
		second := named("b")
		second.Spec.Drain = clusterv1.MachineDrainRuleDrainConfig{Behavior: waitForIt, Order: new(int32(7))}
		rules, err := rulesFor([]clusterv1.MachineDrainRule{first, second}, gpuMachine, nil)
		Expect(err).NotTo(HaveOccurred())
		Expect([]int32{rules[0].order, rules[1].order}).To(Equal([]int32{7, 0}))
	})

	DescribeTable("with an invalid selector is an error that says where, also if it isn't for the Machine",
		func(change func(*clusterv1.MachineDrainRuleSpec), where string) {
			wrong := named("wrong", clusterv1.MachineDrainRuleMachineSelector{Selector: match("hardware", "cpu")})
			change(&wrong.Spec)
			_, err := rulesFor([]clusterv1.MachineDrainRule{named("right"), wrong}, gpuMachine, productionCluster)
			Expect(err).To(MatchError(HavePrefix(`MachineDrainRule "wrong": ` + where + ": invalid selector: ")))
		},
		Entry("of the Machine", func(s *clusterv1.MachineDrainRuleSpec) {
			s.Machines = append(s.Machines, clusterv1.MachineDrainRuleMachineSelector{Selector: invalidSelector})
		}, "spec.machines[1]"),
		Entry("of the Cluster", func(s *clusterv1.MachineDrainRuleSpec) { s.Machines[0].ClusterSelector = invalidSelector }, "spec.machines[0]"),
		Entry("of the Pod", func(s *clusterv1.MachineDrainRuleSpec) {
			s.Pods = []clusterv1.MachineDrainRulePodSelector{{Selector: invalidSelector}}
		}, "spec.pods[0]"),
		Entry("of the Namespace", func(s *clusterv1.MachineDrainRuleSpec) {
			s.Pods = []clusterv1.MachineDrainRulePodSelector{{NamespaceSelector: invalidSelector}}
		}, "spec.pods[0]"),
	)
})
