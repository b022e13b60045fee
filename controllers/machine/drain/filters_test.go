// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// Decisions without an order and a warning.
var (
	evicted = decision{behavior: evictIt}
	skipped = decision{behavior: skipIt}
	awaited = decision{behavior: waitForIt}
)

var _ = Describe("A Pod", func() {
	warned := func(d decision, warnings ...string) decision {
		d.warnings = warnings
		return d
	}

	decide := func(s *situation, pod *corev1.Pod) decision {
		GinkgoHelper()
		s.now = now
		if s.daemonSets == nil {
			s.daemonSets = map[types.NamespacedName]bool{{Namespace: "default", Name: "agent"}: true}
		}
		d, err := s.decide(pod)
		Expect(err).NotTo(HaveOccurred())
		return d
	}

	DescribeTable("by what it is",
		func(want decision, changes ...change) {
			Expect(decide(&situation{}, aPod("a", changes...))).To(Equal(want))
		},
		Entry("running, of a ReplicaSet", evicted),
		Entry("of a DaemonSet", warned(skipped, "ignoring DaemonSet-managed Pod"), ofDaemonSet("agent")),
		Entry("of a DaemonSet, finished", evicted, ofDaemonSet("agent"), inPhase(corev1.PodSucceeded)),
		Entry("of a DaemonSet, failed", evicted, ofDaemonSet("agent"), inPhase(corev1.PodFailed)),
		Entry("of a DaemonSet that is gone", warned(evicted, "evicting orphaned DaemonSet-managed Pod"), ofDaemonSet("gone")),
		Entry("static", skipped, mirror),
		Entry("static, although its phase is final", skipped, mirror, inPhase(corev1.PodFailed)),
		Entry("with local storage", warned(evicted, "evicting Pod with local storage"), withEmptyDir),
		Entry("with local storage, finished", evicted, withEmptyDir, inPhase(corev1.PodSucceeded)),
		Entry("with a volume that is not local", evicted, withClaim("data")),
		Entry("without a controller", warned(evicted, "evicting Pod that has no controller"), change(withoutController)),
		Entry("without a controller, finished", evicted, change(withoutController), inPhase(corev1.PodFailed)),
		Entry("with several warnings", warned(evicted, "evicting Pod with local storage", "evicting Pod that has no controller"),
			change(withEmptyDir), change(withoutController)),
		Entry("being deleted", evicted, deletedAt(now.Add(-time.Hour))),
	)

	It("joins its warnings", func() {
		Expect(decision{warnings: []string{"a", "b"}}.warning()).To(Equal("a, b"))
	})

	It("is evicted if an owner of it is a DaemonSet but doesn't control it", func() {
		pod := aPod("a", ofDaemonSet("agent"))
		pod.OwnerReferences[0].Controller = nil
		Expect(decide(&situation{}, pod).behavior).To(Equal(evictIt))
	})

	DescribeTable("by its label",
		func(value string, want decision) {
			Expect(decide(&situation{}, aPod("a", labelled(clusterv1.PodDrainLabel, value)))).To(Equal(want))
		},
		Entry(nil, "skip", skipped),
		Entry(nil, "Skip", skipped),
		Entry(nil, "SKIP", skipped),
		Entry(nil, "s-kip", evicted),
		Entry(nil, "wait-completed", awaited),
		Entry(nil, "WaitCompleted", awaited),
		Entry(nil, "waitcompleted", awaited),
		Entry(nil, "Wait-Completed", awaited),
		Entry(nil, "wait--completed", evicted),
		Entry(nil, "drain", evicted),
		Entry(nil, "", evicted),
	)

	DescribeTable("by the time since it should have been gone",
		func(patience, since time.Duration, want decision) {
			Expect(decide(&situation{patience: patience}, aPod("a", deletedAt(now.Add(-since))))).To(Equal(want))
		},
		Entry("the kubelet is there", time.Duration(0), time.Hour, evicted),
		Entry("no patience left", time.Second, 2*time.Second, skipped),
		Entry("just not", time.Second, time.Second, evicted),
		Entry("still within its grace period", time.Second, -10*time.Second, evicted),
	)

	It("that isn't being deleted is evicted however little patience there is", func() {
		Expect(decide(&situation{patience: time.Second}, aPod("a"))).To(Equal(evicted))
	})

	Context("with MachineDrainRules", func() {
		rules := func(rules ...rule) *situation {
			return &situation{rules: rules, namespaces: map[string]labels.Set{"default": {"team": "a"}}}
		}
		selecting := func(object, owner string) []pair {
			return []pair{{object: selector(object), owner: selector(owner)}}
		}

		DescribeTable("is treated as the first one that selects it says",
			func(want decision, s *situation, changes ...change) {
				Expect(decide(s, aPod("a", append(changes, labelled("app", "web"))...))).To(Equal(want))
			},
			Entry("order", decision{behavior: evictIt, order: -7}, rules(rule{behavior: evictIt, order: -7})),
			Entry("skip", skipped, rules(rule{behavior: skipIt})),
			Entry("wait", awaited, rules(rule{behavior: waitForIt})),
			Entry("the first", skipped, rules(rule{behavior: skipIt}, rule{behavior: waitForIt})),
			Entry("by the Pod's labels", awaited,
				rules(rule{behavior: skipIt, pods: selecting("app=db", "")}, rule{behavior: waitForIt, pods: selecting("app=web", "")})),
			Entry("by the Namespace's labels", awaited,
				rules(rule{behavior: skipIt, pods: selecting("", "team=b")}, rule{behavior: waitForIt, pods: selecting("", "team=a")})),
			Entry("none", evicted, rules(rule{behavior: skipIt, pods: selecting("app=db", "")})),
			Entry("its own label wins", awaited, rules(rule{behavior: skipIt}), labelled(clusterv1.PodDrainLabel, "wait-completed")),
			Entry("a label that means nothing doesn't", skipped, rules(rule{behavior: skipIt}), labelled(clusterv1.PodDrainLabel, "drain")),
			Entry("a rule to evict doesn't reach a DaemonSet's Pods", warned(skipped, "ignoring DaemonSet-managed Pod"),
				rules(rule{behavior: evictIt}), ofDaemonSet("agent")),
			Entry("warnings stay", warned(skipped, "evicting Pod that has no controller"), rules(rule{behavior: skipIt}), change(withoutController)),
		)

		DescribeTable("is an error that names the Pod",
			func(s *situation, want string) {
				web, other := aPod("b"), aPod("a")
				_, err := s.judge([]corev1.Pod{*web, *other})
				Expect(err).To(MatchError(want))
			},
			Entry("if its Namespace isn't there", &situation{rules: []rule{{behavior: skipIt}}},
				`failed to get Pods for eviction: Pods with error "Pod Namespace does not exist": default/a, default/b`),
			Entry("if the rule wants what nobody knows", rules(rule{name: "odd", behavior: "Drown"}),
				`failed to get Pods for eviction: Pods with error "MachineDrainRule \"odd\" has unknown spec.drain.behavior: \"Drown\"": default/a, default/b`),
		)

		It("needs no Namespace without rules", func() {
			Expect(decide(&situation{}, aPod("a"))).To(Equal(evicted))
		})
	})
})

func selector(text string) labels.Selector {
	parsed, err := labels.Parse(text)
	if err != nil {
		panic(err)
	}
	return parsed
}
