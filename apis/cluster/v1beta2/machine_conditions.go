// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

// Available: the Machine has been Ready for spec.minReadySeconds without a break. Owners count Machines by it when
// they decide how many may be replaced at a time.
const (
	// MachineAvailableCondition is True once the Machine has been Ready for long enough.
	MachineAvailableCondition = AvailableCondition

	// MachineAvailableReason: Ready for long enough. Nothing to do.
	MachineAvailableReason = AvailableReason

	// MachineWaitingForMinReadySecondsReason: Ready, but not for spec.minReadySeconds yet. Wait.
	MachineWaitingForMinReadySecondsReason = "WaitingForMinReadySeconds"

	// MachineAvailableInternalErrorReason: the condition could not be computed. See the log of the controller.
	MachineAvailableInternalErrorReason = InternalErrorReason
)

// Ready: the sum of the conditions below and of spec.readinessGates. Its message lists only what is not in order.
// While the Machine is being deleted, objects and a Node that are already gone don't count against it.
const (
	// MachineReadyCondition is True if the Machine is not being deleted or updated, BootstrapConfigReady,
	// InfrastructureReady and NodeHealthy are True, HealthCheckSucceeded is True or missing, and all gates are good.
	MachineReadyCondition = ReadyCondition

	// MachineReadyReason: everything that Ready depends on is good. Nothing to do.
	MachineReadyReason = ReadyReason

	// MachineNotReadyReason: at least one of them is not. Read the message, then the condition that it names.
	MachineNotReadyReason = NotReadyReason

	// MachineReadyUnknownReason: none is known to be bad, at least one is not known. If that lasts, find out why the
	// condition named in the message is not reported: a workload cluster out of reach, a gate that nobody writes.
	MachineReadyUnknownReason = ReadyUnknownReason

	// MachineReadyInternalErrorReason: the condition could not be computed. See the log of the controller.
	MachineReadyInternalErrorReason = InternalErrorReason
)

// UpToDate: the Machine is what its owner would create today. The owner decides; for Machines of a MachineDeployment
// the Machine controller computes it, for others a control plane provider writes it.
const (
	// MachineUpToDateCondition is True if the owner has no reason to replace the Machine.
	MachineUpToDateCondition = "UpToDate"

	// MachineUpToDateReason: no difference. Nothing to do.
	MachineUpToDateReason = "UpToDate"

	// MachineNotUpToDateReason: the message lists the differences. The owner replaces the Machine when its turn comes;
	// if it does not, look at the rollout strategy and at whether the owner is paused.
	MachineNotUpToDateReason = "NotUpToDate"

	// MachineUpToDateUpdatingReason: the spec is right, but the machine has yet to follow it. Wait, or see Updating.
	MachineUpToDateUpdatingReason = "Updating"
)

// Updating: the machine is being changed in place instead of being replaced.
const (
	// MachineUpdatingCondition is True while an in-place update is under way.
	MachineUpdatingCondition = "Updating"

	// MachineNotUpdatingReason: no in-place update. Nothing to do.
	MachineNotUpdatingReason = "NotUpdating"

	// MachineInPlaceUpdatingReason: the extension that performs the update is at work; the message is its own.
	MachineInPlaceUpdatingReason = "InPlaceUpdating"

	// MachineInPlaceUpdateFailedReason: the extension gave up. Follow its message; deleting the Machine replaces it.
	MachineInPlaceUpdateFailedReason = "InPlaceUpdateFailed"
)

