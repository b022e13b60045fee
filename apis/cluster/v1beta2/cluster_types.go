// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	"net"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ClusterKind is the kind of Cluster, as owner references and object references spell it.
const ClusterKind = "Cluster"

// ClusterSpec says which workload cluster is wanted.
// +kubebuilder:validation:MinProperties=1
type ClusterSpec struct {
	// paused stops the controllers from touching the Cluster and everything that belongs to it, Machines included.
	// Use it to move a cluster to another management cluster or to hold everything still while you look.
	// +optional
	Paused *bool `json:"paused,omitempty"`

	// clusterNetwork holds the address ranges and the domain of the workload cluster.
	// +optional
	ClusterNetwork ClusterNetwork `json:"clusterNetwork,omitempty,omitzero"`

	// controlPlaneEndpoint is where the API server of the workload cluster can be reached. Filled in from the
	// infrastructure or the control plane object unless you set it.
	// +optional
	ControlPlaneEndpoint APIEndpoint `json:"controlPlaneEndpoint,omitempty,omitzero"`

	// controlPlaneRef names the object whose provider runs the control plane. Not set for a control plane made of
	// stand-alone Machines.
	// +optional
	ControlPlaneRef ContractVersionedObjectReference `json:"controlPlaneRef,omitempty,omitzero"`

	// infrastructureRef names the InfraCluster: the object whose provider creates what the machines share, such as
	// networks and load balancers.
	// +optional
	InfrastructureRef ContractVersionedObjectReference `json:"infrastructureRef,omitempty,omitzero"`

	// topology describes a Cluster that is generated from a ClusterClass. It is stored and handed on as it is;
	// nothing in this group's Machine controller depends on it.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Topology *runtime.RawExtension `json:"topology,omitempty"`

	// availabilityGates are further conditions of this Cluster that have to be good before it is Available. If not
	// set, those of the ClusterClass apply, if there is one.
	// +optional
	// +listType=map
	// +listMapKey=conditionType
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	AvailabilityGates []ClusterAvailabilityGate `json:"availabilityGates,omitempty"`
}

// ClusterAvailabilityGate names a condition that the Available condition of a Cluster takes into account.
type ClusterAvailabilityGate struct {
	// conditionType is the type of the condition in status.conditions of the same Cluster. Who writes it does not
	// matter. A condition that is missing counts as Unknown.
	// +required
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
	ConditionType string `json:"conditionType,omitempty"`

	// polarity is Positive if the condition has to be True for the Cluster to be Available, Negative if it has to be
	// False. Not set is the same as Positive.
	// +optional
	Polarity ConditionPolarity `json:"polarity,omitempty"`
}

// ClusterNetwork holds what the parts of a workload cluster have to agree on to talk to each other.
// +kubebuilder:validation:MinProperties=1
type ClusterNetwork struct {
	// apiServerPort is the port on which the API servers listen. Not set is the same as 6443.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	APIServerPort int32 `json:"apiServerPort,omitempty"`

	// services are the address ranges for Services.
	// +optional
	Services NetworkRanges `json:"services,omitempty,omitzero"`

	// pods are the address ranges for Pods.
	// +optional
	Pods NetworkRanges `json:"pods,omitempty,omitzero"`

	// serviceDomain is the DNS domain of Services, such as cluster.local.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ServiceDomain string `json:"serviceDomain,omitempty"`
}

// NetworkRanges is a list of address ranges.
type NetworkRanges struct {
	// cidrBlocks are the ranges in CIDR notation, such as 10.96.0.0/12 or fd00:1::/108.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=43
	CIDRBlocks []string `json:"cidrBlocks,omitempty"`
}

// String returns the ranges, separated by commas.
func (n NetworkRanges) String() string {
	return strings.Join(n.CIDRBlocks, ",")
}

