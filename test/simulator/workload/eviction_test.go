// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package workload_test

import (
	"context"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/machinist-dev/machinist/test/simulator/workload"
)

var _ = Describe("Evictions", func() {
	var (
		cluster *workload.Cluster
		client  *kubernetes.Clientset
		web     types.NamespacedName
		budget  types.NamespacedName
	)

	BeforeEach(func() {
		cluster = addCluster(start(workload.Options{}), "one")
		client = clientset(restConfig(cluster))
		web = types.NamespacedName{Namespace: "shop", Name: "web-1"}
		budget = types.NamespacedName{Namespace: "shop", Name: "web"}
		Expect(cluster.RunPod(web, "a", ofApp("web"))).To(Succeed())
	})

	evict := func(ctx context.Context, options *metav1.DeleteOptions) error {
		// A refusal may ask for a retry, which is not what these specs are about.
		eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: web.Name}, DeleteOptions: options}
		return client.CoreV1().RESTClient().Post().Namespace(web.Namespace).Resource("pods").Name(web.Name).SubResource("eviction").
			MaxRetries(0).Body(eviction).Do(ctx).Error()
	}
	exists := func() bool {
		err := cluster.Get(web, &corev1.Pod{})
		Expect(err == nil || apierrors.IsNotFound(err)).To(BeTrue())
		return err == nil
	}
	refused := func(cause string) gomegatypes.GomegaMatcher {
		return HaveField("ErrStatus", And(
			HaveField("Code", BeEquivalentTo(http.StatusTooManyRequests)),
			HaveField("Message", "Cannot evict pod as it would violate the pod's disruption budget."),
			HaveField("Details.Causes", ConsistOf(HaveField("Message", cause)))))
	}

	DescribeTable("end a Pod without a budget", func(ctx SpecContext, contentType string) {
		config := restConfig(cluster)
		config.ContentType = contentType
		eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: web.Name}}
		Expect(clientset(config).CoreV1().Pods(web.Namespace).EvictV1(ctx, eviction)).To(Succeed())
		Expect(exists()).To(BeFalse())
		Expect(cluster.Requests()).To(Equal(map[workload.Request]int{
			{UserAgent: "workload-test", Verb: "create", Resource: "pods/eviction"}: 1,
		}))
		Expect(evict(ctx, nil)).To(MatchError(apierrors.IsNotFound, "NotFound"))
	},
		Entry("as JSON", runtime.ContentTypeJSON),
		Entry("as protobuf", runtime.ContentTypeProtobuf),
	)

	It("mark a Pod that something holds", func(ctx SpecContext) {
		Expect(workload.Update(cluster, web, func(pod *corev1.Pod) { pod.Finalizers = []string{"example.com/hold"} })).To(Succeed())
		Expect(evict(ctx, nil)).To(Succeed())
		pod := &corev1.Pod{}
		Expect(cluster.Get(web, pod)).To(Succeed())
		Expect(pod.DeletionTimestamp).NotTo(BeNil())

		By("and once it is going, no budget holds it")
		Expect(cluster.SetBudget(budget, pod.Labels, 0)).To(Succeed())
		Expect(evict(ctx, nil)).To(Succeed())
	})

	It("are refused while the budget has nothing left, and take what it has", func(ctx SpecContext) {
		labels := map[string]string{"app": "web"}
		Expect(cluster.SetBudget(budget, labels, 0)).To(Succeed())
		Expect(evict(ctx, nil)).To(refused("The disruption budget web needs 1 healthy pods and has 1 currently"))
		Expect(exists()).To(BeTrue())

		Expect(cluster.SetBudget(budget, labels, 1)).To(Succeed())
		Expect(evict(ctx, nil)).To(Succeed())
		Expect(exists()).To(BeFalse())
		Expect(cluster.RunPod(web, "a", ofApp("web"))).To(Succeed())
		Expect(evict(ctx, nil)).To(MatchError(apierrors.IsTooManyRequests, "TooManyRequests"))
	})

	It("tell when to ask again about a budget that nobody has looked at yet", func(ctx SpecContext) {
		Expect(cluster.SetBudget(budget, map[string]string{"app": "web"}, 1)).To(Succeed())
		Expect(workload.Update(cluster, budget, func(b *policyv1.PodDisruptionBudget) { b.Generation = 2 })).To(Succeed())
		err := evict(ctx, nil)
		Expect(err).To(refused("The disruption budget web is still being processed by the server."))
		seconds, ok := apierrors.SuggestsClientDelay(err)
		Expect(ok).To(BeTrue())
		Expect(seconds).To(Equal(10))

		By("which is in the header that clients obey")
		briefly, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: web.Name}}
		Expect(client.CoreV1().Pods(web.Namespace).EvictV1(briefly, eviction)).To(MatchError(context.DeadlineExceeded))
	})

	DescribeTable("don't ask a budget", func(ctx SpecContext, change func(*corev1.Pod)) {
		Expect(cluster.SetBudget(budget, map[string]string{"app": "web"}, 0)).To(Succeed())
		Expect(workload.Update(cluster, web, change)).To(Succeed())
		Expect(evict(ctx, nil)).To(Succeed())
		Expect(exists()).To(BeFalse())
	},
		Entry("that is for other Pods", func(pod *corev1.Pod) { pod.Labels["app"] = "db" }),
		Entry("about a Pod that has finished", func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodSucceeded }),
		Entry("about a Pod that has not begun", func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodPending }),
		Entry("about a Pod that isn't ready while enough others are", func(pod *corev1.Pod) { pod.Status.Conditions = nil }),
	)

	It("fail with more than one budget", func(ctx SpecContext) {
		for _, name := range []string{"web", "all"} {
			Expect(cluster.SetBudget(types.NamespacedName{Namespace: "shop", Name: name}, map[string]string{"app": "web"}, 1)).To(Succeed())
		}
		Expect(evict(ctx, nil)).To(HaveField("ErrStatus", And(
			HaveField("Code", BeEquivalentTo(http.StatusInternalServerError)), HaveField("Message", HavePrefix("This pod has more than one")))))
	})

	DescribeTable("are checked as a real API server does", func(ctx SpecContext, options *metav1.DeleteOptions, reason func(error) bool) {
		Expect(evict(ctx, options)).To(MatchError(reason, "the reason"))
		Expect(exists()).To(BeTrue())
	},
		Entry("another Pod of the name", metav1.NewPreconditionDeleteOptions("other"), apierrors.IsConflict),
		Entry("dry run", &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}, apierrors.IsBadRequest),
	)

	DescribeTable("need a body that is an eviction of the Pod", func(ctx SpecContext, body string) {
		err := client.CoreV1().RESTClient().Post().Namespace(web.Namespace).Resource("pods").Name(web.Name).SubResource("eviction").
			Body([]byte(body)).Do(ctx).Error()
		Expect(err).To(MatchError(apierrors.IsBadRequest, "BadRequest"))
		Expect(exists()).To(BeTrue())
	},
		Entry("of another name", `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"web-2","namespace":"shop"}}`),
		Entry("of another namespace", `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"web-1","namespace":"home"}}`),
		Entry("of another kind", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-1","namespace":"shop"}}`),
		Entry("of no kind at all", `{"kind":`),
	)
})

func ofApp(name string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Labels = map[string]string{"app": name} }
}