// BootstrapConfigReady: a copy of the Ready condition of the BootstrapConfig, with its reason and message. The
// reasons below are for when there is nothing to copy.
const (
	// MachineBootstrapConfigReadyCondition is True if the bootstrap data is there.
	MachineBootstrapConfigReadyCondition = BootstrapConfigReadyCondition

	// MachineBootstrapDataSecretProvidedReason: the Machine has no configRef, its user brought the Secret.
	MachineBootstrapDataSecretProvidedReason = "DataSecretProvided"

	// MachineBootstrapConfigReadyReason: the BootstrapConfig has created its Secret. Nothing to do.
	MachineBootstrapConfigReadyReason = ReadyReason

	// MachineBootstrapConfigNotReadyReason: the Secret is not there yet. If that lasts, look at the BootstrapConfig
	// and at the bootstrap provider; control plane machines often wait for one another here.
	MachineBootstrapConfigNotReadyReason = NotReadyReason

	// MachineBootstrapConfigInvalidConditionReportedReason: the conditions of the BootstrapConfig are malformed.
	// Report it to the bootstrap provider, with the message.
	MachineBootstrapConfigInvalidConditionReportedReason = InvalidConditionReportedReason

	// MachineBootstrapConfigInternalErrorReason: the BootstrapConfig could not be read. See the log of the controller:
	// a missing CustomResourceDefinition, missing contract labels on it, or missing permissions.
	MachineBootstrapConfigInternalErrorReason = InternalErrorReason

	// MachineBootstrapConfigDoesNotExistReason: there is no such BootstrapConfig. Create it, or correct the reference;
	// just after the Machine was created, wait.
	MachineBootstrapConfigDoesNotExistReason = ObjectDoesNotExistReason

	// MachineBootstrapConfigDeletedReason: the BootstrapConfig is gone because the Machine is being deleted.
	MachineBootstrapConfigDeletedReason = ObjectDeletedReason
)

// InfrastructureReady: a copy of the Ready condition of the InfraMachine, with its reason and message. The reasons
// below are for when there is nothing to copy.
const (
	// MachineInfrastructureReadyCondition is True if the machine exists and its provider has nothing to complain about.
	MachineInfrastructureReadyCondition = InfrastructureReadyCondition

	// MachineInfrastructureReadyReason: the InfraMachine is provisioned. Nothing to do.
	MachineInfrastructureReadyReason = ReadyReason

	// MachineInfrastructureNotReadyReason: it is not provisioned yet. If that lasts, look at the InfraMachine, then at
	// the infrastructure provider: quota, credentials, images.
	MachineInfrastructureNotReadyReason = NotReadyReason

	// MachineInfrastructureInvalidConditionReportedReason: the conditions of the InfraMachine are malformed. Report it
	// to the infrastructure provider, with the message.
	MachineInfrastructureInvalidConditionReportedReason = InvalidConditionReportedReason

	// MachineInfrastructureInternalErrorReason: the InfraMachine could not be read. See the log of the controller:
	// a missing CustomResourceDefinition, missing contract labels on it, or missing permissions.
	MachineInfrastructureInternalErrorReason = InternalErrorReason

	// MachineInfrastructureDoesNotExistReason: there is no such InfraMachine. Create it, or correct the reference;
	// just after the Machine was created, wait.
	MachineInfrastructureDoesNotExistReason = ObjectDoesNotExistReason

	// MachineInfrastructureDeletedReason: the InfraMachine was there and is gone. Expected while the Machine is being
	// deleted. Otherwise somebody deleted the machine behind the Machine's back: delete the Machine, too, to have it
	// replaced.
	MachineInfrastructureDeletedReason = ObjectDeletedReason
)

// NodeReady and NodeHealthy: the state of the Node in the workload cluster. Both have the same reason while the Node
// can't be judged. When the workload cluster is out of reach they keep their last value for a grace period.
const (
	// MachineNodeReadyCondition is a copy of the Node's own Ready condition.
	MachineNodeReadyCondition = "NodeReady"

	// MachineNodeHealthyCondition is True if the Node is Ready and has no pressure on memory, disk or process IDs.
	MachineNodeHealthyCondition = "NodeHealthy"

	// MachineNodeReadyReason: the kubelet says that it is ready.
	MachineNodeReadyReason = "NodeReady"

	// MachineNodeNotReadyReason: the kubelet says that it is not; the message is its own. Look at the kubelet and at
	// the network plugin.
	MachineNodeNotReadyReason = "NodeNotReady"

	// MachineNodeReadyUnknownReason: the kubelet has stopped reporting, or has not begun. Check that the machine runs
	// and reaches the API server.
	MachineNodeReadyUnknownReason = "NodeReadyUnknown"

	// MachineNodeHealthyReason: nothing to do.
	MachineNodeHealthyReason = "NodeHealthy"

	// MachineNodeNotHealthyReason: at least one condition of the Node is bad; the message lists them.
	MachineNodeNotHealthyReason = "NodeNotHealthy"

	// MachineNodeHealthUnknownReason: no condition of the Node is bad, at least one is unknown or missing.
	MachineNodeHealthUnknownReason = "NodeHealthyUnknown"

	// MachineNodeInternalErrorReason: the Node could not be read. See the log of the controller.
	MachineNodeInternalErrorReason = InternalErrorReason

	// MachineNodeDoesNotExistReason: the Machine is being deleted and never had a Node.
	MachineNodeDoesNotExistReason = "NodeDoesNotExist"

	// MachineNodeDeletedReason: the Node was there and is gone. Expected while the Machine is being deleted. Otherwise
	// it was deleted by hand or by a cloud controller: restart the kubelet to register again, or delete the Machine.
	MachineNodeDeletedReason = "NodeDeleted"

	// MachineNodeInspectionFailedReason: it is too early to look for the Node; the message says what has to come
	// first: the infrastructure, the control plane, the provider ID, or a Node with that provider ID. If the last
	// one lasts, compare spec.providerID of Machine and Node, and look at the boot log of the machine.
	MachineNodeInspectionFailedReason = InspectionFailedReason

	// MachineNodeConnectionDownReason: the workload cluster has been out of reach for longer than the grace period;
	// the message says since when. Check its API server, the network, and the Secret with its kubeconfig.
	MachineNodeConnectionDownReason = ConnectionDownReason
)

