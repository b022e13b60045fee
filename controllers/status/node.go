// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// nodeInputs are the conditions of a Node that decide on NodeHealthy, with the status that is good.
var nodeInputs = []struct {
	conditionType corev1.NodeConditionType
	good          corev1.ConditionStatus
}{
	{corev1.NodeReady, corev1.ConditionTrue},
	{corev1.NodeMemoryPressure, corev1.ConditionFalse},
	{corev1.NodeDiskPressure, corev1.ConditionFalse},
	{corev1.NodePIDPressure, corev1.ConditionFalse},
}

func nodeCondition(node *corev1.Node, conditionType corev1.NodeConditionType) *corev1.NodeCondition {
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == conditionType {
			return &node.Status.Conditions[i]
		}
	}
	return nil
}

// NodeReady mirrors the Node's condition Ready.
func NodeReady(node *corev1.Node) metav1.Condition {
	ready := nodeCondition(node, corev1.NodeReady)
	if ready == nil {
		return metav1.Condition{
			Type: clusterv1.MachineNodeReadyCondition, Status: metav1.ConditionUnknown, Reason: clusterv1.MachineNodeReadyUnknownReason,
			Message: "* Node.Ready: Condition not yet reported",
		}
	}
	condition := metav1.Condition{
		Type: clusterv1.MachineNodeReadyCondition, Status: metav1.ConditionStatus(ready.Status), LastTransitionTime: ready.LastTransitionTime,
	}
	switch ready.Status {
	case corev1.ConditionTrue:
		condition.Reason = clusterv1.MachineNodeReadyReason
	case corev1.ConditionFalse:
		condition.Reason = clusterv1.MachineNodeNotReadyReason
	default:
		condition.Status, condition.Reason = metav1.ConditionUnknown, clusterv1.MachineNodeReadyUnknownReason
	}
	if ready.Status != corev1.ConditionTrue && ready.Message != "" {
		condition.Message = "* Node.Ready: " + ready.Message
	}
	return condition
}

// NodeHealthy sums up the Node's conditions Ready, MemoryPressure, DiskPressure and PIDPressure.
func NodeHealthy(node *corev1.Node) metav1.Condition {
	var bad, unknown int
	var lines, texts []string // texts of the conditions that are there
	for _, in := range nodeInputs {
		c := nodeCondition(node, in.conditionType)
		if c == nil {
			unknown++
			lines = append(lines, fmt.Sprintf("* Node.%s: Condition not yet reported", in.conditionType))
			continue
		}
		if c.Status == in.good {
			continue
		}
		if c.Status == corev1.ConditionUnknown {
			unknown++
		} else {
			bad++
		}
		text := c.Message
		if text == "" {
			text = fmt.Sprintf("Condition is %s", c.Status)
		}
		texts = append(texts, text)
		lines = append(lines, fmt.Sprintf("* Node.%s: %s", in.conditionType, text))
	}
	if len(texts) > 1 && allEqual(texts) {
		lines = []string{"* Node.AllConditions: " + texts[0]}
	}
	condition := metav1.Condition{Type: clusterv1.MachineNodeHealthyCondition, Message: strings.Join(lines, "\n")}
	switch {
	case bad > 0:
		condition.Status, condition.Reason = metav1.ConditionFalse, clusterv1.MachineNodeNotHealthyReason
	case unknown > 0:
		condition.Status, condition.Reason = metav1.ConditionUnknown, clusterv1.MachineNodeHealthUnknownReason
	default:
		condition.Status, condition.Reason = metav1.ConditionTrue, clusterv1.MachineNodeHealthyReason
	}
	return condition
}

func allEqual(texts []string) bool {
	for _, t := range texts {
		if t != texts[0] {
			return false
		}
	}
	return true
}

// DeprecatedNodeHealthy is the v1beta1 form of NodeHealthy; conditions that a Node doesn't have are not counted.
func DeprecatedNodeHealthy(node *corev1.Node) clusterv1.Condition {
	var bad, unknown int
	var texts []string
	for _, in := range nodeInputs {
		c := nodeCondition(node, in.conditionType)
		if c == nil || c.Status == in.good {
			continue
		}
		texts = append(texts, fmt.Sprintf("Node condition %s is %s", c.Type, c.Status))
		if c.Status == corev1.ConditionUnknown {
			unknown++
		} else {
			bad++
		}
	}
	condition := clusterv1.Condition{Type: clusterv1.MachineNodeHealthyV1Beta1Condition, Status: corev1.ConditionTrue}
	switch {
	case bad > 0:
		condition.Status, condition.Severity = corev1.ConditionFalse, clusterv1.ConditionSeverityWarning
	case unknown == len(nodeInputs):
		condition.Status = corev1.ConditionUnknown
	default:
		return condition
	}
	condition.Reason, condition.Message = clusterv1.NodeConditionsFailedV1Beta1Reason, strings.Join(texts, ". ")
	return condition
}
