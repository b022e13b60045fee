// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

// Condition types that mean the same on every kind. The constants with the name of a kind in front say what they
// mean for that kind; prefer them where there is one.
const (
	// AvailableCondition: the object does what it is there for, and has done so for long enough to be trusted.
	AvailableCondition = "Available"

	// ReadyCondition: the object does what it is there for.
	ReadyCondition = "Ready"

	// BootstrapConfigReadyCondition: the bootstrap object behind this one is ready.
	BootstrapConfigReadyCondition = "BootstrapConfigReady"

	// InfrastructureReadyCondition: the infrastructure object behind this one is ready.
	InfrastructureReadyCondition = "InfrastructureReady"

	// MachinesReadyCondition: all Machines of the object are Ready.
	MachinesReadyCondition = "MachinesReady"

	// MachinesUpToDateCondition: all Machines of the object are UpToDate.
	MachinesUpToDateCondition = "MachinesUpToDate"

	// RollingOutCondition: the object is replacing Machines that are not UpToDate.
	RollingOutCondition = "RollingOut"

	// ScalingUpCondition: the object has fewer Machines than wanted.
	ScalingUpCondition = "ScalingUp"

	// ScalingDownCondition: the object has more Machines than wanted.
	ScalingDownCondition = "ScalingDown"

	// RemediatingCondition: the object is replacing Machines that are unhealthy.
	RemediatingCondition = "Remediating"

	// DeletingCondition: deletion was asked for. The reason says which step it has reached.
	DeletingCondition = "Deleting"

	// PausedCondition: the controllers leave the object alone, because it carries PausedAnnotation or because
	// spec.paused of its Cluster is true. Until that is taken back, the other conditions are as of when it began.
	PausedCondition = "Paused"
)

// Reasons for a condition that sums up others.
const (
	// AvailableReason: all that Available requires is there.
	AvailableReason = "Available"

	// NotAvailableReason: something that Available requires is missing; the message says what.
	NotAvailableReason = "NotAvailable"

	// AvailableUnknownReason: nothing is known to be missing, but not everything could be found out.
	AvailableUnknownReason = "AvailableUnknown"

	// ReadyReason: all that Ready requires is there.
	ReadyReason = "Ready"

	// NotReadyReason: something that Ready requires is missing; the message says what.
	NotReadyReason = "NotReady"

	// ReadyUnknownReason: nothing is known to be missing, but not everything could be found out.
	ReadyUnknownReason = "ReadyUnknown"

	// UpToDateReason: everything is as its owner asks for now.
	UpToDateReason = "UpToDate"

	// NotUpToDateReason: something is not as its owner asks for now; the message lists the differences.
	NotUpToDateReason = "NotUpToDate"

	// UpToDateUnknownReason: no difference is known, but not everything could be found out.
	UpToDateUnknownReason = "UpToDateUnknown"
)

// Reasons for a condition about something that is going on.
const (
	// RollingOutReason: Machines are being replaced by ones that are UpToDate.
	RollingOutReason = "RollingOut"

	// NotRollingOutReason: there is nothing to replace.
	NotRollingOutReason = "NotRollingOut"

	// ScalingUpReason: Machines are being added.
	ScalingUpReason = "ScalingUp"

	// NotScalingUpReason: no Machine is to be added.
	NotScalingUpReason = "NotScalingUp"

	// ScalingDownReason: Machines are being removed.
	ScalingDownReason = "ScalingDown"

	// NotScalingDownReason: no Machine is to be removed.
	NotScalingDownReason = "NotScalingDown"

	// RemediatingReason: at least one Machine failed its health check and its owner was asked to replace it.
	RemediatingReason = "Remediating"

	// NotRemediatingReason: no Machine waits to be replaced for its health.
	NotRemediatingReason = "NotRemediating"

	// NoReplicasReason: there are no Machines to make a statement about.
	NoReplicasReason = "NoReplicas"

	// WaitingForReplicasSetReason: spec.replicas of the object is not set yet.
	WaitingForReplicasSetReason = "WaitingForReplicasSet"

	// PausedReason: the object or its Cluster is paused.
	PausedReason = "Paused"

	// NotPausedReason: neither the object nor its Cluster is paused.
	NotPausedReason = "NotPaused"

	// DeletingReason: deletion is under way and no other reason describes the step.
	DeletingReason = "Deleting"

	// NotDeletingReason: deletion was not asked for.
	NotDeletingReason = "NotDeleting"

	// DeletionCompletedReason: the controller is done and has taken its finalizer off. If the object is still there,
	// look at metadata.finalizers for who else holds it.
	DeletionCompletedReason = "DeletionCompleted"
)

// Reasons for a condition that depends on another object.
const (
	// ObjectDoesNotExistReason: the object that is referred to is not there, as far as known it never was. Check
	// the reference, and whether the object has been applied.
	ObjectDoesNotExistReason = "ObjectDoesNotExist"

	// ObjectDeletedReason: the object that is referred to was there and is gone, by a deletion that was asked for
	// or behind the controller's back.
	ObjectDeletedReason = "ObjectDeleted"

	// InvalidConditionReportedReason: the other object has the condition that was to be copied, but not in a usable
	// form. This is a defect of its provider; the message says which field.
	InvalidConditionReportedReason = "InvalidConditionReported"

	// InternalErrorReason: the controller failed in a way that it can only log. Look at its log.
	InternalErrorReason = "InternalError"

	// InspectionFailedReason: what is needed to look at the other object is not there yet; the message says what.
	InspectionFailedReason = "InspectionFailed"

	// ConnectionDownReason: the API server of the workload cluster can't be reached. Check the cluster, the
	// network between, and the Secret with its kubeconfig.
	ConnectionDownReason = "ConnectionDown"
)

// Reasons that infrastructure providers use in the conditions of their InfraMachines.
const (
	// WaitingForClusterInfrastructureReadyReason: waits for Cluster.status.initialization.infrastructureProvisioned.
	WaitingForClusterInfrastructureReadyReason = "WaitingForClusterInfrastructureReady"

	// WaitingForControlPlaneInitializedReason: a worker waits for Cluster.status.initialization.controlPlaneInitialized.
	WaitingForControlPlaneInitializedReason = "WaitingForControlPlaneInitialized"

	// WaitingForBootstrapDataReason: waits for Machine.spec.bootstrap.dataSecretName.
	WaitingForBootstrapDataReason = "WaitingForBootstrapData"

	// ProvisionedReason: the machine, or a part of it, exists.
	ProvisionedReason = "Provisioned"

	// NotProvisionedReason: the machine, or a part of it, does not exist yet.
	NotProvisionedReason = "NotProvisioned"
)
