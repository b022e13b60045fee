// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

// The conditions in this file are those of API version v1beta1. They stand in status.deprecated.v1beta1.conditions,
// are kept for clients of v1beta1, and go with it. The severity with which a reason is used is given in brackets.

// ReadyV1Beta1Condition sums up the other v1beta1 conditions of an object; reason and message are those of the worst.
const ReadyV1Beta1Condition ConditionType = "Ready"

// Reasons that are used for several v1beta1 conditions.
const (
	// DeletingV1Beta1Reason [Info]: the object behind the condition is being deleted.
	DeletingV1Beta1Reason = "Deleting"

	// DeletionFailedV1Beta1Reason [Warning]: the deletion of the object behind the condition failed and is tried again.
	DeletionFailedV1Beta1Reason = "DeletionFailed"

	// DeletedV1Beta1Reason [Info]: the object behind the condition is gone.
	DeletedV1Beta1Reason = "Deleted"

	// IncorrectExternalRefV1Beta1Reason [Error]: a reference can't be followed. Correct it.
	IncorrectExternalRefV1Beta1Reason = "IncorrectExternalRef"
)

// BootstrapReady and InfrastructureReady copy the Ready condition of the object behind them.
const (
	// BootstrapReadyV1Beta1Condition is True if the bootstrap data is there.
	BootstrapReadyV1Beta1Condition ConditionType = "BootstrapReady"

	// WaitingForDataSecretFallbackV1Beta1Reason [Info]: waits for a BootstrapConfig that has no Ready condition.
	WaitingForDataSecretFallbackV1Beta1Reason = "WaitingForDataSecret"

	// InfrastructureReadyV1Beta1Condition is True if the machine, or what the machines of a Cluster share, exists.
	InfrastructureReadyV1Beta1Condition ConditionType = "InfrastructureReady"

	// WaitingForInfrastructureFallbackV1Beta1Reason [Info]: waits for an object that has no Ready condition.
	WaitingForInfrastructureFallbackV1Beta1Reason = "WaitingForInfrastructure"
)

// NodeHealthy sums up the conditions of the Node.
const (
	// MachineNodeHealthyV1Beta1Condition is True if no condition of the Node is bad.
	MachineNodeHealthyV1Beta1Condition ConditionType = "NodeHealthy"

	// WaitingForNodeRefV1Beta1Reason [Info]: the Machine has no provider ID yet, so no Node can be found for it.
	WaitingForNodeRefV1Beta1Reason = "WaitingForNodeRef"

	// NodeProvisioningV1Beta1Reason [Warning]: the Machine has a provider ID and no Node has joined with it so far.
	NodeProvisioningV1Beta1Reason = "NodeProvisioning"

	// NodeNotFoundV1Beta1Reason [Error]: the Node was there and is gone.
	NodeNotFoundV1Beta1Reason = "NodeNotFound"

	// NodeConditionsFailedV1Beta1Reason [Warning]: a condition of the Node is bad; the message lists them.
	NodeConditionsFailedV1Beta1Reason = "NodeConditionsFailed"

	// NodeInspectionFailedV1Beta1Reason: the Nodes of the workload cluster could not be read.
	NodeInspectionFailedV1Beta1Reason = "NodeInspectionFailed"
)

