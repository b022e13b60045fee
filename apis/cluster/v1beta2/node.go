// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
)

// Annotations that a Node gets from its Machine, so that somebody who sees only the workload cluster can find the
// way back.
const (
	// ClusterNameAnnotation is the name of the Cluster.
	ClusterNameAnnotation = "cluster.x-k8s.io/cluster-name"

	// ClusterNamespaceAnnotation is the namespace, in the management cluster, of Cluster and Machine.
	ClusterNamespaceAnnotation = "cluster.x-k8s.io/cluster-namespace"

	// MachineAnnotation is the name of the Machine.
	MachineAnnotation = "cluster.x-k8s.io/machine"

	// OwnerKindAnnotation is the kind of the Machine's controller, such as MachineSet. Not set for a Machine of its own.
	OwnerKindAnnotation = "cluster.x-k8s.io/owner-kind"

	// OwnerNameAnnotation is the name of the Machine's controller.
	OwnerNameAnnotation = "cluster.x-k8s.io/owner-name"
)

// Annotations in which the Machine controller remembers, on the Node, what it wrote there, so that it can take it
// off again when it disappears from the Machine. Each is a list of keys, separated by commas. Don't edit them.
const (
	// LabelsFromMachineAnnotation lists the labels.
	LabelsFromMachineAnnotation = "cluster.x-k8s.io/labels-from-machine"

	// AnnotationsFromMachineAnnotation lists the annotations.
	AnnotationsFromMachineAnnotation = "cluster.x-k8s.io/annotations-from-machine"

	// TaintsFromMachineAnnotation lists the taints, each as key:effect.
	TaintsFromMachineAnnotation = "cluster.x-k8s.io/taints-from-machine"
)

// Labels of a Machine in these domains, and in their subdomains, are copied to its Node.
const (
	// NodeRoleLabelPrefix is the domain of the labels that kubectl shows as roles of a Node.
	NodeRoleLabelPrefix = "node-role.kubernetes.io"

	// NodeRestrictionLabelDomain is the domain of labels that a kubelet can't give itself, fit for trust decisions.
	NodeRestrictionLabelDomain = "node-restriction.kubernetes.io"

	// ManagedNodeLabelDomain is the domain of labels that are there to be copied.
	ManagedNodeLabelDomain = "node.cluster.x-k8s.io"

	// ManagedNodeAnnotationDomain is the same for annotations.
	ManagedNodeAnnotationDomain = "node.cluster.x-k8s.io"
)

// InterruptibleLabel is set on the Nodes of machines that may be taken away at any time, such as spot instances.
// Deploy a termination handler on the Nodes that have it.
const InterruptibleLabel = "cluster.x-k8s.io/interruptible"

var (
	// NodeUninitializedTaint keeps Pods off a Node that has just joined. A bootstrap provider sets it; the Machine
	// controller takes it off once labels, annotations and taints have been copied for the first time.
	NodeUninitializedTaint = corev1.Taint{
		Key:    "node.cluster.x-k8s.io/uninitialized",
		Effect: corev1.TaintEffectNoSchedule,
	}

	// NodeOutdatedRevisionTaint steers Pods away from a Node that a rollout is about to replace, so that they need
	// not move twice.
	NodeOutdatedRevisionTaint = corev1.Taint{
		Key:    "node.cluster.x-k8s.io/outdated-revision",
		Effect: corev1.TaintEffectPreferNoSchedule,
	}
)
