// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// ClusterSpec says which workload cluster is wanted.
type ClusterSpec struct {
	// paused stops the controllers from touching the Cluster and everything that belongs to it, Machines included.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// clusterNetwork holds the address ranges and the domain of the workload cluster.
	// +optional
	ClusterNetwork *ClusterNetwork `json:"clusterNetwork,omitempty"`

	// controlPlaneEndpoint is where the API server of the workload cluster can be reached.
	// +optional
	ControlPlaneEndpoint APIEndpoint `json:"controlPlaneEndpoint,omitempty"`

	// controlPlaneRef names the object whose provider runs the control plane. Of the reference only group, kind and
	// name count, as in infrastructureRef.
	// +optional
	ControlPlaneRef *corev1.ObjectReference `json:"controlPlaneRef,omitempty"`

	// infrastructureRef names the InfraCluster. Of the reference only group, kind and name count. The version in
	// apiVersion is always shown as the one that the provider names now, and namespace as that of the Cluster.
	// +optional
	InfrastructureRef *corev1.ObjectReference `json:"infrastructureRef,omitempty"`

	// topology describes a Cluster that is generated from a ClusterClass. It is stored and handed on; nothing in this
	// group's Machine controller depends on it.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Topology *runtime.RawExtension `json:"topology,omitempty"`

	// availabilityGates are further conditions of this Cluster that have to be good before it is Available.
	// +optional
	// +listType=map
	// +listMapKey=conditionType
	// +kubebuilder:validation:MaxItems=32
	AvailabilityGates []clusterv1.ClusterAvailabilityGate `json:"availabilityGates,omitempty"`
}

// ClusterNetwork holds what the parts of a workload cluster have to agree on to talk to each other.
type ClusterNetwork struct {
	// apiServerPort is the port on which the API servers listen. Not set is the same as 6443.
	// +optional
	APIServerPort *int32 `json:"apiServerPort,omitempty"`

	// services are the address ranges for Services.
	// +optional
	Services *NetworkRanges `json:"services,omitempty"`

	// pods are the address ranges for Pods.
	// +optional
	Pods *NetworkRanges `json:"pods,omitempty"`

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
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=43
	CIDRBlocks []string `json:"cidrBlocks"`
}

// APIEndpoint is where an API server can be reached.
type APIEndpoint struct {
	// host is a DNS name or an IP address.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Host string `json:"host"`

	// port is a TCP port.
	// +optional
	Port int32 `json:"port"`
}

// ClusterStatus is what was observed of a workload cluster.
type ClusterStatus struct {
	// failureDomains are the places among which machines can be spread, by name.
	// +optional
	FailureDomains FailureDomains `json:"failureDomains,omitempty"`

	// failureReason is a word for a problem that a provider has called final.
	// +optional
	FailureReason *clusterv1.ClusterStatusError `json:"failureReason,omitempty"`

	// failureMessage describes the same problem for people.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=10240
	FailureMessage *string `json:"failureMessage,omitempty"`

	// phase is a one-word summary for people.
	// +optional
	// +kubebuilder:validation:Enum=Pending;Provisioning;Provisioned;Deleting;Failed;Unknown
	Phase string `json:"phase,omitempty"`

	// infrastructureReady is true once the InfraCluster has said that what it provides is complete.
	// +optional
	InfrastructureReady bool `json:"infrastructureReady"`

	// controlPlaneReady is true once the API server of the cluster has answered for the first time.
	// +optional
	ControlPlaneReady bool `json:"controlPlaneReady"`

	// conditions are the conditions in the form of v1beta1. Those of v1beta2 are in v1beta2.conditions.
	// +optional
	Conditions clusterv1.Conditions `json:"conditions,omitempty"`

	// observedGeneration is the metadata.generation that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// v1beta2 is what readers of v1beta2 find in the status itself.
	// +optional
	V1Beta2 *ClusterV1Beta2Status `json:"v1beta2,omitempty"`
}

// FailureDomains are places that fail on their own, such as availability zones, by name.
type FailureDomains map[string]FailureDomainSpec

// FailureDomainSpec says what a failure domain is good for.
type FailureDomainSpec struct {
	// controlPlane is true if control plane machines may be placed here.
	// +optional
	ControlPlane bool `json:"controlPlane,omitempty"`

	// attributes are further facts, with names that the infrastructure provider chooses.
	// +optional
	Attributes map[string]string `json:"attributes,omitempty"`
}

// ClusterV1Beta2Status holds the parts of a Cluster's status that only v1beta2 has.
type ClusterV1Beta2Status struct {
	// conditions say how the Cluster is doing; Available sums up the others.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// controlPlane counts the control plane machines.
	// +optional
	ControlPlane *clusterv1.ClusterControlPlaneStatus `json:"controlPlane,omitempty"`

	// workers counts the worker machines.
	// +optional
	Workers *clusterv1.WorkersStatus `json:"workers,omitempty"`
}

// The version is not served by the CustomResourceDefinition as generated, since it needs a webhook; config/crd/patches
// turns it on together with that.

// +kubebuilder:object:root=true
// +kubebuilder:resource:path=clusters,shortName=cl,scope=Namespaced,categories=cluster-api
// +kubebuilder:subresource:status
// +kubebuilder:deprecatedversion
// +kubebuilder:unservedversion
// +kubebuilder:printcolumn:name="ClusterClass",type="string",JSONPath=".spec.topology.class",description="ClusterClass from which the Cluster is generated, if any"
// +kubebuilder:printcolumn:name="Phase",type="string",JSONPath=".status.phase",description="Stage of life: Pending, Provisioning, Provisioned, Deleting"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the Cluster was created"
// +kubebuilder:printcolumn:name="Version",type="string",JSONPath=".spec.topology.version",description="Kubernetes version wanted, of a Cluster with a ClusterClass"

// Cluster is one workload cluster: what its Machines have in common.
type Cluster struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard metadata of an object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the cluster that is wanted.
	// +optional
	Spec ClusterSpec `json:"spec,omitempty"`

	// status is what was last observed of the cluster.
	// +optional
	Status ClusterStatus `json:"status,omitempty"`
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
