// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

// The conditions in this file sum up conditions of the Cluster's Machines and of the objects that own them. Like
// those in cluster_conditions.go they are written by the controller of Clusters.

// ControlPlaneMachinesReady: the Ready conditions of the control plane Machines.
const (
	// ClusterControlPlaneMachinesReadyCondition is True if all of them are True.
	ClusterControlPlaneMachinesReadyCondition = "ControlPlaneMachinesReady"

	// ClusterControlPlaneMachinesReadyReason: all are True.
	ClusterControlPlaneMachinesReadyReason = ReadyReason

	// ClusterControlPlaneMachinesNotReadyReason: at least one is False. The message names the Machines.
	ClusterControlPlaneMachinesNotReadyReason = NotReadyReason

	// ClusterControlPlaneMachinesReadyUnknownReason: none is False, at least one is Unknown.
	ClusterControlPlaneMachinesReadyUnknownReason = ReadyUnknownReason

	// ClusterControlPlaneMachinesReadyNoReplicasReason: there are no control plane Machines.
	ClusterControlPlaneMachinesReadyNoReplicasReason = NoReplicasReason

	// ClusterControlPlaneMachinesReadyInternalErrorReason: the condition could not be computed. See the log.
	ClusterControlPlaneMachinesReadyInternalErrorReason = InternalErrorReason
)

// WorkerMachinesReady: the Ready conditions of the worker Machines.
const (
	// ClusterWorkerMachinesReadyCondition is True if all of them are True.
	ClusterWorkerMachinesReadyCondition = "WorkerMachinesReady"

	// ClusterWorkerMachinesReadyReason: all are True.
	ClusterWorkerMachinesReadyReason = ReadyReason

	// ClusterWorkerMachinesNotReadyReason: at least one is False. The message names the Machines.
	ClusterWorkerMachinesNotReadyReason = NotReadyReason

	// ClusterWorkerMachinesReadyUnknownReason: none is False, at least one is Unknown.
	ClusterWorkerMachinesReadyUnknownReason = ReadyUnknownReason

	// ClusterWorkerMachinesReadyNoReplicasReason: there are no worker Machines.
	ClusterWorkerMachinesReadyNoReplicasReason = NoReplicasReason

	// ClusterWorkerMachinesReadyInternalErrorReason: the condition could not be computed. See the log.
	ClusterWorkerMachinesReadyInternalErrorReason = InternalErrorReason
)

// ControlPlaneMachinesUpToDate: the UpToDate conditions of the control plane Machines. A Machine without one counts
// only when it is ten seconds old, which is time enough for its owner to add it.
const (
	// ClusterControlPlaneMachinesUpToDateCondition is True if all of them are True.
	ClusterControlPlaneMachinesUpToDateCondition = "ControlPlaneMachinesUpToDate"

	// ClusterControlPlaneMachinesUpToDateReason: all are True.
	ClusterControlPlaneMachinesUpToDateReason = UpToDateReason

	// ClusterControlPlaneMachinesNotUpToDateReason: at least one is False. The message names the Machines.
	ClusterControlPlaneMachinesNotUpToDateReason = NotUpToDateReason

	// ClusterControlPlaneMachinesUpToDateUnknownReason: none is False, at least one is Unknown.
	ClusterControlPlaneMachinesUpToDateUnknownReason = UpToDateUnknownReason

	// ClusterControlPlaneMachinesUpToDateNoReplicasReason: there are no control plane Machines.
	ClusterControlPlaneMachinesUpToDateNoReplicasReason = NoReplicasReason

	// ClusterControlPlaneMachinesUpToDateInternalErrorReason: the condition could not be computed. See the log.
	ClusterControlPlaneMachinesUpToDateInternalErrorReason = InternalErrorReason
)

