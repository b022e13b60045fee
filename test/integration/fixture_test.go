// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/environment/suite"
	"github.com/machinist-dev/machinist/test/simulator/workload"
)

// fixture is one Cluster in a namespace of its own, with a workload cluster that answers.
type fixture struct {
	provider
	namespace string
	cluster   *clusterv1.Cluster
	workload  *workload.Cluster
}

// newFixture creates a Cluster whose infrastructure is provisioned and whose control plane is initialized.
func newFixture(ctx context.Context, p provider) *fixture {
	GinkgoHelper()
	f := &fixture{provider: p, namespace: suite.Namespace(ctx, env)}
	f.cluster = &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "blue"},
		Spec:       clusterv1.ClusterSpec{ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "127.0.0.1", Port: 6443}},
	}
	Expect(k8s.Create(ctx, f.cluster)).To(Succeed())
	var err error
	f.workload, err = workloads.AddCluster(client.ObjectKeyFromObject(f.cluster))
	Expect(err).NotTo(HaveOccurred())
	kubeconfig, err := f.workload.Kubeconfig()
	Expect(err).NotTo(HaveOccurred())
	Expect(k8s.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "blue-kubeconfig", Labels: map[string]string{clusterv1.ClusterNameLabel: "blue"}},
		Type:       "cluster.x-k8s.io/secret",
		Data:       map[string][]byte{"value": kubeconfig},
	})).To(Succeed())
	f.updateCluster(ctx, func(c *clusterv1.Cluster) {
		c.Status.Initialization.InfrastructureProvisioned = new(true)
		c.Status.Conditions = []metav1.Condition{{
			Type: clusterv1.ClusterControlPlaneInitializedCondition, Status: metav1.ConditionTrue, Reason: "Initialized", LastTransitionTime: metav1.Now(),
		}}
	})
	return f
}

func (f *fixture) updateCluster(ctx context.Context, mutate func(*clusterv1.Cluster)) {
	GinkgoHelper()
	base := f.cluster.DeepCopy()
	mutate(f.cluster)
	Expect(k8s.Status().Patch(ctx, f.cluster, client.MergeFrom(base))).To(Succeed())
}

// machine returns a Machine that references an InfraMachine and a BootstrapConfig of its own name.
func (f *fixture) machine(name string) *clusterv1.Machine {
	return &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name},
		Spec: clusterv1.MachineSpec{
			ClusterName:       f.cluster.Name,
			Bootstrap:         clusterv1.Bootstrap{ConfigRef: f.bootstrapRef(name)},
			InfrastructureRef: f.infraRef(name),
		},
	}
}

// create creates objects; the status of an unstructured object is written, too.
func create(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, object := range objects {
		withStatus := object.DeepCopyObject()
		Expect(k8s.Create(ctx, object)).To(Succeed())
		if u, ok := withStatus.(*unstructured.Unstructured); ok && u.Object["status"] != nil {
			setStatus(ctx, object, u.Object["status"])
		}
	}
}

// report makes a provider object say what the builder's object says in its status and in spec.providerID.
func report(ctx context.Context, object *unstructured.Unstructured) {
	GinkgoHelper()
	if id, ok, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "providerID"); ok {
		mergePatch(ctx, object, map[string]any{"spec": map[string]any{"providerID": id}})
	}
	if object.Object["status"] != nil {
		setStatus(ctx, object, object.Object["status"])
	}
}

func setStatus(ctx context.Context, object client.Object, status any) {
	GinkgoHelper()
	target := &unstructured.Unstructured{}
	target.SetGroupVersionKind(object.GetObjectKind().GroupVersionKind())
	target.SetNamespace(object.GetNamespace())
	target.SetName(object.GetName())
	Expect(k8s.Status().Patch(ctx, target, jsonMerge(map[string]any{"status": status}))).To(Succeed())
}

func mergePatch(ctx context.Context, object client.Object, patch map[string]any) {
	GinkgoHelper()
	target := &unstructured.Unstructured{}
	target.SetGroupVersionKind(object.GetObjectKind().GroupVersionKind())
	target.SetNamespace(object.GetNamespace())
	target.SetName(object.GetName())
	Expect(k8s.Patch(ctx, target, jsonMerge(patch))).To(Succeed())
}

// node adds a healthy Node to the workload cluster.
func (f *fixture) node(name, providerID string) {
	GinkgoHelper()
	condition := func(t corev1.NodeConditionType, s corev1.ConditionStatus) corev1.NodeCondition {
		return corev1.NodeCondition{Type: t, Status: s, Reason: "Kubelet", Message: "kubelet says so", LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now()}
	}
	Expect(f.workload.Create(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.NodeSpec{ProviderID: providerID},
		Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{
				condition(corev1.NodeReady, corev1.ConditionTrue),
				condition(corev1.NodeMemoryPressure, corev1.ConditionFalse),
				condition(corev1.NodeDiskPressure, corev1.ConditionFalse),
				condition(corev1.NodePIDPressure, corev1.ConditionFalse),
			},
			NodeInfo: corev1.NodeSystemInfo{KubeletVersion: "v1.37.2", OperatingSystem: "linux", Architecture: "amd64"},
		},
	})).To(Succeed())
}

// eventually polls the Machine until the assertions hold.
func (f *fixture) eventually(ctx context.Context, name string, assert func(g Gomega, m *clusterv1.Machine)) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		m := &clusterv1.Machine{}
		g.Expect(k8s.Get(ctx, types.NamespacedName{Namespace: f.namespace, Name: name}, m)).To(Succeed())
		assert(g, m)
	}).WithContext(ctx).Should(Succeed())
}
