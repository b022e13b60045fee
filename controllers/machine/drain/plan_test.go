// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

var _ = Describe("A plan", func() {
	judgedPod := func(name string, behavior clusterv1.MachineDrainRuleDrainBehavior, order int32, changes ...change) judged {
		return judged{Pod: aPod(name, changes...), decision: decision{behavior: behavior, order: order}}
	}
	names := func(pods []judged) []string { return fullNames(pods) }

	It("lets the lowest order have its turn", func() {
		p := newPlan([]judged{
			judgedPod("second", evictIt, 1), judgedPod("first", evictIt, -3), judgedPod("too", evictIt, -3), judgedPod("wait", waitForIt, 0),
		})
		Expect(names(p.evict)).To(Equal([]string{"default/first", "default/too"}))
		Expect(names(p.evictLater)).To(Equal([]string{"default/second"}))
		Expect(names(p.waitLater)).To(Equal([]string{"default/wait"}))
		Expect(p.wait).To(BeEmpty())
	})

	It("counts the order of what is to be waited for, and of what is going already", func() {
		Expect(newPlan([]judged{judgedPod("wait", waitForIt, 0), judgedPod("later", evictIt, 1)}).evict).To(BeEmpty())
		p := newPlan([]judged{judgedPod("going", evictIt, 0, deletedAt(now)), judgedPod("later", evictIt, 1)})
		Expect(p.evict).To(BeEmpty())
		Expect(names(p.terminating)).To(Equal([]string{"default/going"}))
		Expect(names(p.evictLater)).To(Equal([]string{"default/later"}))
	})

	It("has no Pods that are skipped, nor their order", func() {
		p := newPlan([]judged{judgedPod("skipped", skipIt, -5), judgedPod("evicted", evictIt, 2)})
		Expect(names(p.evict)).To(Equal([]string{"default/evicted"}))
	})

	It("waits for a Pod to complete, also if it is being deleted, and no longer", func() {
		Expect(names(newPlan([]judged{judgedPod("a", waitForIt, 0, deletedAt(now))}).wait)).To(Equal([]string{"default/a"}))
		for _, phase := range []corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed} {
			p := newPlan([]judged{judgedPod("a", waitForIt, 0, inPhase(phase)), judgedPod("b", evictIt, 1)})
			Expect(p.wait).To(BeEmpty())
			Expect(names(p.evict)).To(Equal([]string{"default/b"}), "what is done with holds nobody up")
		}
	})

	It("is in order of names", func() {
		s := &situation{}
		pods, err := s.judge([]corev1.Pod{*aPod("b"), *aPod("c"), *aPod("a")})
		Expect(err).NotTo(HaveOccurred())
		Expect(names(newPlan(pods).evict)).To(Equal([]string{"default/a", "default/b", "default/c"}))
	})

	It("forgets no Pod, and always has something that goes on", func() {
		pods := rapid.SliceOf(rapid.Custom(func(t *rapid.T) judged {
			behavior := rapid.SampledFrom([]clusterv1.MachineDrainRuleDrainBehavior{evictIt, skipIt, waitForIt}).Draw(t, "behavior")
			order := int32(0)
			if behavior == evictIt {
				order = rapid.Int32().Draw(t, "order")
			}
			phase := rapid.SampledFrom([]corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed}).Draw(t, "phase")
			changes := []change{inPhase(phase)}
			if rapid.Bool().Draw(t, "deleted") {
				changes = append(changes, deletedAt(now))
			}
			return judgedPod("pod", behavior, order, changes...)
		}))
		rapid.Check(GinkgoT(), func(t *rapid.T) {
			all := pods.Draw(t, "pods")
			g := NewWithT(t)
			p := newPlan(all)
			for _, pod := range all {
				lists := 0
				for _, list := range [][]judged{p.evict, p.evictLater, p.terminating, p.wait, p.waitLater} {
					if slices.ContainsFunc(list, func(other judged) bool { return other.Pod == pod.Pod }) {
						lists++
					}
				}
				left := pod.behavior == evictIt || pod.behavior == waitForIt && !finished(pod.Pod)
				g.Expect(lists).To(Equal(map[bool]int{true: 1, false: 0}[left]))
			}
			for _, now := range slices.Concat(p.evict, p.wait) {
				for _, later := range slices.Concat(p.evictLater, p.waitLater) {
					g.Expect(now.order).To(BeNumerically("<", later.order))
				}
			}
			if len(p.evictLater)+len(p.waitLater) > 0 {
				g.Expect(slices.Concat(p.evict, p.wait, p.terminating)).NotTo(BeEmpty())
			}
		})
	})
})

