// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package workload_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/machinist-dev/machinist/test/simulator/workload"
)

var _ = Describe("A cluster that is down", func() {
	for _, established := range []bool{false, true} {
		DescribeTable("fails its own clients only", func(ctx SpecContext, how workload.Outage, patience time.Duration, failure OmegaMatcher) {
			server := start(workload.Options{})
			down, healthy := addCluster(server, "down"), addCluster(server, "healthy")
			nodes := clientset(restConfig(down)).CoreV1().Nodes()
			if established {
				_, err := nodes.List(ctx, metav1.ListOptions{})
				Expect(err).NotTo(HaveOccurred())
			}

			down.TakeDown(how)
			short, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			_, err := nodes.List(short, metav1.ListOptions{})
			Expect(err).To(failure)
			_, err = clientset(restConfig(healthy)).CoreV1().Nodes().List(ctx, metav1.ListOptions{})
			Expect(err).NotTo(HaveOccurred())

			down.BringUp()
			_, err = nodes.List(ctx, metav1.ListOptions{})
			Expect(err).NotTo(HaveOccurred())
		},
			// client-go tries again by itself, a second after the first failure.
			Entry("soon when it refuses connections", workload.Refused, 20*time.Second, And(HaveOccurred(), Not(MatchError(context.DeadlineExceeded)))),
			Entry("after their timeout when it hangs", workload.Hanging, 300*time.Millisecond, MatchError(context.DeadlineExceeded)),
		)
	}

	It("doesn't keep the server from closing", func(ctx SpecContext) {
		server := start(workload.Options{})
		down := addCluster(server, "down")
		nodes := clientset(restConfig(down)).CoreV1().Nodes()
		w, err := nodes.Watch(ctx, metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
		defer w.Stop()
		down.TakeDown(workload.Hanging)
		createNodes(down, "a")
		closed := make(chan error, 1)
		go func() { closed <- server.Close() }()
		Eventually(closed).Should(Receive())
	})

	It("is gone when removed", func(ctx SpecContext) {
		server := start(workload.Options{})
		removed := addCluster(server, "removed")
		nodes := clientset(restConfig(removed)).CoreV1().Nodes()
		_, err := nodes.List(ctx, metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
		server.RemoveCluster(removed.Key())
		_, err = nodes.List(ctx, metav1.ListOptions{})
		Expect(err).To(HaveOccurred())
		_, found := server.Cluster(removed.Key())
		Expect(found).To(BeFalse())
	})
})

var _ = Describe("controller-runtime's cluster", func() {
	It("reads, writes, indexes and survives an outage", func(ctx SpecContext) {
		workloadCluster := addCluster(start(workload.Options{}), "one")
		createNodes(workloadCluster, "a", "b")
		config := restConfig(workloadCluster)
		c, err := cluster.New(config, func(o *cluster.Options) { o.Scheme = scheme.Scheme })
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(c.GetHTTPClient().CloseIdleConnections)
		const byProviderID = "spec.providerID"
		Expect(c.GetFieldIndexer().IndexField(ctx, &corev1.Node{}, byProviderID, func(obj client.Object) []string {
			return []string{obj.(*corev1.Node).Spec.ProviderID}
		})).To(Succeed())
		run(c.Start)
		patient, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		Expect(c.GetCache().WaitForCacheSync(patient)).To(BeTrue())

		find := func(providerID string) func() ([]string, error) {
			return func() (names []string, err error) {
				var list corev1.NodeList
				err = c.GetClient().List(ctx, &list, client.MatchingFields{byProviderID: providerID})
				for _, n := range list.Items {
					names = append(names, n.Name)
				}
				return names, err
			}
		}
		Eventually(find("test:///b")).Should(ConsistOf("b"))

		By("a patch with an optimistic lock")
		var cached corev1.Node
		Expect(c.GetClient().Get(ctx, client.ObjectKey{Name: "b"}, &cached)).To(Succeed())
		stale := cached.DeepCopy()
		before := cached.DeepCopy()
		cached.Labels["node.cluster.x-k8s.io/x"] = "y"
		Expect(c.GetClient().Patch(ctx, &cached, client.StrategicMergeFrom(before, client.MergeFromWithOptimisticLock{}))).To(Succeed())
		before = stale.DeepCopy()
		stale.Spec.Taints = nil
		err = c.GetClient().Patch(ctx, stale, client.StrategicMergeFrom(before, client.MergeFromWithOptimisticLock{}))
		Expect(err).To(MatchError(apierrors.IsConflict, "Conflict"))

		By("an outage")
		workloadCluster.TakeDown(workload.Refused)
		createNodes(workloadCluster, "c")
		Expect(c.GetClient().Delete(ctx, &cached)).NotTo(Succeed())
		workloadCluster.BringUp()
		Eventually(find("test:///c")).Should(ConsistOf("c"))
		Expect(c.GetClient().Delete(ctx, &cached)).To(Succeed())
		Eventually(find("test:///b")).Should(BeEmpty())
	})
})