// The steps of a deletion, each False while it waits and True once it is behind.
const (
	// PreDrainDeleteHookSucceededV1Beta1Condition is False while pre-drain hooks hold the deletion.
	PreDrainDeleteHookSucceededV1Beta1Condition ConditionType = "PreDrainDeleteHookSucceeded"

	// PreTerminateDeleteHookSucceededV1Beta1Condition is False while pre-terminate hooks hold the deletion.
	PreTerminateDeleteHookSucceededV1Beta1Condition ConditionType = "PreTerminateDeleteHookSucceeded"

	// WaitingExternalHookV1Beta1Reason [Info]: the owner of a hook has not taken its annotation off yet.
	WaitingExternalHookV1Beta1Reason = "WaitingExternalHook"

	// DrainingSucceededV1Beta1Condition is False while Pods have to leave the Node.
	DrainingSucceededV1Beta1Condition ConditionType = "DrainingSucceeded"

	// DrainingV1Beta1Reason [Info]: the drain is under way; the message lists the Pods.
	DrainingV1Beta1Reason = "Draining"

	// DrainingFailedV1Beta1Reason [Warning]: the drain met an error and is tried again.
	DrainingFailedV1Beta1Reason = "DrainingFailed"

	// VolumeDetachSucceededV1Beta1Condition is False while volumes have to be detached from the Node.
	VolumeDetachSucceededV1Beta1Condition ConditionType = "VolumeDetachSucceeded"

	// WaitingForVolumeDetachV1Beta1Reason [Info]: at least one volume is still attached.
	WaitingForVolumeDetachV1Beta1Reason = "WaitingForVolumeDetach"
)

// HealthCheckSucceeded and OwnerRemediated, written by MachineHealthChecks and by the Machine's owner.
const (
	// MachineHealthCheckSucceededV1Beta1Condition is False if the Machine should be replaced.
	MachineHealthCheckSucceededV1Beta1Condition ConditionType = "HealthCheckSucceeded"

	// MachineHasFailureV1Beta1Reason: the Machine has a failureReason or a failureMessage.
	MachineHasFailureV1Beta1Reason = "MachineHasFailure"

	// HasRemediateMachineAnnotationV1Beta1Reason: the Machine carries RemediateMachineAnnotation.
	HasRemediateMachineAnnotationV1Beta1Reason = "HasRemediateMachineAnnotation"

	// NodeStartupTimeoutV1Beta1Reason: no Node within the time that the check allows.
	NodeStartupTimeoutV1Beta1Reason = "NodeStartupTimeout"

	// UnhealthyNodeConditionV1Beta1Reason: a condition of the Node has been bad for too long.
	UnhealthyNodeConditionV1Beta1Reason = "UnhealthyNode"

	// UnhealthyMachineConditionV1Beta1Reason: a condition of the Machine has been bad for too long.
	UnhealthyMachineConditionV1Beta1Reason = "UnhealthyMachine"

	// MachineOwnerRemediatedV1Beta1Condition is False while the owner of the Machine is to replace it.
	MachineOwnerRemediatedV1Beta1Condition ConditionType = "OwnerRemediated"

	// WaitingForRemediationV1Beta1Reason: the owner has not begun.
	WaitingForRemediationV1Beta1Reason = "WaitingForRemediation"

	// RemediationFailedV1Beta1Reason: the owner tried and failed.
	RemediationFailedV1Beta1Reason = "RemediationFailed"

	// RemediationInProgressV1Beta1Reason: the owner is at work.
	RemediationInProgressV1Beta1Reason = "RemediationInProgress"
)

// Conditions of a Cluster.
const (
	// ControlPlaneInitializedV1Beta1Condition is True, for good, once the API server has answered.
	ControlPlaneInitializedV1Beta1Condition ConditionType = "ControlPlaneInitialized"

	// MissingNodeRefV1Beta1Reason [Info]: no control plane Machine has a Node yet.
	MissingNodeRefV1Beta1Reason = "MissingNodeRef"

	// WaitingForControlPlaneProviderInitializedV1Beta1Reason [Info]: the control plane object has not reported yet.
	WaitingForControlPlaneProviderInitializedV1Beta1Reason = "WaitingForControlPlaneProviderInitialized"

	// ControlPlaneReadyV1Beta1Condition copies the Ready condition of the control plane object.
	ControlPlaneReadyV1Beta1Condition ConditionType = "ControlPlaneReady"

	// WaitingForControlPlaneFallbackV1Beta1Reason [Info]: waits for a control plane object without Ready condition.
	WaitingForControlPlaneFallbackV1Beta1Reason = "WaitingForControlPlane"

	// WaitingForControlPlaneAvailableV1Beta1Reason [Info]: waits for the first control plane machine to be available.
	WaitingForControlPlaneAvailableV1Beta1Reason = "WaitingForControlPlaneAvailable"
)
