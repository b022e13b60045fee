// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	simulator "github.com/machinist-dev/machinist/test/simulator/workload"
)

// kubeconfigs reads the kubeconfig Secret of a simulated cluster.
type kubeconfigs struct {
	client.Reader
	cluster *simulator.Cluster
}

func (k kubeconfigs) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	kubeconfig, err := k.cluster.Kubeconfig()
	obj.(*corev1.Secret).Data = map[string][]byte{kubeconfigKey: kubeconfig}
	return err
}

// TestLiveClients makes a session and uses what it lends: every kind in knownKinds, without a request for discovery and
// without a watch but that of Nodes.
func TestLiveClients(t *testing.T) {
	g := NewWithT(t)
	server, err := simulator.Start(simulator.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { g.Expect(server.Close()).To(Succeed()) }()
	key := types.NamespacedName{Namespace: "default", Name: "one"}
	cluster, err := server.AddCluster(key)
	g.Expect(err).NotTo(HaveOccurred())
	pod := types.NamespacedName{Namespace: "shop", Name: "web"}
	g.Expect(cluster.RunPod(pod, "a")).To(Succeed())

	clusters := NewClusters(Options{Secrets: kubeconfigs{cluster: cluster}, QPS: 20, Burst: 30, UserAgent: "test"})
	session, err := (&connection{clusters: clusters, cluster: key}).connect(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	defer session.stop()
	connection := &Connection{client: session.GetClient(), live: session.live, coreV1: session.coreV1}

	for _, list := range []client.ObjectList{
		&corev1.NodeList{}, &corev1.NamespaceList{}, &corev1.PodList{}, &appsv1.DaemonSetList{},
		&corev1.PersistentVolumeList{}, &storagev1.VolumeAttachmentList{},
	} {
		g.Expect(connection.Live().List(t.Context(), list)).To(Succeed())
	}
	pods := &corev1.PodList{}
	g.Expect(connection.Live().List(t.Context(), pods, client.MatchingFields{"spec.nodeName": "a"})).To(Succeed())
	g.Expect(pods.Items).To(HaveLen(1))

	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	g.Expect(connection.CoreV1().Post().Namespace(pod.Namespace).Resource("pods").Name(pod.Name).SubResource("eviction").
		MaxRetries(0).Body(eviction).Do(t.Context()).Error()).To(Succeed())
	g.Expect(cluster.Count(&corev1.Pod{})).To(BeZero())

	for request := range cluster.Requests() {
		discovery := strings.HasPrefix(request.Resource, "/api") && request.Verb == "get"
		g.Expect(discovery).To(BeFalse(), "%v", request)
		g.Expect(request.Verb == "watch" && request.Resource != "nodes").To(BeFalse(), "%v", request)
	}
}