// started is in a time zone of its own: messages must not depend on where the manager runs.
var started = time.Date(2026, 11, 30, 13, 4, 5, 0, time.FixedZone("elsewhere", 3600))

var _ = Describe("The message of a drain", func() {
	DescribeTable("says what is left",
		func(p progress, want string) {
			Expect(p.message(started)).To(Equal(want))
		},
		Entry("nothing", progress{}, ""),
		Entry("nothing, in other words", progress{failed: map[string][]string{}, wait: []string{}}, ""),
		Entry("something of each", progress{
			terminating: []string{"ns/a", "ns/b"},
			failed: map[string][]string{
				"Cannot evict pod as it would violate the pod's disruption budget. The disruption budget web needs 20 healthy pods and has 20 currently": {"ns/c"},
				"some other error": {"ns/d"},
			},
			evictLater: []string{"ns/e", "ns/f"},
		}, `Drain not completed yet (started at 2026-11-30T12:04:05Z):
* Pods ns/a, ns/b: deletionTimestamp set, but still not removed from the Node
* Pod ns/c: cannot evict pod as it would violate the pod's disruption budget. The disruption budget web needs 20 healthy pods and has 20 currently
* Pod ns/d: failed to evict Pod, some other error
After above Pods have been removed from the Node, the following Pods will be evicted: ns/e, ns/f`),
		Entry("much of each", progress{
			terminating: manyNames(10),
			failed: map[string][]string{
				"Cannot evict pod as it would violate the pod's disruption budget.": manyNames(4),
				"error 1": manyNames(1), "error 2": manyNames(2), "error 3": manyNames(3), "error 4": manyNames(5), "error 5": manyNames(1),
			},
			wait:       manyNames(4),
			evictLater: manyNames(5),
			waitLater:  manyNames(6),
		}, `Drain not completed yet (started at 2026-11-30T12:04:05Z):
* Pods ns/0, ns/1, ns/2, ... (7 more): deletionTimestamp set, but still not removed from the Node
* Pods ns/0, ns/1, ns/2, ... (1 more): cannot evict pod as it would violate the pod's disruption budget.
* Pod ns/0: failed to evict Pod, error 1
* Pods ns/0, ns/1: failed to evict Pod, error 2
* Pods ns/0, ns/1, ns/2: failed to evict Pod, error 3
* Pods ns/0, ns/1, ns/2, ... (2 more): failed to evict Pod, error 4
* 1 Pod with other issues
* Pods ns/0, ns/1, ns/2, ... (1 more): waiting for completion
After above Pods have been removed from the Node, the following Pods will be evicted: ns/0, ns/1, ns/2, ... (2 more)
After above Pods have been removed from the Node, waiting for the following Pods to complete without eviction: ns/0, ns/1, ns/2, ... (3 more)`),
		Entry("more failures than lines", progress{failed: map[string][]string{
			"1": manyNames(1), "2": manyNames(1), "3": manyNames(1), "4": manyNames(1), "5": manyNames(1), "6": manyNames(3), "7": manyNames(1),
		}}, `Drain not completed yet (started at 2026-11-30T12:04:05Z):
* Pod ns/0: failed to evict Pod, 1
* Pod ns/0: failed to evict Pod, 2
* Pod ns/0: failed to evict Pod, 3
* Pod ns/0: failed to evict Pod, 4
* Pod ns/0: failed to evict Pod, 5
* 4 Pods with other issues`),
	)
})

func manyNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("ns/%d", i)
	}
	return names
}
