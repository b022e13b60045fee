// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterStatus is what was observed of a workload cluster.
// +kubebuilder:validation:MinProperties=1
type ClusterStatus struct {
	// conditions say how the Cluster is doing; Available sums up the others. The Cluster controller writes Available,
	// InfrastructureReady, ControlPlaneInitialized, ControlPlaneAvailable, WorkersAvailable, RemoteConnectionProbe,
	// RollingOut, ScalingUp, ScalingDown, Remediating, Deleting, Paused and, for control plane and workers each,
	// MachinesReady and MachinesUpToDate; with a topology also TopologyReconciled. There is room for 32 of them.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// initialization says how far the first provisioning got. Its flags go up once and never come down.
	// +optional
	Initialization ClusterInitializationStatus `json:"initialization,omitempty,omitzero"`

	// controlPlane counts the control plane machines.
	// +optional
	ControlPlane *ClusterControlPlaneStatus `json:"controlPlane,omitempty"`

	// workers counts the worker machines.
	// +optional
	Workers *WorkersStatus `json:"workers,omitempty"`

	// failureDomains are the places among which machines can be spread, copied from the InfraCluster.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	FailureDomains []FailureDomain `json:"failureDomains,omitempty"`

	// phase is a one-word summary for people. Programs should look at conditions and at initialization instead.
	// +optional
	// +kubebuilder:validation:Enum=Pending;Provisioning;Provisioned;Deleting;Failed;Unknown
	Phase string `json:"phase,omitempty"`

	// observedGeneration is the metadata.generation that this status describes.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// deprecated is kept for readers of older API versions. Don't build on it.
	// +optional
	Deprecated *ClusterDeprecatedStatus `json:"deprecated,omitempty"`
}

// ClusterInitializationStatus says how far the first provisioning of a cluster got. Other controllers rely on these
// flags to take the next step; they are part of the provider contract.
// +kubebuilder:validation:MinProperties=1
type ClusterInitializationStatus struct {
	// infrastructureProvisioned is true once the InfraCluster has said that what it provides is complete.
	// +optional
	InfrastructureProvisioned *bool `json:"infrastructureProvisioned,omitempty"`

	// controlPlaneInitialized is true once the API server of the cluster has answered for the first time. It may
	// still lack replicas; from here on worker machines can join.
	// +optional
	ControlPlaneInitialized *bool `json:"controlPlaneInitialized,omitempty"`
}

// ClusterControlPlaneStatus counts the control plane machines of a cluster.
type ClusterControlPlaneStatus struct {
	// desiredReplicas is how many control plane machines are wanted.
	// +optional
	DesiredReplicas *int32 `json:"desiredReplicas,omitempty"`

	// replicas is how many control plane machines exist, those coming and going included.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// upToDateReplicas is how many of them have condition UpToDate True.
	// +optional
	UpToDateReplicas *int32 `json:"upToDateReplicas,omitempty"`

	// readyReplicas is how many of them have condition Ready True.
	// +optional
	ReadyReplicas *int32 `json:"readyReplicas,omitempty"`

	// availableReplicas is how many of them have condition Available True.
	// +optional
	AvailableReplicas *int32 `json:"availableReplicas,omitempty"`

	// versions counts the machines by Kubernetes version.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Versions []StatusVersion `json:"versions,omitempty"`

	// upgradePlan is the versions that the control plane has yet to be given, in order, while a Cluster with a
	// topology is upgraded. It is computed anew as the upgrade goes on.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	UpgradePlan []StatusUpgradePlanVersion `json:"upgradePlan,omitempty"`
}

// WorkersStatus counts the worker machines of a cluster.
type WorkersStatus struct {
	// desiredReplicas is how many worker machines are wanted.
	// +optional
	DesiredReplicas *int32 `json:"desiredReplicas,omitempty"`

	// replicas is how many worker machines exist, those coming and going included.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// upToDateReplicas is how many of them have condition UpToDate True.
	// +optional
	UpToDateReplicas *int32 `json:"upToDateReplicas,omitempty"`

	// readyReplicas is how many of them have condition Ready True.
	// +optional
	ReadyReplicas *int32 `json:"readyReplicas,omitempty"`

	// availableReplicas is how many of them have condition Available True.
	// +optional
	AvailableReplicas *int32 `json:"availableReplicas,omitempty"`

	// versions counts the machines by Kubernetes version.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Versions []StatusVersion `json:"versions,omitempty"`

	// upgradePlan is the versions that MachineDeployments and MachinePools have yet to be given, in order, while a
	// Cluster with a topology is upgraded. It is computed anew as the upgrade goes on.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	UpgradePlan []StatusUpgradePlanVersion `json:"upgradePlan,omitempty"`
}

// StatusVersion is how many machines run one Kubernetes version.
type StatusVersion struct {
	// version is a Kubernetes version.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Version string `json:"version,omitempty"`

	// replicas is how many machines run it.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Replicas int32 `json:"replicas,omitempty"`
}

// StatusUpgradePlanVersion is one step of an upgrade.
type StatusUpgradePlanVersion struct {
	// version is the Kubernetes version to go to in this step.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Version string `json:"version,omitempty"`
}

// FailureDomain is a place, such as an availability zone, that fails on its own.
type FailureDomain struct {
	// name of the failure domain, as used in Machine.spec.failureDomain.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name,omitempty"`

	// controlPlane is true if control plane machines may be placed here.
	// +optional
	ControlPlane *bool `json:"controlPlane,omitempty"`

	// attributes are further facts, with names that the infrastructure provider chooses.
	// +optional
	Attributes map[string]string `json:"attributes,omitempty"`
}

// ClusterPhase is a one-word summary of a Cluster for people.
type ClusterPhase string

const (
	// ClusterPhasePending: created, nothing done yet.
	ClusterPhasePending = ClusterPhase("Pending")

	// ClusterPhaseProvisioning: the infrastructure provider is at work.
	ClusterPhaseProvisioning = ClusterPhase("Provisioning")

	// ClusterPhaseProvisioned: the infrastructure is complete and the endpoint of the API server is known.
	ClusterPhaseProvisioned = ClusterPhase("Provisioned")

	// ClusterPhaseDeleting: deletion was asked for and is not complete.
	ClusterPhaseDeleting = ClusterPhase("Deleting")

	// ClusterPhaseFailed is accepted for objects written as v1beta1. It is deprecated and no controller sets it.
	ClusterPhaseFailed = ClusterPhase("Failed")

	// ClusterPhaseUnknown is what GetTypedPhase returns for anything else.
	ClusterPhaseUnknown = ClusterPhase("Unknown")
)

// SetTypedPhase sets the phase.
func (c *ClusterStatus) SetTypedPhase(p ClusterPhase) {
	c.Phase = string(p)
}

// GetTypedPhase returns the phase, or ClusterPhaseUnknown if it is empty or not one of the constants above.
func (c *ClusterStatus) GetTypedPhase() ClusterPhase {
	switch phase := ClusterPhase(c.Phase); phase {
	case ClusterPhasePending, ClusterPhaseProvisioning, ClusterPhaseProvisioned, ClusterPhaseDeleting, ClusterPhaseFailed:
		return phase
	default:
		return ClusterPhaseUnknown
	}
}
