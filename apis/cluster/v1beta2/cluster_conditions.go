// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

// The conditions in this file are written by the controller of Clusters, not by Machinist. They are here for
// programs that read Clusters; the Machine controller itself reads ControlPlaneInitialized.

// Available: the sum of RemoteConnectionProbe, InfrastructureReady, ControlPlaneAvailable, WorkersAvailable,
// TopologyReconciled if present, and spec.availabilityGates.
const (
	// ClusterAvailableCondition is True if the cluster can be used and is not being deleted.
	ClusterAvailableCondition = AvailableCondition

	// ClusterAvailableReason: everything that Available depends on is good.
	ClusterAvailableReason = AvailableReason

	// ClusterNotAvailableReason: at least one of them is not. Read the message, then the condition that it names.
	ClusterNotAvailableReason = NotAvailableReason

	// ClusterAvailableUnknownReason: none is known to be bad, at least one is not known.
	ClusterAvailableUnknownReason = AvailableUnknownReason

	// ClusterAvailableInternalErrorReason: the condition could not be computed. See the log of the controller.
	ClusterAvailableInternalErrorReason = InternalErrorReason
)

// InfrastructureReady: a copy of the Ready condition of the InfraCluster.
const (
	// ClusterInfrastructureReadyCondition is True if what the machines share exists.
	ClusterInfrastructureReadyCondition = InfrastructureReadyCondition

	// ClusterInfrastructureReadyReason: the InfraCluster is provisioned.
	ClusterInfrastructureReadyReason = ReadyReason

	// ClusterInfrastructureNotReadyReason: it is not. If that lasts, look at the InfraCluster and its provider.
	ClusterInfrastructureNotReadyReason = NotReadyReason

	// ClusterInfrastructureInvalidConditionReportedReason: its conditions are malformed, a defect of its provider.
	ClusterInfrastructureInvalidConditionReportedReason = InvalidConditionReportedReason

	// ClusterInfrastructureInternalErrorReason: it could not be read. See the log of the controller.
	ClusterInfrastructureInternalErrorReason = InternalErrorReason

	// ClusterInfrastructureDoesNotExistReason: there is none. Create it, or correct the reference.
	ClusterInfrastructureDoesNotExistReason = ObjectDoesNotExistReason

	// ClusterInfrastructureDeletedReason: it was there and is gone.
	ClusterInfrastructureDeletedReason = ObjectDeletedReason
)

// ControlPlaneInitialized: the API server has answered for the first time.
const (
	// ClusterControlPlaneInitializedCondition stays True once it is True. Machines look for their Nodes from then on.
	ClusterControlPlaneInitializedCondition = "ControlPlaneInitialized"

	// ClusterControlPlaneInitializedReason: it has.
	ClusterControlPlaneInitializedReason = "Initialized"

	// ClusterControlPlaneNotInitializedReason: not yet. If that lasts, look at the first control plane Machine.
	ClusterControlPlaneNotInitializedReason = "NotInitialized"

	// ClusterControlPlaneInitializedInternalErrorReason: the condition could not be computed. See the log.
	ClusterControlPlaneInitializedInternalErrorReason = InternalErrorReason
)

// ControlPlaneAvailable: a copy of the Available condition of the control plane object.
const (
	// ClusterControlPlaneAvailableCondition is True if the control plane serves requests.
	ClusterControlPlaneAvailableCondition = "ControlPlaneAvailable"

	// ClusterControlPlaneAvailableReason: it does.
	ClusterControlPlaneAvailableReason = AvailableReason

	// ClusterControlPlaneNotAvailableReason: it does not. Look at the control plane object.
	ClusterControlPlaneNotAvailableReason = NotAvailableReason

	// ClusterControlPlaneInvalidConditionReportedReason: its conditions are malformed, a defect of its provider.
	ClusterControlPlaneInvalidConditionReportedReason = InvalidConditionReportedReason

	// ClusterControlPlaneInternalErrorReason: it could not be read. See the log of the controller.
	ClusterControlPlaneInternalErrorReason = InternalErrorReason

	// ClusterControlPlaneDoesNotExistReason: there is none. Create it, or correct the reference.
	ClusterControlPlaneDoesNotExistReason = ObjectDoesNotExistReason

	// ClusterControlPlaneDeletedReason: it was there and is gone.
	ClusterControlPlaneDeletedReason = ObjectDeletedReason
)