// WorkerMachinesUpToDate: the same for the worker Machines.
const (
	// ClusterWorkerMachinesUpToDateCondition is True if all of them are True.
	ClusterWorkerMachinesUpToDateCondition = "WorkerMachinesUpToDate"

	// ClusterWorkerMachinesUpToDateReason: all are True.
	ClusterWorkerMachinesUpToDateReason = UpToDateReason

	// ClusterWorkerMachinesNotUpToDateReason: at least one is False. The message names the Machines.
	ClusterWorkerMachinesNotUpToDateReason = NotUpToDateReason

	// ClusterWorkerMachinesUpToDateUnknownReason: none is False, at least one is Unknown.
	ClusterWorkerMachinesUpToDateUnknownReason = UpToDateUnknownReason

	// ClusterWorkerMachinesUpToDateNoReplicasReason: there are no worker Machines.
	ClusterWorkerMachinesUpToDateNoReplicasReason = NoReplicasReason

	// ClusterWorkerMachinesUpToDateInternalErrorReason: the condition could not be computed. See the log.
	ClusterWorkerMachinesUpToDateInternalErrorReason = InternalErrorReason
)

// RollingOut: Machines are being replaced by ones that are UpToDate.
const (
	// ClusterRollingOutCondition is True if the control plane, a MachineDeployment or a MachinePool is at it.
	ClusterRollingOutCondition = RollingOutCondition

	// ClusterRollingOutReason: at least one is. The message names it.
	ClusterRollingOutReason = RollingOutReason

	// ClusterNotRollingOutReason: none is.
	ClusterNotRollingOutReason = NotRollingOutReason

	// ClusterRollingOutUnknownReason: none is known to be, at least one is not known.
	ClusterRollingOutUnknownReason = "RollingOutUnknown"

	// ClusterRollingOutInternalErrorReason: the condition could not be computed. See the log.
	ClusterRollingOutInternalErrorReason = InternalErrorReason
)

// ScalingUp: Machines are being added.
const (
	// ClusterScalingUpCondition is True if the control plane, a MachineDeployment, a MachinePool or a MachineSet
	// without an owner is at it.
	ClusterScalingUpCondition = ScalingUpCondition

	// ClusterScalingUpReason: at least one is. The message names it.
	ClusterScalingUpReason = ScalingUpReason

	// ClusterNotScalingUpReason: none is.
	ClusterNotScalingUpReason = NotScalingUpReason

	// ClusterScalingUpUnknownReason: none is known to be, at least one is not known.
	ClusterScalingUpUnknownReason = "ScalingUpUnknown"

	// ClusterScalingUpInternalErrorReason: the condition could not be computed. See the log.
	ClusterScalingUpInternalErrorReason = InternalErrorReason
)

// ScalingDown: Machines are being removed.
const (
	// ClusterScalingDownCondition is True if the control plane, a MachineDeployment, a MachinePool or a MachineSet
	// without an owner is at it.
	ClusterScalingDownCondition = ScalingDownCondition

	// ClusterScalingDownReason: at least one is. The message names it.
	ClusterScalingDownReason = ScalingDownReason

	// ClusterNotScalingDownReason: none is.
	ClusterNotScalingDownReason = NotScalingDownReason

	// ClusterScalingDownUnknownReason: none is known to be, at least one is not known.
	ClusterScalingDownUnknownReason = "ScalingDownUnknown"

	// ClusterScalingDownInternalErrorReason: the condition could not be computed. See the log.
	ClusterScalingDownInternalErrorReason = InternalErrorReason
)

// Remediating: unhealthy Machines are being replaced.
const (
	// ClusterRemediatingCondition is True if at least one Machine waits for it.
	ClusterRemediatingCondition = RemediatingCondition

	// ClusterRemediatingReason: at least one does. The message names the Machines.
	ClusterRemediatingReason = RemediatingReason

	// ClusterNotRemediatingReason: none does.
	ClusterNotRemediatingReason = NotRemediatingReason

	// ClusterRemediatingInternalErrorReason: the condition could not be computed. See the log.
	ClusterRemediatingInternalErrorReason = InternalErrorReason
)