// Deleting: how far the deletion of the Machine is. The reasons are in the order in which the steps follow.
const (
	// MachineDeletingCondition is True from the request until the Machine is gone.
	MachineDeletingCondition = DeletingCondition

	// MachineNotDeletingReason: deletion was not asked for.
	MachineNotDeletingReason = NotDeletingReason

	// MachineDeletingReason: deletion has begun and no step has been reached.
	MachineDeletingReason = DeletingReason

	// MachineDeletingInternalErrorReason: the step failed and is tried again. See the message and the log.
	MachineDeletingInternalErrorReason = InternalErrorReason

	// MachineDeletingWaitingForPreDrainHookReason: waits for the owners of the pre-drain annotations that the message
	// lists. If an owner no longer exists, take its annotation off the Machine.
	MachineDeletingWaitingForPreDrainHookReason = "WaitingForPreDrainHook"

	// MachineDeletingDrainingNodeReason: waits for Pods to leave the Node; the message lists them with what holds
	// them. Look at PodDisruptionBudgets first. To go on without them set spec.deletion.nodeDrainTimeoutSeconds or
	// ExcludeNodeDrainingAnnotation.
	MachineDeletingDrainingNodeReason = "DrainingNode"

	// MachineDeletingWaitingForVolumeDetachReason: waits for volumes to be detached; the message lists them. Look at
	// the storage driver. To go on without it set spec.deletion.nodeVolumeDetachTimeoutSeconds or
	// ExcludeWaitForNodeVolumeDetachAnnotation.
	MachineDeletingWaitingForVolumeDetachReason = "WaitingForVolumeDetach"

	// MachineDeletingWaitingForPreTerminateHookReason: waits for the owners of the pre-terminate annotations that the
	// message lists. Control plane providers look for this reason to know when it is their turn.
	MachineDeletingWaitingForPreTerminateHookReason = "WaitingForPreTerminateHook"

	// MachineDeletingWaitingForInfrastructureDeletionReason: waits for the InfraMachine to be gone. If that lasts,
	// look at its conditions and finalizers, and at the infrastructure provider.
	MachineDeletingWaitingForInfrastructureDeletionReason = "WaitingForInfrastructureDeletion"

	// MachineDeletingWaitingForBootstrapDeletionReason: waits for the BootstrapConfig to be gone. If that lasts, look
	// at its conditions and finalizers, and at the bootstrap provider.
	MachineDeletingWaitingForBootstrapDeletionReason = "WaitingForBootstrapDeletion"

	// MachineDeletingDeletingNodeReason: tries to delete the Node, for spec.deletion.nodeDeletionTimeoutSeconds.
	MachineDeletingDeletingNodeReason = "DeletingNode"

	// MachineDeletingDeletionCompletedReason: done, MachineFinalizer is off. If the Machine is still there, look at
	// metadata.finalizers for who else holds it.
	MachineDeletingDeletionCompletedReason = DeletionCompletedReason
)
