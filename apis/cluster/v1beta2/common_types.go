// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TemplateSuffix ends the kind of every template: the template of FooMachine is FooMachineTemplate.
const TemplateSuffix = "Template"

// ContractVersionedObjectReference names an object of a provider, without the API version. The version to use is
// the newest one that the labels of the kind's CustomResourceDefinition promise for a contract version we know, so
// a provider may drop an API version without anybody editing Machines. The object lives in the namespace of the
// object that holds the reference.
type ContractVersionedObjectReference struct {
	// kind of the referenced object, for example DockerMachine.
	// Letters, digits and '-'; the first character is a letter, the last one is not '-'.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$`
	Kind string `json:"kind,omitempty"`

	// name of the referenced object: an RFC 1123 subdomain, at most 253 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name,omitempty"`

	// apiGroup of the referenced object, for example infrastructure.cluster.x-k8s.io.
	// It can't be empty, so objects of the core API group can't be referenced.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	APIGroup string `json:"apiGroup,omitempty"`
}

// IsDefined says whether any part of the reference is set. It is false for a nil reference.
func (r *ContractVersionedObjectReference) IsDefined() bool {
	return r != nil && *r != ContractVersionedObjectReference{}
}

// GroupKind returns the group and kind of the referenced object.
func (r *ContractVersionedObjectReference) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: r.APIGroup, Kind: r.Kind}
}

// ConditionPolarity says which status of a condition is the good one.
// +kubebuilder:validation:Enum=Positive;Negative
type ConditionPolarity string

const (
	// PositivePolarityCondition is the polarity of a condition that is True when all is well, such as Ready.
	PositivePolarityCondition ConditionPolarity = "Positive"

	// NegativePolarityCondition is the polarity of a condition that is False when all is well, such as Deleting.
	NegativePolarityCondition ConditionPolarity = "Negative"
)

// MachineAddressType says how to read a MachineAddress.
// +kubebuilder:validation:Enum=Hostname;ExternalIP;InternalIP;ExternalDNS;InternalDNS
type MachineAddressType string

const (
	// MachineHostName is the name that the machine gives itself.
	MachineHostName MachineAddressType = "Hostname"

	// MachineExternalIP is an IP address that is reachable from outside the machine's network.
	MachineExternalIP MachineAddressType = "ExternalIP"

	// MachineInternalIP is an IP address that is reachable from inside the machine's network.
	MachineInternalIP MachineAddressType = "InternalIP"

	// MachineExternalDNS is a DNS name that resolves outside the machine's network.
	MachineExternalDNS MachineAddressType = "ExternalDNS"

	// MachineInternalDNS is a DNS name that resolves inside the machine's network.
	MachineInternalDNS MachineAddressType = "InternalDNS"
)

// MachineAddress is one way to reach a machine.
type MachineAddress struct {
	// type tells IP addresses from names, and inside from outside: Hostname, ExternalIP, InternalIP, ExternalDNS
	// or InternalDNS.
	// +required
	Type MachineAddressType `json:"type,omitempty"`

	// address is the IP address or name, in the form that type announces.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Address string `json:"address,omitempty"`
}

// MachineAddresses are all known addresses of a machine, in the order in which its provider reports them.
// +kubebuilder:validation:MaxItems=256
// +listType=atomic
type MachineAddresses []MachineAddress

// MachineTaint is a taint for the Node of a Machine, and how long it is to be kept there.
type MachineTaint struct {
	// key of the taint: a name of at most 63 characters, with an optional DNS subdomain and '/' in front.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:Pattern=^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$
	Key string `json:"key,omitempty"`

	// value of the taint, in the syntax of a label value. Leave it out for a taint without a value.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$
	Value string `json:"value,omitempty"`

	// effect on Pods that don't tolerate the taint: NoSchedule, PreferNoSchedule or NoExecute.
	// +required
	// +kubebuilder:validation:Enum=NoSchedule;PreferNoSchedule;NoExecute
	Effect corev1.TaintEffect `json:"effect,omitempty"`

	// propagation is Always to keep the taint on the Node for as long as the Machine has it, or OnInitialization to
	// put it there once, when the Node joins, and leave it to others from then on.
	// +required
	Propagation MachineTaintPropagation `json:"propagation,omitempty"`
}

// MachineTaintPropagation says when a MachineTaint is written to the Node.
// +kubebuilder:validation:Enum=Always;OnInitialization
type MachineTaintPropagation string

const (
	// MachineTaintPropagationAlways keeps the Node in step with the Machine: a taint that somebody takes off the
	// Node comes back, and a taint taken off the Machine is taken off the Node.
	MachineTaintPropagationAlways MachineTaintPropagation = "Always"

	// MachineTaintPropagationOnInitialization sets the taint when the Node is initialized. Later changes, on the
	// Machine or on the Node, are not carried over in either direction.
	MachineTaintPropagationOnInitialization MachineTaintPropagation = "OnInitialization"
)
