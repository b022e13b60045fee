// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// SetDeprecated adds or replaces a v1beta1 condition, with its texts shortened to what the CRD allows, and keeps the
// list ordered: Ready first, the others by type. Unlike with Set, lastTransitionTime changes with any of status,
// severity, reason and message, and always to now: the given one counts only for a condition that wasn't there.
func SetDeprecated(machine *clusterv1.Machine, condition clusterv1.Condition, now time.Time) {
	condition.Severity = clusterv1.ConditionSeverity(limit(string(condition.Severity), maxSeverity))
	condition.Reason, condition.Message = limit(condition.Reason, maxDeprecatedReason), limit(condition.Message, maxDeprecatedMessage)
	conditions := slices.Clone(machine.GetV1Beta1Conditions())
	i := slices.IndexFunc(conditions, func(c clusterv1.Condition) bool { return c.Type == condition.Type })
	if i >= 0 && sameDeprecated(conditions[i], condition) {
		return
	}
	if i >= 0 || condition.LastTransitionTime.IsZero() {
		condition.LastTransitionTime = metav1.NewTime(now)
	}
	condition.LastTransitionTime = metav1.NewTime(condition.LastTransitionTime.UTC().Truncate(time.Second))
	if i >= 0 {
		conditions[i] = condition
	} else {
		conditions = append(conditions, condition)
	}
	slices.SortStableFunc(conditions, func(a, b clusterv1.Condition) int {
		ready := func(c clusterv1.Condition) int {
			if c.Type == clusterv1.ReadyV1Beta1Condition {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(ready(a), ready(b)), cmp.Compare(a.Type, b.Type))
	})
	machine.SetV1Beta1Conditions(conditions)
}

func sameDeprecated(a, b clusterv1.Condition) bool {
	return a.Status == b.Status && a.Severity == b.Severity && a.Reason == b.Reason && a.Message == b.Message
}

// GetDeprecated returns the v1beta1 condition of the type, or nil.
func GetDeprecated(machine *clusterv1.Machine, conditionType clusterv1.ConditionType) *clusterv1.Condition {
	for _, c := range machine.GetV1Beta1Conditions() {
		if c.Type == conditionType {
			return &c
		}
	}
	return nil
}

// deprecatedInputs are summed up to the v1beta1 Ready, as far as they exist.
var deprecatedInputs = []clusterv1.ConditionType{
	clusterv1.InfrastructureReadyV1Beta1Condition,
	clusterv1.BootstrapReadyV1Beta1Condition,
	clusterv1.MachineHealthCheckSucceededV1Beta1Condition,
	clusterv1.MachineOwnerRemediatedV1Beta1Condition,
	clusterv1.DrainingSucceededV1Beta1Condition,
}

// SetDeprecatedReady sums up the v1beta1 conditions of the Machine. Without any of the inputs there is no Ready.
//
// A False condition without severity, as it is mirrored from a condition of the newer form, counts like one with
// severity Info. Cluster API ranks it after True, so that its Ready can be True although an input is False.
func SetDeprecatedReady(machine *clusterv1.Machine, now time.Time) {
	var best *clusterv1.Condition
	done, provisioning := 0, machine.DeletionTimestamp.IsZero() && machine.Spec.ProviderID == ""
	for _, conditionType := range deprecatedInputs {
		c := GetDeprecated(machine, conditionType)
		if c == nil {
			continue
		}
		if c.Status == corev1.ConditionTrue {
			done++
		}
		provisioning = provisioning && (conditionType == clusterv1.InfrastructureReadyV1Beta1Condition || conditionType == clusterv1.BootstrapReadyV1Beta1Condition)
		if best == nil || deprecatedRank(c) < deprecatedRank(best) {
			best = c
		}
	}
	if best == nil {
		return
	}
	ready := clusterv1.Condition{Type: clusterv1.ReadyV1Beta1Condition, Status: best.Status}
	if best.Status != corev1.ConditionTrue {
		ready.Severity, ready.Reason, ready.Message = severities[deprecatedRank(best)], best.Reason, best.Message
		if provisioning {
			ready.Message = fmt.Sprintf("%d of 2 completed", done)
		}
	}
	SetDeprecated(machine, ready, now)
}

// severities are those of the ranks.
var severities = [...]clusterv1.ConditionSeverity{
	clusterv1.ConditionSeverityError, clusterv1.ConditionSeverityWarning, clusterv1.ConditionSeverityInfo, clusterv1.ConditionSeverityNone, clusterv1.ConditionSeverityNone,
}

func deprecatedRank(c *clusterv1.Condition) int {
	switch {
	case c.Status == corev1.ConditionFalse && c.Severity == clusterv1.ConditionSeverityError:
		return 0
	case c.Status == corev1.ConditionFalse && c.Severity == clusterv1.ConditionSeverityWarning:
		return 1
	case c.Status == corev1.ConditionFalse:
		return 2
	case c.Status == corev1.ConditionTrue:
		return 3
	default:
		return 4
	}
}
