// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package workload_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/machinist-dev/machinist/test/simulator/workload"
)

func TestWorkload(t *testing.T) {
	RegisterFailHandler(Fail)
	// Long enough for the backoff of a reflector that lost its server, which grows to a few seconds.
	SetDefaultEventuallyTimeout(30 * time.Second)
	SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	logf.SetLogger(GinkgoLogr)
	klog.SetLogger(GinkgoLogr)
	RunSpecs(t, "Workload clusters")
}

// start returns a server that is closed, and checked to leave no goroutine, when the spec ends.
func start(opts workload.Options) *workload.Server {
	GinkgoHelper()
	before := goleak.IgnoreCurrent()
	DeferCleanup(func() {
		Eventually(func() error { return goleak.Find(before) }).Should(Succeed())
	})
	server, err := workload.Start(opts)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(server.Close)
	return server
}

func addCluster(server *workload.Server, name string) *workload.Cluster {
	GinkgoHelper()
	cluster, err := server.AddCluster(types.NamespacedName{Namespace: "default", Name: name})
	Expect(err).NotTo(HaveOccurred())
	return cluster
}

func restConfig(cluster *workload.Cluster) *rest.Config {
	GinkgoHelper()
	kubeconfig, err := cluster.Kubeconfig()
	Expect(err).NotTo(HaveOccurred())
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	Expect(err).NotTo(HaveOccurred())
	config.QPS, config.Burst = -1, -1
	config.UserAgent = "workload-test"
	return config
}

func clientset(config *rest.Config) *kubernetes.Clientset {
	GinkgoHelper()
	httpClient, err := rest.HTTPClientFor(config)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(httpClient.CloseIdleConnections)
	client, err := kubernetes.NewForConfigAndClient(config, httpClient)
	Expect(err).NotTo(HaveOccurred())
	return client
}

func node(name string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/hostname": name}},
		Spec: corev1.NodeSpec{
			ProviderID: "test:///" + name,
			Taints:     []corev1.Taint{{Key: "node.cluster.x-k8s.io/uninitialized", Effect: corev1.TaintEffectNoSchedule}},
		},
		Status: corev1.NodeStatus{Phase: corev1.NodeRunning},
	}
}

func createNodes(cluster *workload.Cluster, names ...string) {
	GinkgoHelper()
	for _, name := range names {
		Expect(cluster.Create(node(name))).To(Succeed())
	}
}

func nodeKey(name string) types.NamespacedName { return types.NamespacedName{Name: name} }

// run starts something that stops with its context, and waits for its end when the spec ends.
func run(what func(ctx context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- what(ctx) }()
	DeferCleanup(func() {
		cancel()
		Eventually(ended).Should(Receive(BeNil()))
	})
}
