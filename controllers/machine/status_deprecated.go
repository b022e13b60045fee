// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"errors"

	corev1 "k8s.io/api/core/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/apis/contract"
	"github.com/machinist-dev/machinist/controllers/status"
	"github.com/machinist-dev/machinist/controllers/workload"
)

// setDeprecated sets the conditions that clients of API version v1beta1 see.
func setDeprecated(s *scope) {
	if s.machine.Spec.Bootstrap.ConfigRef.IsDefined() || s.dataSecretCreated() {
		setDeprecatedBootstrap(s)
	}
	setDeprecatedProvided(s, clusterv1.InfrastructureReadyV1Beta1Condition, clusterv1.WaitingForInfrastructureFallbackV1Beta1Reason,
		s.infra.object != nil, s.infra.missing, s.infra.done, s.infra.fields.DeprecatedConditions)
	setDeprecatedNodeHealthy(s, s.infra.object == nil || s.infra.object.Deleting() || s.infraGoes)
	for _, condition := range s.steps {
		status.SetDeprecated(s.machine, condition, s.now)
	}
	status.SetDeprecatedReady(s.machine, s.now)
}

func setDeprecatedBootstrap(s *scope) {
	if s.machine.Spec.Bootstrap.DataSecretName != nil && !(s.isDeleting() && s.bootstrap.missing) {
		status.SetDeprecated(s.machine, clusterv1.Condition{Type: clusterv1.BootstrapReadyV1Beta1Condition, Status: corev1.ConditionTrue}, s.now)
		return
	}
	setDeprecatedProvided(s, clusterv1.BootstrapReadyV1Beta1Condition, clusterv1.WaitingForDataSecretFallbackV1Beta1Reason,
		s.bootstrap.object != nil, s.bootstrap.missing, s.bootstrap.done, s.bootstrap.fields.DeprecatedConditions)
}

// setDeprecatedProvided mirrors the condition Ready of a provider object; without one it says whether the object is done.
func setDeprecatedProvided(s *scope, conditionType clusterv1.ConditionType, waiting string, found, missing, done bool, reported func() ([]contract.DeprecatedCondition, bool)) {
	info := func(reason string) clusterv1.Condition {
		return clusterv1.Condition{Type: conditionType, Status: corev1.ConditionFalse, Severity: clusterv1.ConditionSeverityInfo, Reason: reason}
	}
	if missing && s.isDeleting() {
		status.SetDeprecated(s.machine, info(clusterv1.DeletedV1Beta1Reason), s.now)
		return
	}
	if !found {
		return
	}
	conditions, _ := reported()
	if mirrored := status.MirrorDeprecated(conditions, conditionType); mirrored != nil {
		status.SetDeprecated(s.machine, *mirrored, s.now)
		return
	}
	condition := clusterv1.Condition{Type: conditionType, Status: corev1.ConditionTrue}
	switch {
	case done:
	case s.isDeleting():
		condition = info(clusterv1.DeletingV1Beta1Reason)
	default:
		condition = info(waiting)
	}
	status.SetDeprecated(s.machine, condition, s.now)
}

func setDeprecatedNodeHealthy(s *scope, infraGoes bool) {
	condition := clusterv1.Condition{Type: clusterv1.MachineNodeHealthyV1Beta1Condition, Status: corev1.ConditionFalse}
	switch {
	case s.nodeDeletionFailed:
		condition.Severity, condition.Reason = clusterv1.ConditionSeverityWarning, clusterv1.DeletionFailedV1Beta1Reason
	case s.cluster == nil, errors.Is(s.node.err, workload.ErrNotConnected):
		return
	case s.node.err != nil:
		condition.Status = corev1.ConditionUnknown
		condition.Reason, condition.Message = clusterv1.NodeInspectionFailedV1Beta1Reason, "Failed to get the Node for this Machine by ProviderID"
	case s.machine.Spec.ProviderID == "":
		condition.Severity, condition.Reason = clusterv1.ConditionSeverityInfo, clusterv1.WaitingForNodeRefV1Beta1Reason
	case !workloadClusterReady(s.cluster):
		return
	case s.node.node == nil && s.isDeleting():
		return
	case s.node.node == nil && s.machine.Status.NodeRef.IsDefined():
		condition.Severity, condition.Reason = clusterv1.ConditionSeverityError, clusterv1.NodeNotFoundV1Beta1Reason
	case s.node.node == nil:
		condition.Severity, condition.Reason = clusterv1.ConditionSeverityWarning, clusterv1.NodeProvisioningV1Beta1Reason
		condition.Message = "Waiting for a node with matching ProviderID to exist"
	case infraGoes:
		condition.Severity, condition.Reason = clusterv1.ConditionSeverityInfo, clusterv1.DeletingV1Beta1Reason
	default:
		condition = status.DeprecatedNodeHealthy(s.node.node)
	}
	status.SetDeprecated(s.machine, condition, s.now)
}
