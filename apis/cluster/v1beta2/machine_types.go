// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MachineSpec says which machine is wanted.
type MachineSpec struct {
	// clusterName is the Cluster, in the namespace of the Machine, that the machine joins.
	// It can't be changed.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	ClusterName string `json:"clusterName,omitempty"`

	// bootstrap says where the data comes from that turns a bare machine into a Node: from a bootstrap provider
	// (configRef) or from a Secret that already exists (dataSecretName). One of the two is needed.
	// +required
	Bootstrap Bootstrap `json:"bootstrap,omitempty,omitzero"`

	// infrastructureRef names the InfraMachine: the object whose provider creates the actual machine.
	// It is deleted together with the Machine.
	// +required
	InfrastructureRef ContractVersionedObjectReference `json:"infrastructureRef,omitempty,omitzero"`

	// version is the Kubernetes version that the machine should run, such as v1.37.2. It is read by bootstrap
	// providers and compared with the version of the kubelet; leave it out if neither matters to you.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Version string `json:"version,omitempty"`

	// providerID is the identity of the machine at its infrastructure provider, for example aws:///eu-west-1a/i-0abc.
	// The Machine controller copies it from the InfraMachine and finds the Node with the same spec.providerID.
	// The cluster autoscaler uses it too, to match Machines with Nodes. Users don't set it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ProviderID string `json:"providerID,omitempty"`

	// failureDomain asks for the machine to be placed in this failure domain, one of the names in
	// Cluster.status.failureDomains. Where it ended up is status.failureDomain.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	FailureDomain string `json:"failureDomain,omitempty"`

	// minReadySeconds is how long, in seconds, the Machine has to be Ready without a break before it counts as
	// Available. Not set is the same as 0: Available as soon as it is Ready.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinReadySeconds *int32 `json:"minReadySeconds,omitempty"`

	// readinessGates are further conditions of this Machine that have to be good before it is Ready. Use them for
	// things that other controllers report: control plane components, a driver that has to be installed first.
	// Each of them must appear in status.conditions; until then Ready is Unknown.
	//
	// Gates whose type starts with APIServer, ControllerManager or Scheduler, and that all say the same, appear as
	// one line "Control plane components" in the message of Ready.
	// +optional
	// +listType=map
	// +listMapKey=conditionType
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	ReadinessGates []MachineReadinessGate `json:"readinessGates,omitempty"`

	// deletion says how patient to be at each step of the deletion of this Machine. It may be changed while a
	// deletion is under way, for example to give up on a drain that does not end.
	// +optional
	Deletion MachineDeletionSpec `json:"deletion,omitempty,omitzero"`

	// taints are the taints that the Node gets from this Machine. Taints of the Node that are not listed here are
	// left alone. Takes effect only where the feature MachineTaintPropagation is on.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +listMapKey=effect
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Taints []MachineTaint `json:"taints,omitempty"`
}

// Bootstrap says where the bootstrap data of a machine comes from.
type Bootstrap struct {
	// configRef names the BootstrapConfig: the object whose provider writes the bootstrap data into a Secret.
	// It is deleted together with the Machine. Leave it out to bring your own dataSecretName.
	// +optional
	ConfigRef ContractVersionedObjectReference `json:"configRef,omitempty,omitzero"`

	// dataSecretName is the Secret, in the namespace of the Machine, with the bootstrap data under the key value.
	// With a configRef the Machine controller fills it in; the InfraMachine waits until it is set.
	// It is empty, but set, for the Machines of a MachinePool, which have no bootstrap data of their own.
	// +optional
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=253
	DataSecretName *string `json:"dataSecretName,omitempty"`
}

