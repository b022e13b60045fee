// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package workload_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	nodeclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/machinist-dev/machinist/test/simulator/workload"
)

var _ = Describe("Watches", func() {
	var (
		cluster *workload.Cluster
		config  *rest.Config
		nodes   nodeclient.NodeInterface
	)

	BeforeEach(func() {
		cluster = addCluster(start(workload.Options{HistorySize: 10}), "one")
		config = restConfig(cluster)
		nodes = clientset(config).CoreV1().Nodes()
	})

	open := func(ctx context.Context, options metav1.ListOptions) watch.Interface {
		GinkgoHelper()
		w, err := nodes.Watch(ctx, options)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(w.Stop)
		return w
	}
	event := func(kind watch.EventType, name string) OmegaMatcher {
		return And(HaveField("Type", kind), HaveField("Object.Name", name))
	}
	setUnschedulable := func(n *corev1.Node) { n.Spec.Unschedulable = true }

	DescribeTable("deliver what happens after a list", func(ctx SpecContext, contentType string) {
		config.ContentType = contentType
		nodes = clientset(config).CoreV1().Nodes()
		createNodes(cluster, "a")
		list, err := nodes.List(ctx, metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
		createNodes(cluster, "b")

		w := open(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
		Eventually(w.ResultChan()).Should(Receive(event(watch.Added, "b")))
		Expect(workload.Update(cluster, nodeKey("a"), setUnschedulable)).To(Succeed())
		Eventually(w.ResultChan()).Should(Receive(And(event(watch.Modified, "a"), HaveField("Object.Spec.Unschedulable", true))))
		Expect(cluster.Delete(nodeKey("a"), &corev1.Node{})).To(Succeed())
		var deleted watch.Event
		Eventually(w.ResultChan()).Should(Receive(&deleted))
		Expect(deleted).To(event(watch.Deleted, "a"))
		Expect(deleted.Object).To(HaveField("ResourceVersion", "5"), "the version of the deletion")
	},
		Entry("as JSON", runtime.ContentTypeJSON),
		Entry("as protobuf", runtime.ContentTypeProtobuf),
	)

	It("start with the present objects and say where these end", func(ctx SpecContext) {
		createNodes(cluster, "a", "b")
		w := open(ctx, metav1.ListOptions{
			SendInitialEvents: new(true), AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		})
		Eventually(w.ResultChan()).Should(Receive(event(watch.Added, "a")))
		Eventually(w.ResultChan()).Should(Receive(event(watch.Added, "b")))
		Eventually(w.ResultChan()).Should(Receive(And(
			HaveField("Type", watch.Bookmark),
			HaveField("Object.Annotations", HaveKeyWithValue(metav1.InitialEventsAnnotationKey, "true")),
			HaveField("Object.ResourceVersion", "3"),
		)))
		createNodes(cluster, "c")
		Eventually(w.ResultChan()).Should(Receive(event(watch.Added, "c")))
	})

	It("show what a selector begins or ceases to match as added or deleted", func(ctx SpecContext) {
		createNodes(cluster, "a", "b")
		w := open(ctx, metav1.ListOptions{LabelSelector: "pick=me", SendInitialEvents: new(false)})
		setLabels := func(name string, labels map[string]string) {
			Expect(workload.Update(cluster, nodeKey(name), func(n *corev1.Node) { n.Labels = labels })).To(Succeed())
		}
		setLabels("b", map[string]string{"other": "x"})
		setLabels("a", map[string]string{"pick": "me"})
		Eventually(w.ResultChan()).Should(Receive(event(watch.Added, "a")))
		setLabels("a", map[string]string{"pick": "me", "other": "x"})
		Eventually(w.ResultChan()).Should(Receive(event(watch.Modified, "a")))
		setLabels("a", nil)
		Eventually(w.ResultChan()).Should(Receive(event(watch.Deleted, "a")))
	})

	It("end after their timeout", func(ctx SpecContext) {
		w := open(ctx, metav1.ListOptions{TimeoutSeconds: new(int64(1))})
		Eventually(w.ResultChan()).Should(BeClosed())
	})

	It("get 410 Gone from versions that are forgotten", func(ctx SpecContext) {
		for i := range 40 {
			createNodes(cluster, fmt.Sprintf("node-%02d", i))
		}
		w := open(ctx, metav1.ListOptions{ResourceVersion: "2"})
		var received watch.Event
		Eventually(w.ResultChan()).Should(Receive(&received))
		Expect(received.Type).To(Equal(watch.Error))
		Expect(apierrors.FromObject(received.Object)).To(MatchError(apierrors.IsResourceExpired, "Expired"))
		Eventually(w.ResultChan()).Should(BeClosed())

		By("ten changes are still known")
		w = open(ctx, metav1.ListOptions{ResourceVersion: "31"})
		Eventually(w.ResultChan()).Should(Receive(event(watch.Added, "node-30")))
	})

	Describe("of an informer", func() {
		var store cache.Store
		BeforeEach(func() {
			createNodes(cluster, "a", "b")
			client := clientset(config)
			factory := informers.NewSharedInformerFactory(client, 0)
			informer := factory.Core().V1().Nodes().Informer()
			store = informer.GetStore()
			run(func(ctx context.Context) error {
				factory.Start(ctx.Done())
				<-ctx.Done()
				factory.Shutdown()
				return nil
			})
			Eventually(informer.HasSynced).Should(BeTrue())
		})

		It("list by watching", func() {
			Expect(store.ListKeys()).To(ConsistOf("a", "b"))
			Expect(cluster.Requests()).To(HaveKey(workload.Request{UserAgent: "workload-test", Verb: "watch", Resource: "nodes"}))
			Expect(cluster.Requests()).NotTo(HaveKey(workload.Request{UserAgent: "workload-test", Verb: "list", Resource: "nodes"}))
		})

		It("start again after 410 Gone", func() {
			cluster.Compact()
			createNodes(cluster, "c")
			Eventually(store.ListKeys).Should(ConsistOf("a", "b", "c"))
		})

		DescribeTable("go on after an outage", func(how workload.Outage) {
			cluster.TakeDown(how)
			createNodes(cluster, "c")
			Expect(cluster.Delete(nodeKey("a"), &corev1.Node{})).To(Succeed())
			Consistently(store.ListKeys).WithTimeout(300 * time.Millisecond).Should(ConsistOf("a", "b"))
			cluster.BringUp()
			Eventually(store.ListKeys).Should(ConsistOf("b", "c"))
		},
			Entry("that refuses connections", workload.Refused),
			Entry("that drops packets", workload.Hanging),
		)
	})
})
