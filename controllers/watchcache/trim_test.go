// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package watchcache

import (
	"reflect"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

var (
	noon       = metav1.NewTime(time.Date(2026, 8, 3, 12, 0, 0, 0, time.UTC))
	management = ManagementOptions(Management{SyncPeriod: time.Minute, CRD: &metav1.PartialObjectMetadata{}})
	workload   = WorkloadOptions()
)

// transformOf returns the transform that a cache uses for the object.
func transformOf(options cache.Options, object client.Object) toolscache.TransformFunc {
	for of, by := range options.ByObject {
		if reflect.TypeOf(of) == reflect.TypeOf(object) {
			return by.Transform
		}
	}
	return options.DefaultTransform
}

// long and short are the metadata of an object before and after.
func long() metav1.ObjectMeta {
	meta := short()
	meta.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	meta.Annotations[corev1.LastAppliedConfigAnnotation] = "{}"
	return meta
}

func short() metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "ns", Name: "n", UID: "u", ResourceVersion: "42", DeletionTimestamp: &noon,
		Finalizers: []string{"example.org/one", "example.org/two"}, OwnerReferences: []metav1.OwnerReference{{Name: "o"}, {Name: "p"}},
		Labels: map[string]string{"example.org/label": "l"}, Annotations: map[string]string{"example.org/annotation": "a"},
	}
}

var _ = DescribeTable("Of an object is kept what somebody reads",
	func(options cache.Options, before, after client.Object) {
		transform := transformOf(options, before)
		Expect(transform(before)).To(Equal(after))

		By("doing nothing the second time")
		Expect(transform(before)).To(Equal(after))

		By("leaving a tombstone as it is: what it holds was in the cache")
		tombstone := toolscache.DeletedFinalStateUnknown{Key: "ns/n", Obj: after}
		Expect(transform(tombstone)).To(Equal(tombstone))
	},
	Entry("a Cluster loses its topology", management,
		&clusterv1.Cluster{ObjectMeta: long(), Spec: clusterv1.ClusterSpec{Topology: &runtime.RawExtension{Raw: []byte("{}")}, Paused: new(true)}},
		&clusterv1.Cluster{ObjectMeta: short(), Spec: clusterv1.ClusterSpec{Paused: new(true)}}),
	Entry("a Machine loses metadata only", management,
		&clusterv1.Machine{ObjectMeta: long(), Spec: clusterv1.MachineSpec{ProviderID: "p"}, Status: clusterv1.MachineStatus{Phase: "Running"}},
		&clusterv1.Machine{ObjectMeta: short(), Spec: clusterv1.MachineSpec{ProviderID: "p"}, Status: clusterv1.MachineStatus{Phase: "Running"}}),
	Entry("a CustomResourceDefinition keeps what its contract is resolved from", management,
		&metav1.PartialObjectMetadata{ObjectMeta: long()},
		&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "n", UID: "u", ResourceVersion: "42", DeletionTimestamp: &noon, Labels: map[string]string{"example.org/label": "l"},
		}}),
	Entry("a Node loses images, volumes, addresses, sizes and heartbeats", workload,
		&corev1.Node{ObjectMeta: long(), Spec: corev1.NodeSpec{ProviderID: "p", PodCIDR: "c", PodCIDRs: []string{"c"}, Taints: []corev1.Taint{{Key: "t"}}}, Status: corev1.NodeStatus{
			Conditions:      []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: noon, LastTransitionTime: noon}},
			NodeInfo:        corev1.NodeSystemInfo{KubeletVersion: "v"},
			Images:          []corev1.ContainerImage{{SizeBytes: 1}},
			Capacity:        corev1.ResourceList{corev1.ResourceCPU: {}},
			Allocatable:     corev1.ResourceList{corev1.ResourceCPU: {}},
			Addresses:       []corev1.NodeAddress{{Address: "a"}},
			VolumesInUse:    []corev1.UniqueVolumeName{"v"},
			VolumesAttached: []corev1.AttachedVolume{{Name: "v"}},
		}},
		&corev1.Node{ObjectMeta: short(), Spec: corev1.NodeSpec{ProviderID: "p", Taints: []corev1.Taint{{Key: "t"}}}, Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: noon}},
			NodeInfo:   corev1.NodeSystemInfo{KubeletVersion: "v"},
		}}),
	Entry("anything else in the management cluster loses metadata only", management, &corev1.ConfigMap{ObjectMeta: long()}, &corev1.ConfigMap{ObjectMeta: short()}),
	Entry("anything else in a workload cluster loses metadata only", workload, &corev1.Pod{ObjectMeta: long()}, &corev1.Pod{ObjectMeta: short()}),
)

var _ = DescribeTable("A cache of Machines and Clusters", func(namespace string, namespaces map[string]cache.Config) {
	options := ManagementOptions(Management{Namespace: namespace, SyncPeriod: time.Minute, CRD: &metav1.PartialObjectMetadata{}})
	Expect(options.DefaultNamespaces).To(Equal(namespaces))
	Expect(options.SyncPeriod).To(HaveValue(Equal(time.Minute)))
},
	Entry("is of all namespaces", "", nil),
	Entry("may be of one", "ns", map[string]cache.Config{"ns": {}}),
)

var _ = DescribeTable("Of Machines, a cache", func(filter string, labelled, other bool) {
	options := ManagementOptions(Management{WatchFilter: filter, SyncPeriod: time.Minute, CRD: &metav1.PartialObjectMetadata{}})
	for kind, config := range options.ByObject {
		matches := func(set labels.Set) bool { return config.Label == nil || config.Label.Matches(set) }
		if _, ok := kind.(*clusterv1.Machine); ok {
			Expect(matches(labels.Set{clusterv1.WatchLabel: "red"})).To(Equal(labelled))
			Expect(matches(labels.Set{clusterv1.WatchLabel: "green"})).To(Equal(other))
			Expect(matches(nil)).To(Equal(other))
		} else {
			Expect(config.Label).To(BeNil(), "%T", kind)
		}
	}
},
	Entry("holds all", "", true, true),
	Entry("may hold those with a label", "red", true, false),
)

var _ = It("A Node that the API server has returned can be made what it is in the cache", func() {
	node := func() *corev1.Node {
		return &corev1.Node{
			ObjectMeta: long(), Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "t", TimeAdded: &noon}}},
			Status: corev1.NodeStatus{Images: []corev1.ContainerImage{{SizeBytes: 1}}},
		}
	}
	returned := node()
	TrimNode(returned)
	Expect(transformOf(workload, node())(node())).To(Equal(returned))
	Expect(returned.ObjectMeta).To(Equal(short()), "labels and annotations")
	Expect(returned.Spec.Taints).To(HaveLen(1))
})
