// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/apis/contract"
)

// NoReasonReported stands for the missing reason of a condition that a provider reports.
const NoReasonReported = "NoReasonReported"

// Mirror returns the condition Ready out of the conditions that a provider object reports, renamed to the given type, or
// nil if there is no Ready among them. The kind is only used in errors.
//
// The error says which of the conditions breaks the rules of metav1.Condition; any of them counts, not only Ready.
func Mirror(reported []contract.Condition, kind, conditionType string) (*metav1.Condition, error) {
	var ready *metav1.Condition
	for _, c := range reported {
		if err := validate(c); err != nil {
			return nil, fmt.Errorf("failed to convert status.conditions from %s to []metav1.Condition: %w", kind, err)
		}
		if c.Type != clusterv1.ReadyCondition || ready != nil {
			continue
		}
		ready = &metav1.Condition{
			Type:               conditionType,
			Status:             metav1.ConditionStatus(c.Status),
			Reason:             c.Reason,
			Message:            c.Message,
			LastTransitionTime: c.LastTransitionTime,
		}
		if ready.Reason == "" {
			ready.Reason = NoReasonReported
		}
		if ready.Status == metav1.ConditionTrue && ready.Reason == NoReasonReported {
			ready.Reason = clusterv1.ReadyReason
		}
	}
	return ready, nil
}

func validate(c contract.Condition) error {
	switch {
	case c.Type == "":
		return fmt.Errorf("type must be set for all conditions")
	case c.Status == "":
		return fmt.Errorf("status must be set for the %s condition", c.Type)
	case !isStatus(c.Status):
		return fmt.Errorf("status for the %s condition must be one of True, False, Unknown", c.Type)
	case c.Type == clusterv1.ReadyCondition && c.Reason != "" && (len(c.Reason) > maxReason || !reasonGrammar.MatchString(c.Reason)):
		return fmt.Errorf("reason for the %s condition must match %s and have at most %d characters, found %q", c.Type, reasonGrammar, maxReason, limit(c.Reason, 64))
	}
	return nil
}

func isStatus(s string) bool { return s == "True" || s == "False" || s == "Unknown" }

// MirrorDeprecated returns the condition Ready out of the v1beta1 conditions that a provider object reports, renamed to
// the given type, or nil if there is none with a status.
func MirrorDeprecated(reported []contract.DeprecatedCondition, conditionType clusterv1.ConditionType) *clusterv1.Condition {
	for _, c := range reported {
		if c.Type != string(clusterv1.ReadyV1Beta1Condition) {
			continue
		}
		if !isStatus(c.Status) {
			return nil
		}
		return &clusterv1.Condition{
			Type:               conditionType,
			Status:             corev1.ConditionStatus(c.Status),
			Severity:           clusterv1.ConditionSeverity(c.Severity),
			Reason:             c.Reason,
			Message:            c.Message,
			LastTransitionTime: c.LastTransitionTime,
		}
	}
	return nil
}
