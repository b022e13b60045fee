// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	simulator "github.com/machinist-dev/machinist/test/simulator/workload"
)

const heading = "Drain not completed yet (started at 2026-11-30T12:04:05Z):\n"

var _ = DescribeTableSubtree("A drain in a cluster that is", func(kind string) {
	var w *world

	BeforeEach(func(ctx SpecContext) { w = clusters[kind](ctx) })

	It("is done if there is no Node", func(ctx SpecContext) {
		Expect(w.Delete(ctx, w.node(ctx))).To(Succeed())
		Expect(w.drain(ctx)).To(BeEmpty())
	})

	It("cordons the Node, once, also if there are no Pods", func(ctx SpecContext) {
		Expect(w.drain(ctx)).To(BeEmpty())
		cordoned := w.node(ctx)
		Expect(cordoned.Spec.Unschedulable).To(BeTrue())
		Expect(w.drain(ctx)).To(BeEmpty())
		Expect(w.node(ctx).ResourceVersion).To(Equal(cordoned.ResourceVersion))
	})

	It("evicts Pods, of this Node only, and is done when they are gone", func(ctx SpecContext) {
		b, a := w.run(ctx, "b"), w.run(ctx, "a")
		other := aPod("other")
		other.Namespace, other.Spec.NodeName = w.namespace, "another"
		Expect(w.Create(ctx, other)).To(Succeed())

		Expect(w.drain(ctx)).To(Equal(heading +
			fmt.Sprintf("* Pods %s/a, %s/b: deletionTimestamp set, but still not removed from the Node", w.namespace, w.namespace)))
		Expect(w.isDeleting(ctx, a)).To(BeTrue())
		Expect(w.isDeleting(ctx, other)).To(BeFalse())

		w.end(ctx, a)
		Expect(w.drain(ctx)).To(Equal(heading +
			fmt.Sprintf("* Pod %s/b: deletionTimestamp set, but still not removed from the Node", w.namespace)))
		w.end(ctx, b)
		Expect(w.drain(ctx)).To(BeEmpty())
	})

	It("leaves alone what shall stay", func(ctx SpecContext) {
		daemonSet(ctx, w)
		agent := w.run(ctx, "agent", ofDaemonSet("agent"))
		orphan := w.run(ctx, "orphan", ofDaemonSet("gone"))
		skipped := w.run(ctx, "skipped", labelled(clusterv1.PodDrainLabel, "skip"))

		Expect(w.drain(ctx)).To(ContainSubstring("* Pod %s/orphan: deletionTimestamp", w.namespace))
		Expect(w.isDeleting(ctx, agent)).To(BeFalse())
		Expect(w.isDeleting(ctx, skipped)).To(BeFalse())
		w.end(ctx, orphan)
		Expect(w.drain(ctx)).To(BeEmpty())
	})

	It("goes by the order of the MachineDrainRules", func(ctx SpecContext) {
		w.rule(ctx, "db", evictIt, new(int32(5)))
		w.rule(ctx, "job", waitForIt, nil)
		db, web, job := w.run(ctx, "db", ofApp("db")), w.run(ctx, "web", ofApp("web")), w.run(ctx, "job", ofApp("job"))

		Expect(w.drain(ctx)).To(Equal(heading + strings.ReplaceAll(`* Pod NS/web: deletionTimestamp set, but still not removed from the Node
* Pod NS/job: waiting for completion
After above Pods have been removed from the Node, the following Pods will be evicted: NS/db`, "NS", w.namespace)))
		w.end(ctx, web)
		Expect(w.drain(ctx)).To(ContainSubstring("the following Pods will be evicted: %s/db", w.namespace))
		Expect(w.isDeleting(ctx, db)).To(BeFalse())

		job.Status.Phase = corev1.PodSucceeded
		Expect(w.Status().Update(ctx, job)).To(Succeed())
		Expect(w.drain(ctx)).To(Equal(heading + fmt.Sprintf("* Pod %s/db: deletionTimestamp set, but still not removed from the Node", w.namespace)))
		Expect(w.isDeleting(ctx, job)).To(BeFalse())
	})

	It("says which budget holds which Pod, and tries again each time", func(ctx SpecContext) {
		budget := w.budget(ctx, "web")
		first, second, free := w.run(ctx, "web-1", ofApp("web")), w.run(ctx, "web-2", ofApp("web")), w.run(ctx, "free")
		Expect(w.drain(ctx)).To(Equal(heading + strings.ReplaceAll(`* Pod NS/free: deletionTimestamp set, but still not removed from the Node
* Pods NS/web-1, NS/web-2: cannot evict pod as it would violate the pod's disruption budget. The disruption budget web needs 2 healthy pods and has 2 currently`, "NS", w.namespace)))
		Expect(w.isDeleting(ctx, free)).To(BeTrue())
		Expect(w.isDeleting(ctx, first)).To(BeFalse())

		w.allow(ctx, budget, 1)
		Expect(w.drain(ctx)).To(ContainSubstring("* Pod %s/web-2: cannot evict pod", w.namespace))
		Expect(w.isDeleting(ctx, first)).To(BeTrue())
		Expect(w.isDeleting(ctx, second)).To(BeFalse())
	})

	It("says what else is in the way, by Pod", func(ctx SpecContext) {
		w.budget(ctx, "web")
		w.budget(ctx, "web", func(b *policyv1.PodDisruptionBudget) { b.Name = "again" })
		w.run(ctx, "web-1", ofApp("web"))
		w.run(ctx, "web-2", ofApp("web"))
		Expect(w.drain(ctx)).To(Equal(heading + strings.ReplaceAll(
			"* Pods NS/web-1, NS/web-2: failed to evict Pod, This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
			"NS", w.namespace)))
	})

	It("gives up on Pods that only a kubelet could remove, if that is lost", func(ctx SpecContext) {
		pod := w.run(ctx, "a")
		w.loseKubelet(ctx)
		Expect(w.drain(ctx)).NotTo(BeEmpty())
		Expect(w.isDeleting(ctx, pod)).To(BeTrue())
		w.subject.Now = time.Now().Add(time.Minute)
		Expect(w.drain(ctx)).To(BeEmpty())
	})

	It("evicts the Pod that it has seen, and no other of the name", func(ctx SpecContext) {
		pod := w.run(ctx, "a")
		pod.UID = "former"
		Expect(w.drainer.evictOne(ctx, pod, 0)).To(MatchError(apierrors.IsConflict, "Conflict"))
		Expect(w.isDeleting(ctx, pod)).To(BeFalse())
	})

	It("doesn't mind a Pod that has gone in the meantime", func(ctx SpecContext) {
		pod := aPod("gone")
		pod.Namespace, pod.UID = w.namespace, "gone"
		evicted, failed := w.drainer.evict(ctx, []judged{{Pod: pod}}, 0)
		Expect(evicted).To(BeEmpty())
		Expect(failed).To(BeEmpty())
	})

	It("fails with the name of the Node, and evicts nothing, if a rule is wrong", func(ctx SpecContext) {
		pod := w.run(ctx, "a")
		Expect(management.Create(ctx, &clusterv1.MachineDrainRule{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "wrong"},
			Spec: clusterv1.MachineDrainRuleSpec{
				Drain: clusterv1.MachineDrainRuleDrainConfig{Behavior: skipIt},
				Pods:  []clusterv1.MachineDrainRulePodSelector{{Selector: invalidSelector}},
			},
		})).To(Succeed())
		_, err := w.drainer.Drain(ctx, w.subject)
		Expect(err).To(MatchError(HavePrefix(`failed to drain Node %s: MachineDrainRule "wrong": spec.pods[0]: invalid selector: `, w.subject.nodeName())))
		Expect(w.isDeleting(ctx, pod)).To(BeFalse())
	})
},
	Entry(nil, "real"),
	Entry(nil, "simulated"),
)

