// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// MachineSpec says which machine is wanted.
type MachineSpec struct {
	// clusterName is the Cluster, in the namespace of the Machine, that the machine joins.
	// It can't be changed.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	ClusterName string `json:"clusterName"`

	// bootstrap says where the data comes from that turns a bare machine into a Node: from a bootstrap provider
	// (configRef) or from a Secret that already exists (dataSecretName). One of the two is needed.
	// +required
	Bootstrap Bootstrap `json:"bootstrap"`

	// infrastructureRef names the InfraMachine: the object whose provider creates the actual machine.
	// Of the reference only group, kind and name count. The version in apiVersion is always shown as the one that the
	// provider names now, and namespace as that of the Machine; what you write there has no effect.
	// +required
	InfrastructureRef corev1.ObjectReference `json:"infrastructureRef"`

	// version is the Kubernetes version that the machine should run, such as v1.37.2.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Version *string `json:"version,omitempty"`

	// providerID is the identity of the machine at its infrastructure provider, for example aws:///eu-west-1a/i-0abc.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ProviderID *string `json:"providerID,omitempty"`

	// failureDomain asks for the machine to be placed in this failure domain, one of the keys in
	// Cluster.status.failureDomains.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	FailureDomain *string `json:"failureDomain,omitempty"`

	// readinessGates are further conditions of this Machine that have to be good before it is Ready.
	// +optional
	// +listType=map
	// +listMapKey=conditionType
	// +kubebuilder:validation:MaxItems=32
	ReadinessGates []clusterv1.MachineReadinessGate `json:"readinessGates,omitempty"`

	// nodeDrainTimeout is how long Pods are given to leave the Node, in whole seconds, such as 10m. Not set or 0 waits
	// for as long as it takes.
	// +optional
	NodeDrainTimeout *metav1.Duration `json:"nodeDrainTimeout,omitempty"`

	// nodeVolumeDetachTimeout is how long to wait for volumes to be detached from the Node, in whole seconds. Not set
	// or 0 waits for as long as it takes.
	// +optional
	NodeVolumeDetachTimeout *metav1.Duration `json:"nodeVolumeDetachTimeout,omitempty"`

	// nodeDeletionTimeout is how long to try to delete the Node object once the machine is gone, in whole seconds.
	// The webhook sets 10s if it is left out; 0 tries for ever.
	// +optional
	NodeDeletionTimeout *metav1.Duration `json:"nodeDeletionTimeout,omitempty"`

	// taints are the taints that the Node gets from this Machine.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +listMapKey=effect
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Taints []clusterv1.MachineTaint `json:"taints,omitempty"`
}

// Bootstrap says where the bootstrap data of a machine comes from.
type Bootstrap struct {
	// configRef names the BootstrapConfig: the object whose provider writes the bootstrap data into a Secret.
	// Of the reference only group, kind and name count, as in infrastructureRef.
	// +optional
	ConfigRef *corev1.ObjectReference `json:"configRef,omitempty"`

	// dataSecretName is the Secret, in the namespace of the Machine, with the bootstrap data under the key value.
	// +optional
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=253
	DataSecretName *string `json:"dataSecretName,omitempty"`
}

// MachineAddresses are all known addresses of a machine, in the order in which its provider reports them.
type MachineAddresses []clusterv1.MachineAddress