// MachineDeletionSpec bounds the steps of a Machine deletion that depend on the workload cluster.
// +kubebuilder:validation:MinProperties=1
type MachineDeletionSpec struct {
	// nodeDrainTimeoutSeconds is how long, in seconds, Pods are given to leave the Node. After that the machine is
	// taken away with the Pods still on it. Not set or 0 waits for as long as it takes.
	// Unlike the timeout of kubectl drain it counts from the first attempt, over all attempts.
	// +optional
	// +kubebuilder:validation:Minimum=0
	NodeDrainTimeoutSeconds *int32 `json:"nodeDrainTimeoutSeconds,omitempty"`

	// nodeVolumeDetachTimeoutSeconds is how long, in seconds, to wait for volumes to be detached from the Node before
	// the machine is taken away regardless. Not set or 0 waits for as long as it takes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	NodeVolumeDetachTimeoutSeconds *int32 `json:"nodeVolumeDetachTimeoutSeconds,omitempty"`

	// nodeDeletionTimeoutSeconds is how long, in seconds, to try to delete the Node object once the machine is gone.
	// The webhook sets 10 if it is left out; 0 tries for ever.
	// +optional
	// +kubebuilder:validation:Minimum=0
	NodeDeletionTimeoutSeconds *int32 `json:"nodeDeletionTimeoutSeconds,omitempty"`
}

// MachineReadinessGate names a condition that the Ready condition of a Machine takes into account.
type MachineReadinessGate struct {
	// conditionType is the type of the condition in status.conditions of the same Machine. Who writes it does not
	// matter. A condition that is missing counts as Unknown.
	// +required
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
	ConditionType string `json:"conditionType,omitempty"`

	// polarity is Positive if the condition has to be True for the Machine to be Ready, Negative if it has to be
	// False. Not set is the same as Positive.
	// +optional
	Polarity ConditionPolarity `json:"polarity,omitempty"`
}

// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=machines,shortName=ma,scope=Namespaced,categories=cluster-api
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".spec.clusterName",description="Cluster that the Machine belongs to"
// +kubebuilder:printcolumn:name="Node Name",type="string",JSONPath=".status.nodeRef.name",description="Node that runs on the machine"
// +kubebuilder:printcolumn:name="Provider ID",type="string",JSONPath=".spec.providerID",description="Identity of the machine at its infrastructure provider",priority=10
// +kubebuilder:printcolumn:name="Failure domain",type="string",JSONPath=".status.failureDomain",description="Failure domain in which the machine runs"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the machine, its bootstrap and its Node are all well"
// +kubebuilder:printcolumn:name="Available",type="string",JSONPath=`.status.conditions[?(@.type=="Available")].status`,description="Whether the Machine has been Ready for minReadySeconds"
// +kubebuilder:printcolumn:name="Up-to-date",type="string",JSONPath=`.status.conditions[?(@.type=="UpToDate")].status`,description="Whether the Machine is what its owner asks for now"
// +kubebuilder:printcolumn:name="Internal-IP",type="string",JSONPath=`.status.addresses[?(@.type=="InternalIP")].address`,description="First internal IP address",priority=10
// +kubebuilder:printcolumn:name="External-IP",type="string",JSONPath=`.status.addresses[?(@.type=="ExternalIP")].address`,description="First external IP address",priority=10
// +kubebuilder:printcolumn:name="OS-Image",type="string",JSONPath=`.status.nodeInfo.osImage`,description="Operating system as the Node reports it",priority=10
// +kubebuilder:printcolumn:name="Paused",type="string",JSONPath=`.status.conditions[?(@.type=="Paused")].status`,description="Whether the Machine is left alone because it or its Cluster is paused",priority=10
// +kubebuilder:printcolumn:name="Phase",type="string",JSONPath=".status.phase",description="Stage of life: Pending, Provisioning, Provisioned, Running, Deleting"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the Machine was created"
// +kubebuilder:printcolumn:name="Version",type="string",JSONPath=".spec.version",description="Kubernetes version wanted"

// Machine is one machine that is, or is about to become, a Node of a workload cluster. It ties together the object
// that creates the machine (InfraMachine), the object that makes it join (BootstrapConfig) and the Node.
//
// A Machine is not changed in place to become another machine: owners such as MachineSet replace it.
type Machine struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard metadata of an object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the machine that is wanted.
	// +required
	Spec MachineSpec `json:"spec,omitempty,omitzero"`

	// status is what was last observed of the machine and of the objects it refers to.
	// +optional
	Status MachineStatus `json:"status,omitempty,omitzero"`
}

// GetConditions returns the conditions of the Machine. The slice is the Machine's own.
func (m *Machine) GetConditions() []metav1.Condition {
	return m.Status.Conditions
}

// SetConditions replaces all conditions of the Machine, those of other writers included.
func (m *Machine) SetConditions(conditions []metav1.Condition) {
	m.Status.Conditions = conditions
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