var _ = DescribeTable("A failed eviction is told by a text that is the same each time", func(err error, want string) {
	Expect(evictionFailure(err)).To(Equal(want))
},
	Entry("a refusal without details", &apierrors.StatusError{ErrStatus: metav1.Status{
		Reason: metav1.StatusReasonTooManyRequests, Code: http.StatusTooManyRequests, Message: "Slow down."}}, "Slow down."),
	Entry("a refusal with causes", &apierrors.StatusError{ErrStatus: metav1.Status{
		Reason: metav1.StatusReasonTooManyRequests, Code: http.StatusTooManyRequests, Message: budgetRefusal,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Message: "One."}, {Message: "Two."}}}}}, budgetRefusal+" One.,Two."),
	Entry("a deadline", fmt.Errorf("asking: %w", context.DeadlineExceeded), "eviction timeout of 10s reached, eviction will be retried"),
	Entry("a connection", errors.New("read tcp 10.0.0.5:43210->10.1.1.1:6443: connection reset by peer"),
		"read tcp 10.1.1.1:6443: connection reset by peer"),
)

var _ = Describe("A drain in a real cluster", func() {
	var w *world

	BeforeEach(func(ctx SpecContext) { w = clusters["real"](ctx) })

	It("doesn't keep a worker waiting when the API server says to ask again later", func(ctx SpecContext) {
		w.run(ctx, "web", ofApp("web"))
		// Nobody has set its status, so it is still being processed: a refusal with a time to retry after.
		Expect(w.Create(ctx, &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web"},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
		})).To(Succeed())
		begin := time.Now()
		Expect(w.drain(ctx)).To(HaveSuffix("The disruption budget web is still being processed by the server."))
		Expect(time.Since(begin)).To(BeNumerically("<", evictionTimeout/2))
	})

	It("explains why nothing can be evicted from a namespace that is being deleted", func(ctx SpecContext) {
		w.run(ctx, "a")
		Expect(w.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}})).To(Succeed())
		Expect(w.drain(ctx)).To(Equal(heading + fmt.Sprintf("* Pod %s/a: failed to evict Pod, %s", w.namespace, namespaceTerminating)))
	})

	It("gives Pods of a lost kubelet a second", func(ctx SpecContext) {
		pod, before := w.run(ctx, "a"), w.run(ctx, "b")
		Expect(w.drainer.evictOne(ctx, before, 0)).To(Succeed())
		w.loseKubelet(ctx)
		Expect(w.drain(ctx)).NotTo(BeEmpty())
		Expect(w.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
		Expect(pod.DeletionGracePeriodSeconds).To(HaveValue(BeEquivalentTo(1)))
		Expect(w.Get(ctx, client.ObjectKeyFromObject(before), before)).To(Succeed())
		Expect(before.DeletionGracePeriodSeconds).To(HaveValue(BeEquivalentTo(corev1.DefaultTerminationGracePeriodSeconds)))
	})
})