// MachineStatus is what was observed of a machine.
type MachineStatus struct {
	// nodeRef names the Node that runs on the machine. Once set it stays, also when the Node is gone.
	// +optional
	NodeRef *corev1.ObjectReference `json:"nodeRef,omitempty"`

	// nodeInfo is a copy of the Node's status.nodeInfo.
	// +optional
	NodeInfo *corev1.NodeSystemInfo `json:"nodeInfo,omitempty"`

	// lastUpdated is when phase last changed.
	// +optional
	LastUpdated *metav1.Time `json:"lastUpdated,omitempty"`

	// failureReason is a word for a problem that the InfraMachine or the BootstrapConfig has called final.
	// +optional
	FailureReason *clusterv1.MachineStatusError `json:"failureReason,omitempty"`

	// failureMessage describes the same problem for people.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=10240
	FailureMessage *string `json:"failureMessage,omitempty"`

	// addresses are the addresses of the machine, copied from the InfraMachine.
	// +optional
	Addresses MachineAddresses `json:"addresses,omitempty"`

	// phase is a one-word summary for people. A machine that is being updated in place is shown as Running.
	// +optional
	// +kubebuilder:validation:Enum=Pending;Provisioning;Provisioned;Running;Deleting;Deleted;Failed;Unknown
	Phase string `json:"phase,omitempty"`

	// certificatesExpiryDate is when the first of the machine's certificates expires.
	// +optional
	CertificatesExpiryDate *metav1.Time `json:"certificatesExpiryDate,omitempty"`

	// bootstrapReady is true once the bootstrap data is there.
	// +optional
	BootstrapReady bool `json:"bootstrapReady"`

	// infrastructureReady is true once the InfraMachine has said that its machine exists and is complete.
	// +optional
	InfrastructureReady bool `json:"infrastructureReady"`

	// observedGeneration is the metadata.generation that the last reconcile without an error saw.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are the conditions in the form of v1beta1. Those of v1beta2 are in v1beta2.conditions.
	// +optional
	Conditions clusterv1.Conditions `json:"conditions,omitempty"`

	// deletion says since when the deletion waits at which step.
	// +optional
	Deletion *MachineDeletionStatus `json:"deletion,omitempty"`

	// v1beta2 is what readers of v1beta2 find in the status itself.
	// +optional
	V1Beta2 *MachineV1Beta2Status `json:"v1beta2,omitempty"`
}

// MachineV1Beta2Status holds the parts of a Machine's status that only v1beta2 has.
type MachineV1Beta2Status struct {
	// conditions say how the Machine is doing. Ready sums up the others.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// MachineDeletionStatus says since when a deletion waits at each of its steps.
type MachineDeletionStatus struct {
	// nodeDrainStartTime is when the drain of the Node began. spec.nodeDrainTimeout counts from it.
	// +optional
	NodeDrainStartTime *metav1.Time `json:"nodeDrainStartTime,omitempty"`

	// waitForNodeVolumeDetachStartTime is when the wait for volumes to leave the Node began.
	// spec.nodeVolumeDetachTimeout counts from it.
	// +optional
	WaitForNodeVolumeDetachStartTime *metav1.Time `json:"waitForNodeVolumeDetachStartTime,omitempty"`

	// waitForPreDrainHookStartTime is when the wait for the owners of pre-drain hooks began.
	// +optional
	WaitForPreDrainHookStartTime *metav1.Time `json:"waitForPreDrainHookStartTime,omitempty"`

	// waitForPreTerminateHookStartTime is the same for pre-terminate hooks.
	// +optional
	WaitForPreTerminateHookStartTime *metav1.Time `json:"waitForPreTerminateHookStartTime,omitempty"`
}

// The version is not served by the CustomResourceDefinition as generated, since it needs a webhook; config/crd/patches
// turns it on together with that.

// +kubebuilder:object:root=true
// +kubebuilder:resource:path=machines,shortName=ma,scope=Namespaced,categories=cluster-api
// +kubebuilder:subresource:status
// +kubebuilder:deprecatedversion
// +kubebuilder:unservedversion
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".spec.clusterName",description="Cluster that the Machine belongs to"
// +kubebuilder:printcolumn:name="NodeName",type="string",JSONPath=".status.nodeRef.name",description="Node that runs on the machine"
// +kubebuilder:printcolumn:name="ProviderID",type="string",JSONPath=".spec.providerID",description="Identity of the machine at its infrastructure provider"
// +kubebuilder:printcolumn:name="Phase",type="string",JSONPath=".status.phase",description="Stage of life: Pending, Provisioning, Provisioned, Running, Deleting"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the Machine was created"
// +kubebuilder:printcolumn:name="Version",type="string",JSONPath=".spec.version",description="Kubernetes version wanted"

// Machine is one machine that is, or is about to become, a Node of a workload cluster.
type Machine struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard metadata of an object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the machine that is wanted.
	// +optional
	Spec MachineSpec `json:"spec,omitempty"`

	// status is what was last observed of the machine and of the objects it refers to.
	// +optional
	Status MachineStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// MachineList is a list of Machines.
type MachineList struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard metadata of a list.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the Machines.
	Items []Machine `json:"items"`
}