// APIEndpoint is where an API server can be reached.
// +kubebuilder:validation:MinProperties=1
type APIEndpoint struct {
	// host is a DNS name or an IP address.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Host string `json:"host,omitempty"`

	// port is a TCP port.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}

// IsZero says whether neither host nor port is set.
func (v APIEndpoint) IsZero() bool {
	return v == APIEndpoint{}
}

// IsValid says whether both host and port are set.
func (v APIEndpoint) IsValid() bool {
	return v.Host != "" && v.Port != 0
}

// String returns host and port as host:port, an IPv6 address in brackets.
func (v APIEndpoint) String() string {
	return net.JoinHostPort(v.Host, strconv.Itoa(int(v.Port)))
}

// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=clusters,shortName=cl,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ClusterClass",type="string",JSONPath=".spec.topology.classRef.name",description="ClusterClass from which the Cluster is generated, if any"
// +kubebuilder:printcolumn:name="Available",type="string",JSONPath=`.status.conditions[?(@.type=="Available")].status`,description="Whether infrastructure, control plane and workers are all available"
// +kubebuilder:printcolumn:name="CP Desired",type=integer,JSONPath=".status.controlPlane.desiredReplicas",description="Control plane machines wanted"
// +kubebuilder:printcolumn:name="CP Current",type="integer",JSONPath=".status.controlPlane.replicas",description="Control plane machines that exist",priority=10
// +kubebuilder:printcolumn:name="CP Ready",type="integer",JSONPath=".status.controlPlane.readyReplicas",description="Control plane machines that are Ready",priority=10
// +kubebuilder:printcolumn:name="CP Available",type=integer,JSONPath=".status.controlPlane.availableReplicas",description="Control plane machines that are Available"
// +kubebuilder:printcolumn:name="CP Up-to-date",type=integer,JSONPath=".status.controlPlane.upToDateReplicas",description="Control plane machines that are UpToDate"
// +kubebuilder:printcolumn:name="W Desired",type=integer,JSONPath=".status.workers.desiredReplicas",description="Worker machines wanted"
// +kubebuilder:printcolumn:name="W Current",type="integer",JSONPath=".status.workers.replicas",description="Worker machines that exist",priority=10
// +kubebuilder:printcolumn:name="W Ready",type="integer",JSONPath=".status.workers.readyReplicas",description="Worker machines that are Ready",priority=10
// +kubebuilder:printcolumn:name="W Available",type=integer,JSONPath=".status.workers.availableReplicas",description="Worker machines that are Available"
// +kubebuilder:printcolumn:name="W Up-to-date",type=integer,JSONPath=".status.workers.upToDateReplicas",description="Worker machines that are UpToDate"
// +kubebuilder:printcolumn:name="Paused",type="string",JSONPath=`.status.conditions[?(@.type=="Paused")].status`,description="Whether the Cluster is left alone because it is paused",priority=10
// +kubebuilder:printcolumn:name="Phase",type="string",JSONPath=".status.phase",description="Stage of life: Pending, Provisioning, Provisioned, Deleting"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the Cluster was created"
// +kubebuilder:printcolumn:name="Version",type="string",JSONPath=".spec.topology.version",description="Kubernetes version wanted, of a Cluster with a ClusterClass"

// Cluster is one workload cluster: what its Machines have in common. Machinist reads Clusters and never writes them.
type Cluster struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard metadata of an object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the cluster that is wanted.
	// +required
	Spec ClusterSpec `json:"spec,omitempty,omitzero"`

	// status is what was last observed of the cluster.
	// +optional
	Status ClusterStatus `json:"status,omitempty,omitzero"`
}

// GetConditions returns the conditions of the Cluster. The slice is the Cluster's own.
func (c *Cluster) GetConditions() []metav1.Condition {
	return c.Status.Conditions
}

// SetConditions replaces all conditions of the Cluster, those of other writers included.
func (c *Cluster) SetConditions(conditions []metav1.Condition) {
	c.Status.Conditions = conditions
}

// +kubebuilder:object:root=true

// ClusterList is a list of Clusters.
type ClusterList struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard metadata of a list.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the Clusters.
	Items []Cluster `json:"items"`
}
