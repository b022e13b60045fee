// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The types in this file are the conditions of API version v1beta1. They differ from metav1.Condition: they have a
// severity, and lastTransitionTime moves whenever anything but itself changes. They are deprecated and go when
// v1beta1 goes; nothing new should read them. They carry no Deprecated mark, since the controllers have to keep
// writing them until then.

// ConditionType is the type of a v1beta1 condition.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=256
type ConditionType string

// ConditionSeverity says how bad it is that a v1beta1 condition is False.
// +kubebuilder:validation:MaxLength=32
type ConditionSeverity string

const (
	// ConditionSeverityError needs somebody to act.
	ConditionSeverityError ConditionSeverity = "Error"

	// ConditionSeverityWarning is a problem that is being retried.
	ConditionSeverityWarning ConditionSeverity = "Warning"

	// ConditionSeverityInfo is progress: not there yet, and nothing wrong.
	ConditionSeverityInfo ConditionSeverity = "Info"

	// ConditionSeverityNone is the severity of a condition that is not False.
	ConditionSeverityNone ConditionSeverity = ""
)

// Condition is a condition of API version v1beta1.
type Condition struct {
	// type of the condition, unique in its list.
	// +required
	Type ConditionType `json:"type"`

	// status is True, False or Unknown.
	// +required
	Status corev1.ConditionStatus `json:"status"`

	// severity is Error, Warning or Info if status is False, and empty otherwise.
	// +optional
	Severity ConditionSeverity `json:"severity,omitempty"`

	// lastTransitionTime is when status, severity, reason or message last changed.
	// +required
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`

	// reason is a CamelCase word that says why the status is what it is. Empty if status is True.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Reason string `json:"reason,omitempty"`

	// message says the same for people, with details.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=10240
	Message string `json:"message,omitempty"`
}

// Conditions is a list of v1beta1 conditions: Ready first, the others by type.
type Conditions []Condition

// MachineDeprecatedStatus holds the parts of a Machine's status that only older API versions have.
type MachineDeprecatedStatus struct {
	// v1beta1 is what clients of v1beta1 see. It goes when v1beta1 goes.
	// +optional
	V1Beta1 *MachineV1Beta1DeprecatedStatus `json:"v1beta1,omitempty"`
}

// MachineV1Beta1DeprecatedStatus holds the parts of a Machine's status that only v1beta1 has.
type MachineV1Beta1DeprecatedStatus struct {
	// conditions are the conditions in the form of v1beta1. Use status.conditions instead.
	// +optional
	Conditions Conditions `json:"conditions,omitempty"`

	// failureReason is a word for a problem that the InfraMachine or the BootstrapConfig has called final: retrying
	// does not help, somebody has to act, as a rule by deleting the Machine. It is never cleared.
	// Providers of contract v1beta2 don't report it; look at status.conditions.
	// +optional
	FailureReason *MachineStatusError `json:"failureReason,omitempty"`

	// failureMessage describes the same problem for people.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=10240
	FailureMessage *string `json:"failureMessage,omitempty"`
}

// MachineStatusError is the vocabulary of a Machine's failureReason. Providers may use other words.
type MachineStatusError string

const (
	// InvalidConfigurationMachineError: the spec can't be satisfied and has to be corrected.
	InvalidConfigurationMachineError MachineStatusError = "InvalidConfiguration"

	// UnsupportedChangeMachineError: the spec was changed in a way that an existing machine can't follow.
	UnsupportedChangeMachineError MachineStatusError = "UnsupportedChange"

	// InsufficientResourcesMachineError: the provider is out of quota or of capacity.
	InsufficientResourcesMachineError MachineStatusError = "InsufficientResources"

	// CreateMachineError: the machine could not be created.
	CreateMachineError MachineStatusError = "CreateError"

	// UpdateMachineError: the machine could not be changed, or vanished without being asked to.
	UpdateMachineError MachineStatusError = "UpdateError"

	// DeleteMachineError: the machine could not be deleted and may still cost money.
	DeleteMachineError MachineStatusError = "DeleteError"

	// JoinClusterTimeoutMachineError: the machine did not become a Node in time.
	JoinClusterTimeoutMachineError MachineStatusError = "JoinClusterTimeoutError"
)

// GetV1Beta1Conditions returns the v1beta1 conditions of the Machine, nil if it has none.
func (m *Machine) GetV1Beta1Conditions() Conditions {
	if m.Status.Deprecated == nil || m.Status.Deprecated.V1Beta1 == nil {
		return nil
	}
	return m.Status.Deprecated.V1Beta1.Conditions
}

// SetV1Beta1Conditions replaces the v1beta1 conditions of the Machine.
func (m *Machine) SetV1Beta1Conditions(conditions Conditions) {
	if m.Status.Deprecated == nil {
		m.Status.Deprecated = &MachineDeprecatedStatus{}
	}
	if m.Status.Deprecated.V1Beta1 == nil {
		m.Status.Deprecated.V1Beta1 = &MachineV1Beta1DeprecatedStatus{}
	}
	m.Status.Deprecated.V1Beta1.Conditions = conditions
}

// ClusterDeprecatedStatus holds the parts of a Cluster's status that only older API versions have.
type ClusterDeprecatedStatus struct {
	// v1beta1 is what clients of v1beta1 see. It goes when v1beta1 goes.
	// +optional
	V1Beta1 *ClusterV1Beta1DeprecatedStatus `json:"v1beta1,omitempty"`
}

// ClusterV1Beta1DeprecatedStatus holds the parts of a Cluster's status that only v1beta1 has.
type ClusterV1Beta1DeprecatedStatus struct {
	// conditions are the conditions in the form of v1beta1. Use status.conditions instead.
	// +optional
	Conditions Conditions `json:"conditions,omitempty"`

	// failureReason is a word for a problem that a provider has called final: somebody has to act.
	// +optional
	FailureReason *ClusterStatusError `json:"failureReason,omitempty"`

	// failureMessage describes the same problem for people.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=10240
	FailureMessage *string `json:"failureMessage,omitempty"`
}

// ClusterStatusError is the vocabulary of a Cluster's failureReason. Providers may use other words.
type ClusterStatusError string

const (
	// InvalidConfigurationClusterError: the spec can't be satisfied and has to be corrected.
	InvalidConfigurationClusterError ClusterStatusError = "InvalidConfiguration"

	// UnsupportedChangeClusterError: the spec was changed in a way that an existing cluster can't follow.
	UnsupportedChangeClusterError ClusterStatusError = "UnsupportedChange"

	// CreateClusterError: the cluster could not be created.
	CreateClusterError ClusterStatusError = "CreateError"

	// UpdateClusterError: the cluster could not be changed.
	UpdateClusterError ClusterStatusError = "UpdateError"

	// DeleteClusterError: the cluster could not be deleted and may still cost money.
	DeleteClusterError ClusterStatusError = "DeleteError"
)

// GetV1Beta1Conditions returns the v1beta1 conditions of the Cluster, nil if it has none.
func (c *Cluster) GetV1Beta1Conditions() Conditions {
	if c.Status.Deprecated == nil || c.Status.Deprecated.V1Beta1 == nil {
		return nil
	}
	return c.Status.Deprecated.V1Beta1.Conditions
}

// SetV1Beta1Conditions replaces the v1beta1 conditions of the Cluster.
func (c *Cluster) SetV1Beta1Conditions(conditions Conditions) {
	if c.Status.Deprecated == nil {
		c.Status.Deprecated = &ClusterDeprecatedStatus{}
	}
	if c.Status.Deprecated.V1Beta1 == nil {
		c.Status.Deprecated.V1Beta1 = &ClusterV1Beta1DeprecatedStatus{}
	}
	c.Status.Deprecated.V1Beta1.Conditions = conditions
}
