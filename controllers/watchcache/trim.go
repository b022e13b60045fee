// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package watchcache

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// trim returns a transform that removes managed fields and the last applied configuration, and then what the object's
// own function removes.
func trim(own func(obj any)) toolscache.TransformFunc {
	return func(obj any) (any, error) {
		trimMetadata(obj)
		if own != nil {
			own(obj)
		}
		return obj, nil
	}
}

func trimMetadata(obj any) {
	if object, err := meta.Accessor(obj); err == nil { // else a tombstone: what it holds was trimmed when it was stored
		TrimMetadata(object)
	}
}

// TrimMetadata removes from an object that the API server has returned what the caches remove from metadata, so that it
// can be compared with, or kept instead of, what is in a cache.
func TrimMetadata(object metav1.Object) {
	object.SetManagedFields(nil)
	annotations := object.GetAnnotations()
	if _, ok := annotations[corev1.LastAppliedConfigAnnotation]; ok {
		delete(annotations, corev1.LastAppliedConfigAnnotation)
		object.SetAnnotations(annotations)
	}
}

func trimCluster(obj any) {
	if cluster, ok := obj.(*clusterv1.Cluster); ok {
		cluster.Spec.Topology = nil
	}
}

// trimCRD keeps what resolving a contract version needs: name, UID and labels.
func trimCRD(obj any) {
	if crd, ok := obj.(*metav1.PartialObjectMetadata); ok {
		crd.Annotations = nil
		crd.OwnerReferences = nil
		crd.Finalizers = nil
	}
}

func trimMachine(obj any) {
	if machine, ok := obj.(*clusterv1.Machine); ok {
		compactMachine(machine)
	}
}

func trimNode(obj any) {
	if node, ok := obj.(*corev1.Node); ok {
		trimNodeContent(node)
	}
}

// TrimNode makes a Node that the API server has returned what it is in the cache. Labels, annotations and taints stay whole,
// but for the last applied configuration.
func TrimNode(node *corev1.Node) {
	TrimMetadata(node)
	trimNodeContent(node)
}

func trimNodeContent(node *corev1.Node) {
	node.Spec.PodCIDR = ""
	node.Spec.PodCIDRs = nil
	node.Status = corev1.NodeStatus{
		Conditions: node.Status.Conditions,
		NodeInfo:   node.Status.NodeInfo,
	}
	for i := range node.Status.Conditions {
		node.Status.Conditions[i].LastHeartbeatTime = metav1.Time{}
	}
	compactNode(node)
}