// WorkersAvailable: the sum of the Available conditions of MachineDeployments and MachinePools. MachineSets and
// Machines without an owner don't count.
const (
	// ClusterWorkersAvailableCondition is True if all of them are Available.
	ClusterWorkersAvailableCondition = "WorkersAvailable"

	// ClusterWorkersAvailableReason: all of them are.
	ClusterWorkersAvailableReason = AvailableReason

	// ClusterWorkersNotAvailableReason: at least one is not.
	ClusterWorkersNotAvailableReason = NotAvailableReason

	// ClusterWorkersAvailableUnknownReason: none is known not to be, at least one is not known.
	ClusterWorkersAvailableUnknownReason = AvailableUnknownReason

	// ClusterWorkersAvailableNoWorkersReason: there is none.
	ClusterWorkersAvailableNoWorkersReason = "NoWorkers"

	// ClusterWorkersAvailableInternalErrorReason: the condition could not be computed. See the log.
	ClusterWorkersAvailableInternalErrorReason = InternalErrorReason
)

// RemoteConnectionProbe: whether the API server of the workload cluster can be reached from here.
const (
	// ClusterRemoteConnectionProbeCondition turns False when the API server has been out of reach for the grace
	// period of the Cluster controller, 50 seconds unless configured.
	ClusterRemoteConnectionProbeCondition = "RemoteConnectionProbe"

	// ClusterRemoteConnectionProbeFailedReason: it can't. The message says since when.
	ClusterRemoteConnectionProbeFailedReason = "ProbeFailed"

	// ClusterRemoteConnectionProbeSucceededReason: it can.
	ClusterRemoteConnectionProbeSucceededReason = "ProbeSucceeded"
)

// Deleting: how far the deletion of the Cluster is. The reasons are in the order in which the steps follow.
const (
	// ClusterDeletingCondition is True from the request until the Cluster is gone.
	ClusterDeletingCondition = DeletingCondition

	// ClusterNotDeletingReason: deletion was not asked for.
	ClusterNotDeletingReason = NotDeletingReason

	// ClusterDeletingInternalErrorReason: the step failed and is tried again. See the message and the log.
	ClusterDeletingInternalErrorReason = InternalErrorReason

	// ClusterDeletingWaitingForBeforeDeleteHookReason: a runtime extension holds the deletion.
	ClusterDeletingWaitingForBeforeDeleteHookReason = "WaitingForBeforeDeleteHook"

	// ClusterDeletingWaitingForWorkersDeletionReason: workers are being deleted. Look at their Machines.
	ClusterDeletingWaitingForWorkersDeletionReason = "WaitingForWorkersDeletion"

	// ClusterDeletingWaitingForControlPlaneDeletionReason: the control plane is being deleted.
	ClusterDeletingWaitingForControlPlaneDeletionReason = "WaitingForControlPlaneDeletion"

	// ClusterDeletingWaitingForInfrastructureDeletionReason: the InfraCluster is being deleted.
	ClusterDeletingWaitingForInfrastructureDeletionReason = "WaitingForInfrastructureDeletion"

	// ClusterDeletingDeletionCompletedReason: done, ClusterFinalizer is off.
	ClusterDeletingDeletionCompletedReason = DeletionCompletedReason
)

// TopologyReconciled: whether spec.topology has been carried over to the objects that it describes. Only on Clusters
// with a topology.
const (
	// ClusterTopologyReconciledCondition is True if all of it has been.
	ClusterTopologyReconciledCondition = "TopologyReconciled"

	// ClusterTopologyReconcileSucceededReason: all of it has been.
	ClusterTopologyReconcileSucceededReason = "ReconcileSucceeded"

	// ClusterTopologyReconciledFailedReason: an error stopped it. See the message.
	ClusterTopologyReconciledFailedReason = "ReconcileFailed"

	// ClusterTopologyReconciledClusterCreatingReason: a runtime extension holds the creation.
	ClusterTopologyReconciledClusterCreatingReason = "ClusterCreating"

	// ClusterTopologyReconciledClusterUpgradingReason: an upgrade is under way.
	ClusterTopologyReconciledClusterUpgradingReason = "ClusterUpgrading"

	// ClusterTopologyReconciledClusterClassNotReconciledReason: the ClusterClass has to be reconciled first.
	ClusterTopologyReconciledClusterClassNotReconciledReason = "ClusterClassNotReconciled"

	// ClusterTopologyReconciledMachineDeploymentsUpgradeDeferredReason: an annotation holds back the upgrade of at
	// least one MachineDeployment.
	ClusterTopologyReconciledMachineDeploymentsUpgradeDeferredReason = "MachineDeploymentsUpgradeDeferred"

	// ClusterTopologyReconciledMachinePoolsUpgradeDeferredReason: the same for MachinePools.
	ClusterTopologyReconciledMachinePoolsUpgradeDeferredReason = "MachinePoolsUpgradeDeferred"

	// ClusterTopologyReconciledDeletingReason: the Cluster is being deleted.
	ClusterTopologyReconciledDeletingReason = DeletingReason

	// ClusterTopologyReconcilePausedReason: the Cluster is paused.
	ClusterTopologyReconcilePausedReason = PausedReason
)
