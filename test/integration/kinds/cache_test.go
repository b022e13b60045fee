// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers/external"
	"github.com/machinist-dev/machinist/controllers/watchcache"
	"github.com/machinist-dev/machinist/test/builder"
)

// What the API server has, with everything that can be long, and what the manager keeps of it.
var _ = It("The caches of the manager hold nothing that nobody reads", func(ctx SpecContext) {
	p := newPlace(ctx)
	of := p.kind("long")
	of.install(func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Annotations = map[string]string{"example.org/long": "text"}
		crd.Finalizers = []string{"example.org/hold"}
	})
	DeferCleanup(func(ctx SpecContext) { merge(ctx, of.crd(), object{"metadata": object{"finalizers": nil}}) })
	applied := map[string]string{corev1.LastAppliedConfigAnnotation: "{}", "example.org/short": "text"}
	Expect(k8s.Create(ctx, builder.Cluster(p.namespace, "long").With(func(c *clusterv1.Cluster) {
		c.Annotations = applied
		c.Finalizers = []string{"example.org/one", "example.org/two"}
		c.Spec.Topology = &runtime.RawExtension{Raw: []byte(`{"classRef":{"name":"class"},"version":"v1.37.2"}`)}
		c.Spec.Paused = new(true)
	}).Build())).To(Succeed())
	Expect(k8s.Create(ctx, builder.Machine(p.namespace, "long").With(func(m *clusterv1.Machine) {
		m.Annotations = applied
		m.Finalizers = []string{"example.org/one", "example.org/two"}
	}).WithDataSecretName("data").Build())).To(Succeed())
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "long-", Annotations: applied, Labels: map[string]string{"example.org/zone": "a"}},
		Spec:       corev1.NodeSpec{ProviderID: "sim:///long", PodCIDR: "10.0.0.0/24", PodCIDRs: []string{"10.0.0.0/24"}},
	}
	Expect(k8s.Create(ctx, node)).To(Succeed())
	node.Status = corev1.NodeStatus{
		Conditions:      []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now()}},
		NodeInfo:        corev1.NodeSystemInfo{KubeletVersion: "v1.37.2"},
		Images:          []corev1.ContainerImage{{Names: []string{"registry.example.org/image:1"}, SizeBytes: 1}},
		VolumesInUse:    []corev1.UniqueVolumeName{"v"},
		VolumesAttached: []corev1.AttachedVolume{{Name: "v", DevicePath: "/dev/v"}},
		Capacity:        corev1.ResourceList{},
		Addresses:       []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}},
	}
	Expect(k8s.Status().Update(ctx, node)).To(Succeed())
	Expect(node.ManagedFields).NotTo(BeEmpty(), "the API server has what is asserted to be missing below")

	management := startCache(watchcache.ManagementOptions(watchcache.Management{
		Namespace: p.namespace, SyncPeriod: managerOptions(p.namespace).SyncPeriod, CRD: external.CRDMetadata(),
	}))
	key := client.ObjectKey{Namespace: p.namespace, Name: "long"}

	By("Clusters: without topology")
	cluster := &clusterv1.Cluster{}
	Expect(management.Get(ctx, key, cluster)).To(Succeed())
	Expect(cluster.Spec.Topology).To(BeNil())
	Expect(cluster.Spec.Paused).To(HaveValue(BeTrue()))
	expectTrimmed(cluster)

	By("Machines: whole but for metadata")
	machine := &clusterv1.Machine{}
	Expect(management.Get(ctx, key, machine)).To(Succeed())
	expectTrimmed(machine)

	By("CRDs: what names, identifies and labels them")
	crd := external.CRDMetadata()
	Expect(management.Get(ctx, client.ObjectKeyFromObject(of.crd()), crd)).To(Succeed())
	kept := crd.DeepCopy()
	kept.TypeMeta, kept.Name, kept.UID, kept.Labels = metav1.TypeMeta{}, "", "", nil
	kept.ResourceVersion, kept.Generation, kept.CreationTimestamp = "", 0, metav1.Time{}
	Expect(kept).To(Equal(&metav1.PartialObjectMetadata{}))
	Expect(crd.Labels).To(HaveKeyWithValue(newContract, newAPI))

	By("Nodes: conditions without heartbeats, and what the kubelet says of itself")
	workload := startCache(watchcache.WorkloadOptions())
	cached := &corev1.Node{}
	Expect(workload.Get(ctx, client.ObjectKeyFromObject(node), cached)).To(Succeed())
	Expect(cached.Spec).To(HaveField("ProviderID", "sim:///long"))
	Expect(cached.Labels).To(HaveKey("example.org/zone"))
	Expect(cached.Status.Conditions).To(HaveLen(1))
	Expect(cached.Status.Conditions[0].LastHeartbeatTime.IsZero()).To(BeTrue())
	Expect(cached.Status.Conditions[0].LastTransitionTime.IsZero()).To(BeFalse())
	Expect(cached.Status).To(Equal(corev1.NodeStatus{Conditions: cached.Status.Conditions, NodeInfo: node.Status.NodeInfo}))
	Expect(cached.Spec.PodCIDRs).To(BeEmpty())
	Expect(cached.ManagedFields).To(BeEmpty())
})

// expectTrimmed checks the metadata of an object of which the lists have to be whole.
func expectTrimmed(cached client.Object) {
	GinkgoHelper()
	Expect(cached.GetManagedFields()).To(BeEmpty())
	Expect(cached.GetAnnotations()).To(Equal(map[string]string{"example.org/short": "text"}))
	Expect(cached.GetFinalizers()).To(Equal([]string{"example.org/one", "example.org/two"}))
}

// startCache runs a cache until the end of the spec.
func startCache(options cache.Options) cache.Cache {
	GinkgoHelper()
	options.Scheme = k8s.Scheme()
	c, err := cache.New(env.ConfigFor("kinds-test"), options)
	Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Start(ctx) }()
	DeferCleanup(func() {
		cancel()
		Eventually(done).Should(Receive(BeNil()))
	})
	Expect(c.WaitForCacheSync(ctx)).To(BeTrue())
	return c
}