var _ = Describe("A drain in a simulated cluster", func() {
	var w *world

	BeforeEach(func(ctx SpecContext) { w = clusters["simulated"](ctx) })

	It("sees all Pods of a Node with many", func(ctx SpecContext) {
		for i := range 2*pageSize + 10 {
			key := types.NamespacedName{Namespace: w.namespace, Name: fmt.Sprintf("pod-%03d", i)}
			Expect(w.simulated.RunPod(key, w.subject.nodeName())).To(Succeed())
		}
		Expect(w.drain(ctx)).To(ContainSubstring("... (%d more)", 2*pageSize+10-maxPodNames))
		Expect(w.simulated.Count(&corev1.Pod{})).To(BeZero())
		Expect(w.drain(ctx)).To(BeEmpty())
	})

	It("costs few requests", func(ctx SpecContext) {
		Expect(w.simulated.Create(&appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "agent"}})).To(Succeed())
		w.rule(ctx, "db", evictIt, nil)
		for _, name := range []string{"a", "b", "c"} {
			key := types.NamespacedName{Namespace: w.namespace, Name: name}
			Expect(w.simulated.RunPod(key, w.subject.nodeName(), ofDaemonSet("agent"))).To(Succeed())
		}
		requests := []string{"1 get nodes", "1 patch nodes", "1 list pods", "1 list namespaces", "1 list daemonsets"}
		Expect(w.cost(func() { Expect(w.drain(ctx)).To(BeEmpty()) })).To(ConsistOf(requests))
		By("and less when the Node is cordoned")
		Expect(w.cost(func() { Expect(w.drain(ctx)).To(BeEmpty()) })).To(ConsistOf(slices.Delete(requests, 1, 2)))
	})

	It("costs next to nothing without Pods, and without volumes", func(ctx SpecContext) {
		w.rule(ctx, "db", evictIt, nil)
		Expect(w.drain(ctx)).To(BeEmpty())
		Expect(w.cost(func() { Expect(w.drain(ctx)).To(BeEmpty()) })).To(ConsistOf("1 get nodes", "1 list pods"))
		Expect(w.cost(func() { Expect(w.volumes(ctx)).To(BeEmpty()) })).To(ConsistOf("1 get nodes", "1 list volumeattachments"))
	})

	It("leaves for the next time what there was no time for", func(ctx SpecContext) {
		pods := make([]judged, 0, 3)
		for _, name := range []string{"a", "b", "c"} {
			pods = append(pods, judged{Pod: w.run(ctx, name)})
		}
		w.simulated.SetLatency(time.Minute)
		hurry, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		evicted, failed := w.drainer.evict(hurry, pods, 0)
		Expect(evicted).To(BeEmpty())
		Expect(failed).To(HaveKeyWithValue("eviction timeout of 10s reached, eviction will be retried", HaveLen(3)))
	})

	It("leaves for the next time what the client's rate limit holds back", func(ctx SpecContext) {
		pods := make([]judged, 0, 3)
		for _, name := range []string{"a", "b", "c"} {
			pods = append(pods, judged{Pod: w.run(ctx, name)})
		}
		config := rest.CopyConfig(w.config)
		config.QPS, config.Burst = 0.01, 1
		w.drainer.CoreV1 = newCoreV1(config)
		evicted, failed := w.drainer.evict(ctx, pods, 0)
		Expect(evicted).To(ConsistOf(w.namespace + "/a"))
		Expect(failed).To(HaveKeyWithValue(noTimeLeft, HaveLen(2)))
	})

	It("is an error if the cluster can't be reached", func(ctx SpecContext) {
		w.simulated.TakeDown(simulator.Refused)
		_, err := w.drainer.Drain(ctx, w.subject)
		Expect(err).To(MatchError(HavePrefix("failed to drain Node %s: failed to get the Node: ", w.subject.nodeName())))
	})
})
