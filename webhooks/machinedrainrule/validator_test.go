// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machinedrainrule_test

import (
	"errors"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/webhooks/machinedrainrule"
)

func TestMachineDrainRuleWebhook(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Webhook of MachineDrainRule")
}

type change = func(*clusterv1.MachineDrainRule)

// rule returns one that breaks nothing, but for the changes.
func rule(changes ...change) *clusterv1.MachineDrainRule {
	r := &clusterv1.MachineDrainRule{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "r"},
		Spec: clusterv1.MachineDrainRuleSpec{
			Drain: clusterv1.MachineDrainRuleDrainConfig{Behavior: clusterv1.MachineDrainRuleDrainBehaviorDrain, Order: new(int32(7))},
			Machines: []clusterv1.MachineDrainRuleMachineSelector{
				{}, {Selector: selector("a", "In", "b"), ClusterSelector: selector("a", "Exists")},
			},
			Pods: []clusterv1.MachineDrainRulePodSelector{
				{}, {Selector: selector("a", "NotIn", "b"), NamespaceSelector: selector("a", "DoesNotExist")},
			},
		},
	}
	for _, c := range changes {
		c(r)
	}
	return r
}

func selector(key string, operator metav1.LabelSelectorOperator, values ...string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: operator, Values: values}}}
}

func deleting(r *clusterv1.MachineDrainRule) {
	r.DeletionTimestamp, r.Finalizers = new(metav1.Now()), []string{"example.org/a"}
}

func drain(behavior clusterv1.MachineDrainRuleDrainBehavior, order *int32) change {
	return func(r *clusterv1.MachineDrainRule) {
		r.Spec.Drain = clusterv1.MachineDrainRuleDrainConfig{Behavior: behavior, Order: order}
	}
}

func causes(err error) []string {
	GinkgoHelper()
	if err == nil {
		return nil
	}
	status, ok := errors.AsType[*apierrors.StatusError](err)
	Expect(ok).To(BeTrue(), "an error that the API server can pass on, not %T", err)
	Expect(status.Status().Code).To(BeEquivalentTo(422))
	Expect(status.Status().Details).To(And(HaveField("Group", "cluster.x-k8s.io"), HaveField("Kind", "MachineDrainRule"), HaveField("Name", "r")))
	var all []string
	for _, cause := range status.Status().Details.Causes {
		all = append(all, cause.Field+": "+cause.Message)
	}
	return all
}

const (
	ordered = `spec.drain.order: Invalid value: 7: order must not be set if drain behavior is "Skip" or "WaitCompleted"`
	like    = `: Invalid value: {"matchExpressions":[{"key":"a","operator":"Like"}]}: "Like" is not a valid label selector operator`
	empty   = `: Invalid value: {"matchExpressions":[{"key":"a","operator":"In"}]}: values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty`
)

var _ = DescribeTable("A MachineDrainRule is refused",
	func(ctx SpecContext, violate change, want ...string) {
		var hook machinedrainrule.Validator
		matchers := make([]any, 0, len(want))
		for _, text := range want {
			matchers = append(matchers, HavePrefix(text))
		}
		refused := HaveExactElements(matchers...)

		By("creating it")
		_, err := hook.ValidateCreate(ctx, rule(violate))
		Expect(causes(err)).To(refused)

		By("changing one that was right")
		_, err = hook.ValidateUpdate(ctx, rule(), rule(violate))
		Expect(causes(err)).To(refused)

		By("changing something else of one that is stored")
		_, err = hook.ValidateUpdate(ctx, rule(violate), rule(violate, func(r *clusterv1.MachineDrainRule) {
			r.Labels, r.Finalizers = map[string]string{"a": "b"}, []string{"example.org/a"}
			r.Spec.Pods = append(r.Spec.Pods, clusterv1.MachineDrainRulePodSelector{Selector: selector("b", "Exists")})
			r.Spec.Machines = r.Spec.Machines[1:] // which moves the others
		}))
		Expect(causes(err)).To(BeEmpty())

		By("correcting it")
		_, err = hook.ValidateUpdate(ctx, rule(violate), rule())
		Expect(causes(err)).To(BeEmpty())

		By("deleting it")
		_, err = hook.ValidateUpdate(ctx, rule(deleting), rule(deleting, violate))
		Expect(causes(err)).To(BeEmpty())
		_, err = hook.ValidateDelete(ctx, rule(violate))
		Expect(err).NotTo(HaveOccurred())
	},
	Entry("an order without a drain: Skip", drain(clusterv1.MachineDrainRuleDrainBehaviorSkip, new(int32(7))), ordered),
	Entry("an order without a drain: WaitCompleted", drain(clusterv1.MachineDrainRuleDrainBehaviorWaitCompleted, new(int32(7))), ordered),
	Entry("selectors that can't be read", func(r *clusterv1.MachineDrainRule) {
		r.Spec.Machines[1].Selector, r.Spec.Machines[1].ClusterSelector = selector("a", "Like"), selector("a", "In")
		r.Spec.Pods[1].Selector, r.Spec.Pods[1].NamespaceSelector = selector("a", "Like"), selector("a", "Like")
	}, "spec.machines[1].selector"+like, "spec.machines[1].clusterSelector"+empty, "spec.pods[1].selector"+like, "spec.pods[1].namespaceSelector"+like),
	Entry("a selector of labels that are none", func(r *clusterv1.MachineDrainRule) {
		r.Spec.Pods[1].Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "-"}}
	}, `spec.pods[1].selector: Invalid value: {"matchLabels":{"a":"-"}}: values[0][a]: Invalid value: "-": a valid label must `),
)

var _ = DescribeTable("A MachineDrainRule is stored",
	func(ctx SpecContext, given change) {
		_, err := machinedrainrule.Validator{}.ValidateCreate(ctx, rule(given))
		Expect(causes(err)).To(BeEmpty())
		_, err = machinedrainrule.Validator{}.ValidateUpdate(ctx, rule(), rule(given))
		Expect(causes(err)).To(BeEmpty())
	},
	Entry("with an order", func(*clusterv1.MachineDrainRule) {}),
	Entry("that drains without an order", drain(clusterv1.MachineDrainRuleDrainBehaviorDrain, nil)),
	Entry("that skips", drain(clusterv1.MachineDrainRuleDrainBehaviorSkip, nil)),
	Entry("that waits", drain(clusterv1.MachineDrainRuleDrainBehaviorWaitCompleted, nil)),
	Entry("for all Machines and Pods", func(r *clusterv1.MachineDrainRule) { r.Spec.Machines, r.Spec.Pods = nil, nil }),
	Entry("with empty selectors", func(r *clusterv1.MachineDrainRule) {
		r.Spec.Machines[1].Selector, r.Spec.Pods[1].Selector = &metav1.LabelSelector{}, &metav1.LabelSelector{}
	}),
)

var _ = Describe("A stored MachineDrainRule with an order that it must not have", func() {
	It("can't get another one", func(ctx SpecContext) {
		skips := clusterv1.MachineDrainRuleDrainBehaviorSkip
		_, err := machinedrainrule.Validator{}.ValidateUpdate(ctx, rule(drain(skips, new(int32(3)))), rule(drain(skips, new(int32(7)))))
		Expect(causes(err)).To(ConsistOf(ordered))
	})
})
