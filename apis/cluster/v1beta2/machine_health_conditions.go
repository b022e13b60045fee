// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

// The conditions in this file are about the health of Machines and are written by others: the controller of
// MachineHealthChecks and those that act on it. The Machine controller reads HealthCheckSucceeded for Ready and
// leaves all of them as they are.

// HealthCheckSucceeded: what the MachineHealthChecks that select the Machine think of it.
const (
	// MachineHealthCheckSucceededCondition is False if the Machine should be replaced.
	MachineHealthCheckSucceededCondition = "HealthCheckSucceeded"

	// MachineHealthCheckSucceededReason: nothing to complain about.
	MachineHealthCheckSucceededReason = "HealthCheckSucceeded"

	// MachineHealthCheckUnhealthyNodeReason: a condition of the Node has been bad for longer than the check allows.
	MachineHealthCheckUnhealthyNodeReason = "UnhealthyNode"

	// MachineHealthCheckUnhealthyMachineReason: a condition of the Machine has been bad for longer than the check
	// allows.
	MachineHealthCheckUnhealthyMachineReason = "UnhealthyMachine"

	// MachineHealthCheckNodeStartupTimeoutReason: no Node within the time that the check allows. Before raising that
	// time, look at why: bootstrap data, boot log, provider ID.
	MachineHealthCheckNodeStartupTimeoutReason = "NodeStartupTimeout"

	// MachineHealthCheckNodeDeletedReason: the Node is gone while its Machine is not.
	MachineHealthCheckNodeDeletedReason = "NodeDeleted"

	// MachineHealthCheckHasRemediateAnnotationReason: somebody asked for it by RemediateMachineAnnotation.
	MachineHealthCheckHasRemediateAnnotationReason = "HasRemediateAnnotation"
)

// OwnerRemediated: present, and False, while the owner of the Machine is to replace it.
const (
	// MachineOwnerRemediatedCondition is handed from the MachineHealthCheck to the owner, who adds reasons of its own.
	MachineOwnerRemediatedCondition = "OwnerRemediated"

	// MachineOwnerRemediatedWaitingForRemediationReason: the owner has not begun. If that lasts, look at the owner; it
	// may be waiting for a majority of healthy control plane members, or be paused.
	MachineOwnerRemediatedWaitingForRemediationReason = "WaitingForRemediation"
)

// ExternallyRemediated: present, and False, while a controller that the MachineHealthCheck names is to repair the
// Machine.
const (
	// MachineExternallyRemediatedCondition is handed from the MachineHealthCheck to that controller.
	MachineExternallyRemediatedCondition = "ExternallyRemediated"

	// MachineExternallyRemediatedWaitingForRemediationReason: the request exists and nobody has answered it yet.
	MachineExternallyRemediatedWaitingForRemediationReason = "WaitingForRemediation"

	// MachineExternallyRemediatedRemediationTemplateNotFoundReason: the template that the MachineHealthCheck names does
	// not exist. Create it or correct the reference.
	MachineExternallyRemediatedRemediationTemplateNotFoundReason = "RemediationTemplateNotFound"

	// MachineExternallyRemediatedRemediationRequestCreationFailedReason: no request could be made from the template.
	// See the message: a validation error, or missing permissions.
	MachineExternallyRemediatedRemediationRequestCreationFailedReason = "RemediationRequestCreationFailed"
)
