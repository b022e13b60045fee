// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package builder

import (
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// ClusterBuilder builds Clusters. It is immutable.
type ClusterBuilder struct{ cluster clusterv1.Cluster }

// Cluster starts a Cluster that has the network of a small cluster and no status.
func Cluster(namespace, name string) ClusterBuilder {
	return ClusterBuilder{clusterv1.Cluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: clusterv1.ClusterKind},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: clusterv1.ClusterSpec{ClusterNetwork: clusterv1.ClusterNetwork{
			Pods: clusterv1.NetworkRanges{CIDRBlocks: []string{"10.244.0.0/16"}},
		}},
	}}
}

// Build returns a new Cluster.
func (b ClusterBuilder) Build() *clusterv1.Cluster { return b.cluster.DeepCopy() }

// With returns a builder with a change that has no method of its own.
func (b ClusterBuilder) With(change func(*clusterv1.Cluster)) ClusterBuilder {
	copied := b.cluster.DeepCopy()
	change(copied)
	return ClusterBuilder{*copied}
}

// WithLabel returns a builder with a label.
func (b ClusterBuilder) WithLabel(key, value string) ClusterBuilder {
	return b.With(func(c *clusterv1.Cluster) { metav1.SetMetaDataLabel(&c.ObjectMeta, key, value) })
}

// WithAnnotation returns a builder with an annotation.
func (b ClusterBuilder) WithAnnotation(key, value string) ClusterBuilder {
	return b.With(func(c *clusterv1.Cluster) { metav1.SetMetaDataAnnotation(&c.ObjectMeta, key, value) })
}

// WithPaused returns a builder with spec.paused.
func (b ClusterBuilder) WithPaused(paused bool) ClusterBuilder {
	return b.With(func(c *clusterv1.Cluster) { c.Spec.Paused = new(paused) })
}

// WithControlPlaneRef returns a builder whose control plane is run by an object of a provider.
func (b ClusterBuilder) WithControlPlaneRef(ref clusterv1.ContractVersionedObjectReference) ClusterBuilder {
	return b.With(func(c *clusterv1.Cluster) { c.Spec.ControlPlaneRef = ref })
}

// WithInfrastructureProvisioned returns a builder with the flag in status by which providers start.
func (b ClusterBuilder) WithInfrastructureProvisioned(provisioned bool) ClusterBuilder {
	return b.With(func(c *clusterv1.Cluster) { c.Status.Initialization.InfrastructureProvisioned = new(provisioned) })
}

// WithControlPlaneInitialized returns a builder whose status says whether there is an API server that Nodes can join, as
// flag and as condition.
func (b ClusterBuilder) WithControlPlaneInitialized(initialized bool) ClusterBuilder {
	return b.With(func(c *clusterv1.Cluster) {
		c.Status.Initialization.ControlPlaneInitialized = new(initialized)
		condition := metav1.Condition{
			Type:   clusterv1.ClusterControlPlaneInitializedCondition,
			Status: metav1.ConditionFalse, Reason: clusterv1.ClusterControlPlaneNotInitializedReason,
		}
		if initialized {
			condition.Status, condition.Reason = metav1.ConditionTrue, clusterv1.ClusterControlPlaneInitializedReason
		}
		apimeta.SetStatusCondition(&c.Status.Conditions, condition)
	})
}
