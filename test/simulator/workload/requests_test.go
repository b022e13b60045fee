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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	nodeclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/machinist-dev/machinist/test/simulator/workload"
)

var _ = Describe("Requests", func() {
	var (
		server  *workload.Server
		cluster *workload.Cluster
		config  *rest.Config
		client  *kubernetes.Clientset
		nodes   nodeclient.NodeInterface
	)

	BeforeEach(func() {
		server = start(workload.Options{})
		cluster = addCluster(server, "one")
		config = restConfig(cluster)
		client = clientset(config)
		nodes = client.CoreV1().Nodes()
	})

	DescribeTable("serve every verb of Nodes", func(ctx SpecContext, contentType string) {
		config.ContentType = contentType
		nodes := clientset(config).CoreV1().Nodes()

		created, err := nodes.Create(ctx, node("a"), metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(created.UID).NotTo(BeEmpty())
		Expect(created.CreationTimestamp.Time).To(BeTemporally("~", time.Now(), time.Minute))
		_, err = nodes.Create(ctx, node("a"), metav1.CreateOptions{})
		Expect(err).To(MatchError(apierrors.IsAlreadyExists, "AlreadyExists"))

		By("update changes the spec but not the status")
		change := created.DeepCopy()
		change.Spec.Taints, change.Status.Phase = nil, corev1.NodeTerminated
		updated, err := nodes.Update(ctx, change, metav1.UpdateOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(updated.Spec.Taints).To(BeEmpty())
		Expect(updated.Status.Phase).To(Equal(corev1.NodeRunning))
		Expect(updated.ResourceVersion).NotTo(Equal(created.ResourceVersion))

		By("update of the status changes the status but not the spec")
		change = updated.DeepCopy()
		change.Spec.Unschedulable, change.Status.Phase = true, corev1.NodeTerminated
		updated, err = nodes.UpdateStatus(ctx, change, metav1.UpdateOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(updated.Spec.Unschedulable).To(BeFalse())
		Expect(updated.Status.Phase).To(Equal(corev1.NodeTerminated))

		By("an old version is a conflict")
		_, err = nodes.Update(ctx, created, metav1.UpdateOptions{})
		Expect(err).To(MatchError(apierrors.IsConflict, "Conflict"))

		By("nothing changed, no new version")
		same, err := nodes.Update(ctx, updated, metav1.UpdateOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(same.ResourceVersion).To(Equal(updated.ResourceVersion))

		got, err := nodes.Get(ctx, "a", metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(got).To(Equal(updated))

		By("delete honours preconditions")
		err = nodes.Delete(ctx, "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: new(types.UID("other"))}})
		Expect(err).To(MatchError(apierrors.IsConflict, "Conflict"))
		Expect(nodes.Delete(ctx, "a", metav1.DeleteOptions{})).To(Succeed())
		_, err = nodes.Get(ctx, "a", metav1.GetOptions{})
		Expect(err).To(MatchError(apierrors.IsNotFound, "NotFound"))
		Expect(nodes.Delete(ctx, "a", metav1.DeleteOptions{})).To(MatchError(apierrors.IsNotFound, "NotFound"))
	},
		Entry("as JSON", runtime.ContentTypeJSON),
		Entry("as protobuf", runtime.ContentTypeProtobuf),
	)

	DescribeTable("apply patches", func(ctx SpecContext, patchType types.PatchType, patch string) {
		createNodes(cluster, "a")
		patched, err := nodes.Patch(ctx, "a", patchType, []byte(patch), metav1.PatchOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(patched.Labels).To(Equal(map[string]string{"kubernetes.io/hostname": "a", "node.cluster.x-k8s.io/x": "y"}))
		Expect(patched.Spec.Taints).To(BeEmpty())
		Expect(patched.Spec.ProviderID).To(Equal("test:///a"))
	},
		Entry("merge", types.MergePatchType, `{"metadata":{"labels":{"node.cluster.x-k8s.io/x":"y"}},"spec":{"taints":null}}`),
		Entry("strategic merge", types.StrategicMergePatchType, `{"metadata":{"labels":{"node.cluster.x-k8s.io/x":"y"}},
			"spec":{"taints":[]},"status":{"$patch":"replace"}}`),
		Entry("JSON", types.JSONPatchType, `[{"op":"add","path":"/metadata/labels/node.cluster.x-k8s.io~1x","value":"y"},
			{"op":"remove","path":"/spec/taints"}]`),
	)

	It("keep what a patch may not change, and refuse one that can't be applied", func(ctx SpecContext) {
		createNodes(cluster, "a")
		patch := func(patchType types.PatchType, patch string, subresources ...string) (*corev1.Node, error) {
			return nodes.Patch(ctx, "a", patchType, []byte(patch), metav1.PatchOptions{}, subresources...)
		}
		got, err := patch(types.MergePatchType, `{"spec":{"unschedulable":true},"status":{"phase":"Pending"}}`)
		Expect(err).NotTo(HaveOccurred())
		Expect(got.Spec.Unschedulable).To(BeTrue())
		Expect(got.Status.Phase).To(Equal(corev1.NodeRunning))

		got, err = patch(types.MergePatchType, `{"spec":{"unschedulable":null},"status":{"phase":"Pending"}}`, "status")
		Expect(err).NotTo(HaveOccurred())
		Expect(got.Spec.Unschedulable).To(BeTrue())
		Expect(got.Status.Phase).To(Equal(corev1.NodePending))

		_, err = patch(types.StrategicMergePatchType, `{"metadata":{"resourceVersion":"1","labels":{"a":"b"}}}`)
		Expect(err).To(MatchError(apierrors.IsConflict, "Conflict"))
		_, err = patch(types.JSONPatchType, `[{"op":"test","path":"/spec/providerID","value":"other"}]`)
		Expect(err).To(MatchError(apierrors.IsInvalid, "Invalid"))
		_, err = patch(types.ApplyYAMLPatchType, `{"apiVersion":"v1","kind":"Node"}`)
		Expect(err).To(MatchError(ContainSubstring("do not support patches of type application/apply-patch+yaml")))
		_, err = patch(types.MergePatchType, `{"metadata":{"name":"b"}}`)
		Expect(err).To(MatchError(apierrors.IsBadRequest, "BadRequest"))
	})

	It("list in pages that fit together", func(ctx SpecContext) {
		for i := range 25 {
			createNodes(cluster, fmt.Sprintf("node-%02d", i))
		}
		var names, versions []string
		options := metav1.ListOptions{Limit: 10}
		for {
			page, err := nodes.List(ctx, options)
			Expect(err).NotTo(HaveOccurred())
			for _, n := range page.Items {
				names = append(names, n.Name)
			}
			versions = append(versions, page.ResourceVersion)
			createNodes(cluster, fmt.Sprintf("aa-%d", len(names)))
			if options.Continue = page.Continue; options.Continue == "" {
				break
			}
		}
		Expect(names).To(HaveLen(25))
		Expect(names[24]).To(Equal("node-24"))
		Expect(versions).To(HaveLen(3))
		Expect(versions).To(HaveEach(versions[0]), "a watch goes on from the first page")
	})

	It("select by name and label", func(ctx SpecContext) {
		createNodes(cluster, "a", "b")
		for _, options := range []metav1.ListOptions{
			{FieldSelector: "metadata.name=b"}, {LabelSelector: "kubernetes.io/hostname in (b, c)"},
		} {
			list, err := nodes.List(ctx, options)
			Expect(err).NotTo(HaveOccurred())
			Expect(list.Items).To(HaveExactElements(HaveField("Name", "b")))
		}
		_, err := nodes.List(ctx, metav1.ListOptions{FieldSelector: "spec.podCIDR=x"})
		Expect(err).To(MatchError(apierrors.IsBadRequest, "BadRequest"))
	})

	It("serve Pods by Node, and other kinds as empty lists", func(ctx SpecContext) {
		for name, nodeName := range map[string]string{"here": "a", "there": "b"} {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name}}
			pod.Spec.NodeName = nodeName
			Expect(cluster.Create(pod)).To(Succeed())
		}
		pods, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=a"})
		Expect(err).NotTo(HaveOccurred())
		Expect(pods.Items).To(HaveExactElements(HaveField("Name", "here")))

		attachments, err := client.StorageV1().VolumeAttachments().List(ctx, metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(attachments.Items).To(BeEmpty())
	})

	It("answer discovery, version and health", func(ctx SpecContext) {
		groups, resources, err := client.Discovery().ServerGroupsAndResources()
		Expect(err).NotTo(HaveOccurred())
		Expect(groups).To(ConsistOf(HaveField("Name", ""), HaveField("Name", "apps"),
			HaveField("Name", "policy"), HaveField("Name", "storage.k8s.io")))
		for _, subresource := range []string{"nodes/status", "pods/eviction"} {
			Expect(resources).To(ContainElement(HaveField("APIResources", ContainElement(HaveField("Name", subresource)))))
		}
		version, err := client.Discovery().ServerVersion()
		Expect(err).NotTo(HaveOccurred())
		Expect(version.GitVersion).To(Equal(workload.KubernetesVersion))
		for _, path := range []string{"", "/", "/healthz"} {
			_, err := client.RESTClient().Get().AbsPath(path).DoRaw(ctx)
			Expect(err).NotTo(HaveOccurred(), path)
		}
	})

	It("answer what there isn't with a Status", func(ctx SpecContext) {
		_, err := client.BatchV1().Jobs("default").List(ctx, metav1.ListOptions{})
		Expect(err).To(MatchError(apierrors.IsNotFound, "NotFound"))
		err = nodes.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
		Expect(err).To(MatchError(apierrors.IsMethodNotSupported, "MethodNotAllowed"))
		_, err = nodes.Create(ctx, node("a"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		Expect(err).To(MatchError(apierrors.IsBadRequest, "BadRequest"))
		err = client.CoreV1().RESTClient().Post().Resource("nodes").Body([]byte(`{"kind":"Pod","apiVersion":"v1"}`)).Do(ctx).Error()
		Expect(err).To(MatchError(ContainSubstring("expected a /v1, Kind=Node, the request's body is a /v1, Kind=Pod")))
	})

	It("serve clients that know metadata only", func(ctx SpecContext) {
		createNodes(cluster, "a")
		metadataClient, err := metadata.NewForConfigAndClient(metadata.ConfigFor(config), client.CoreV1().RESTClient().(*rest.RESTClient).Client)
		Expect(err).NotTo(HaveOccurred())
		got, err := metadataClient.Resource(corev1.SchemeGroupVersion.WithResource("nodes")).Get(ctx, "a", metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(got.Labels).To(HaveKeyWithValue("kubernetes.io/hostname", "a"))
	})

	It("keep an object with finalizers until they are gone", func(ctx SpecContext) {
		guarded := node("a")
		guarded.Finalizers = []string{"example.com/guard"}
		Expect(cluster.Create(guarded)).To(Succeed())
		Expect(nodes.Delete(ctx, "a", metav1.DeleteOptions{})).To(Succeed())
		got, err := nodes.Get(ctx, "a", metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(got.DeletionTimestamp).NotTo(BeNil())
		_, err = nodes.Patch(ctx, "a", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(cluster.Get(nodeKey("a"), &corev1.Node{})).To(MatchError(apierrors.IsNotFound, "NotFound"))
	})

	It("are counted by verb, resource and user agent", func(ctx SpecContext) {
		createNodes(cluster, "a")
		for range 3 {
			_, err := nodes.Get(ctx, "a", metav1.GetOptions{})
			Expect(err).NotTo(HaveOccurred())
		}
		Expect(cluster.Requests()).To(Equal(map[workload.Request]int{
			{UserAgent: "workload-test", Verb: "get", Resource: "nodes"}: 3,
		}))
	})

	It("need the present token", func(ctx SpecContext) {
		cluster.RotateToken()
		_, err := nodes.List(ctx, metav1.ListOptions{})
		Expect(err).To(MatchError(apierrors.IsUnauthorized, "Unauthorized"))
		_, err = clientset(restConfig(cluster)).CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
	})

	It("need the present CA", func(ctx SpecContext) {
		_, err := nodes.List(ctx, metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(cluster.RotateCA()).To(Succeed())
		_, err = nodes.List(ctx, metav1.ListOptions{})
		Expect(err).To(MatchError(ContainSubstring("certificate signed by unknown authority")))
		_, err = clientset(restConfig(cluster)).CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
	})

	It("can't be set up wrongly", func() {
		_, err := server.AddCluster(types.NamespacedName{Name: "no-namespace"})
		Expect(err).To(MatchError(ContainSubstring("namespace and name are required")))
		_, err = workload.Start(workload.Options{HistorySize: -1})
		Expect(err).To(MatchError(ContainSubstring("HistorySize is -1")))
		Expect(cluster.Create(&corev1.ResourceQuota{})).To(MatchError(ContainSubstring("do not serve /v1, Kind=ResourceQuota")))
	})

	It("take as long as the cluster's latency says", func(ctx SpecContext) {
		const latency = 100 * time.Millisecond
		cluster.SetLatency(latency)
		begin := time.Now()
		_, err := nodes.List(ctx, metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(time.Since(begin)).To(BeNumerically(">=", latency))

		cluster.SetLatency(time.Hour)
		short, cancel := context.WithTimeout(ctx, latency)
		defer cancel()
		_, err = nodes.List(short, metav1.ListOptions{})
		Expect(err).To(MatchError(context.DeadlineExceeded))
	})

	It("to another cluster need that cluster's token", func(ctx SpecContext) {
		config.Host = config.Host[:len(config.Host)-len("one")] + "two"
		_, err := clientset(config).CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		Expect(err).To(MatchError(apierrors.IsNotFound, "NotFound"))
		Expect(err).To(MatchError(ContainSubstring(`clusters "default/two" not found`)))

		other := addCluster(server, "two")
		_, err = clientset(config).CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		Expect(err).To(MatchError(apierrors.IsUnauthorized, "Unauthorized"))
		_, err = clientset(restConfig(other)).CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
	})
})
