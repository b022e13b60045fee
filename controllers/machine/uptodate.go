// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers/status"
)

// upToDate says whether the Machine is what its MachineDeployment wants, or nothing if it is of none, or if that isn't known:
// others own the condition then, as control plane providers do. It needs the condition Updating, and asks for a reconcile when
// the MachineDeployment wants its Machines replaced.
func upToDate(s *scope) *metav1.Condition {
	if s.rollout == nil {
		return nil
	}
	if due := s.rollout.Due(s.now); due > 0 {
		s.wakeAfter(due)
	}
	condition := &metav1.Condition{Type: clusterv1.MachineUpToDateCondition, Status: metav1.ConditionFalse, Reason: clusterv1.MachineUpToDateUpdatingReason}
	version, updating := kubeletVersion(s.machine), status.Get(s.machine, clusterv1.MachineUpdatingCondition)
	switch differences := s.rollout.Differences(s.now); {
	case len(differences) > 0:
		condition.Reason = clusterv1.MachineNotUpToDateReason
		condition.Message = "* " + strings.Join(differences, "\n* ")
	case updating != nil && updating.Status == metav1.ConditionTrue:
		condition.Message = "* " + updating.Message
	case version != "" && version != s.machine.Spec.Version:
		condition.Message = fmt.Sprintf("* Node.status.nodeInfo.kubeletVersion %s, %s required", version, s.machine.Spec.Version)
	default:
		condition.Status, condition.Reason = metav1.ConditionTrue, clusterv1.MachineUpToDateReason
	}
	return condition
}

// kubeletVersion returns "" if it isn't known.
func kubeletVersion(machine *clusterv1.Machine) string {
	if machine.Status.NodeInfo == nil {
		return ""
	}
	return machine.Status.NodeInfo.KubeletVersion
}
