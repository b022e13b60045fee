// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MachineStatus is what was observed of a machine. But for the times in it, it can be rebuilt from the objects it was
// read from: a Machine that is moved to another management cluster arrives there without a status.
// +kubebuilder:validation:MinProperties=1
type MachineStatus struct {
	// conditions say how the Machine is doing. Ready sums up the others; Available is Ready for minReadySeconds.
	// The Machine controller writes Available, Ready, UpToDate, BootstrapConfigReady, InfrastructureReady, NodeReady,
	// NodeHealthy, Updating, Deleting and Paused. A MachineHealthCheck adds HealthCheckSucceeded and OwnerRemediated,
	// a control plane provider conditions about its components. There is room for 32 of them.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// initialization says how far the first provisioning got. Its flags go up once and never come down, so they
	// don't say whether the machine is fine now; for that see conditions.
	// +optional
	Initialization MachineInitializationStatus `json:"initialization,omitempty,omitzero"`

	// nodeRef names the Node that runs on the machine. Once set it stays, also when the Node is gone.
	// +optional
	NodeRef MachineNodeReference `json:"nodeRef,omitempty,omitzero"`

	// nodeInfo is a copy of the Node's status.nodeInfo: kubelet version, operating system, kernel and so on.
	// It is kept when the Node can't be read.
	// +optional
	NodeInfo *corev1.NodeSystemInfo `json:"nodeInfo,omitempty"`

	// lastUpdated is when phase last changed.
	// +optional
	LastUpdated metav1.Time `json:"lastUpdated,omitempty,omitzero"`

	// addresses are the addresses of the machine, copied from the InfraMachine.
	// +optional
	Addresses MachineAddresses `json:"addresses,omitempty"`

	// failureDomain is where the machine runs, copied from the InfraMachine.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	FailureDomain string `json:"failureDomain,omitempty"`

	// phase is a one-word summary for people. Programs should look at conditions and at initialization instead.
	// +optional
	// +kubebuilder:validation:Enum=Pending;Provisioning;Provisioned;Running;Updating;Deleting;Deleted;Failed;Unknown
	Phase string `json:"phase,omitempty"`

	// certificatesExpiryDate is when the first of the machine's certificates expires. Only known for control plane
	// machines; their provider may replace the Machine in time.
	// +optional
	CertificatesExpiryDate metav1.Time `json:"certificatesExpiryDate,omitempty,omitzero"`

	// observedGeneration is the metadata.generation that the last reconcile without an error saw. If it is lower
	// than metadata.generation, the rest of this status may describe an older spec.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// deletion says since when the deletion waits at which step. Not present before the first of those steps.
	// +optional
	Deletion *MachineDeletionStatus `json:"deletion,omitempty"`

	// deprecated is kept for readers of older API versions. Don't build on it.
	// +optional
	Deprecated *MachineDeprecatedStatus `json:"deprecated,omitempty"`
}

// MachineNodeReference names a Node of the workload cluster.
type MachineNodeReference struct {
	// name of the Node: an RFC 1123 subdomain, at most 253 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name,omitempty"`
}

// IsDefined says whether the reference names a Node. It is false for a nil reference.
func (r *MachineNodeReference) IsDefined() bool {
	return r != nil && r.Name != ""
}

// MachineInitializationStatus says how far the first provisioning of a machine got. Other controllers rely on these
// flags to take the next step; they are part of the provider contract.
// +kubebuilder:validation:MinProperties=1
type MachineInitializationStatus struct {
	// infrastructureProvisioned is true once the InfraMachine has said that its machine exists and is complete.
	// +optional
	InfrastructureProvisioned *bool `json:"infrastructureProvisioned,omitempty"`

	// bootstrapDataSecretCreated is true once the bootstrap data is there.
	// +optional
	BootstrapDataSecretCreated *bool `json:"bootstrapDataSecretCreated,omitempty"`
}

// MachineDeletionStatus says since when a deletion waits at each of its steps. A time is set when the step begins
// and stays, so that the timeouts in spec.deletion count over restarts of the controller.
type MachineDeletionStatus struct {
	// nodeDrainStartTime is when the drain of the Node began. spec.deletion.nodeDrainTimeoutSeconds counts from it.
	// +optional
	NodeDrainStartTime metav1.Time `json:"nodeDrainStartTime,omitempty,omitzero"`

	// waitForNodeVolumeDetachStartTime is when the wait for volumes to leave the Node began.
	// spec.deletion.nodeVolumeDetachTimeoutSeconds counts from it.
	// +optional
	WaitForNodeVolumeDetachStartTime metav1.Time `json:"waitForNodeVolumeDetachStartTime,omitempty,omitzero"`

	// waitForPreDrainHookStartTime is when the wait for the owners of pre-drain hooks began. It has no timeout: a
	// time long ago means that an owner does not take its annotation off the Machine.
	// +optional
	WaitForPreDrainHookStartTime metav1.Time `json:"waitForPreDrainHookStartTime,omitempty,omitzero"`

	// waitForPreTerminateHookStartTime is the same for pre-terminate hooks.
	// +optional
	WaitForPreTerminateHookStartTime metav1.Time `json:"waitForPreTerminateHookStartTime,omitempty,omitzero"`
}
