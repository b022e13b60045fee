// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// order is the order in which people read the conditions of a Machine. Types that are not listed come, alphabetically,
// where the empty string stands.
var order = []string{
	clusterv1.MachineAvailableCondition,
	clusterv1.MachineReadyCondition,
	clusterv1.MachineUpToDateCondition,
	clusterv1.MachineBootstrapConfigReadyCondition,
	clusterv1.MachineInfrastructureReadyCondition,
	clusterv1.MachineNodeHealthyCondition,
	clusterv1.MachineNodeReadyCondition,
	// Set by control plane providers.
	"NodeKubeadmLabelsAndTaintsSet", "EtcdPodHealthy", "EtcdMemberHealthy", "APIServerPodHealthy", "ControllerManagerPodHealthy", "SchedulerPodHealthy",
	clusterv1.MachineHealthCheckSucceededCondition,
	clusterv1.MachineOwnerRemediatedCondition,
	clusterv1.MachineUpdatingCondition,
	"",
	clusterv1.PausedCondition,
	clusterv1.MachineDeletingCondition,
}

var (
	rank        = ranks(order)
	rankOfOther = rank[""]
)

func ranks(types []string) map[string]int {
	m := make(map[string]int, len(types))
	for i, t := range types {
		m[t] = i
	}
	return m
}

func rankOf(conditionType string) int {
	if r, ok := rank[conditionType]; ok {
		return r
	}
	return rankOfOther
}

// Set adds or replaces the condition of its type on the Machine and keeps the list in reading order. The condition
// observes the Machine's current generation, and its message is shortened to what the CRD allows. Its
// lastTransitionTime, in whole seconds, changes only with its status: to the given one if that is not zero, else to now.
func Set(machine *clusterv1.Machine, condition metav1.Condition, now time.Time) {
	condition.ObservedGeneration = machine.Generation
	condition.Message = limit(condition.Message, maxMessage)
	if condition.LastTransitionTime.IsZero() {
		condition.LastTransitionTime = metav1.NewTime(now)
	}
	condition.LastTransitionTime = metav1.NewTime(condition.LastTransitionTime.UTC().Truncate(time.Second))
	conditions := machine.Status.Conditions
	if have := meta.FindStatusCondition(conditions, condition.Type); have != nil {
		if have.Status == condition.Status {
			condition.LastTransitionTime = have.LastTransitionTime
		}
		*have = condition
	} else {
		conditions = append(conditions, condition)
	}
	if !slices.IsSortedFunc(conditions, compareConditions) {
		slices.SortStableFunc(conditions, compareConditions)
	}
	machine.Status.Conditions = conditions
}

func compareConditions(a, b metav1.Condition) int {
	return cmp.Or(cmp.Compare(rankOf(a.Type), rankOf(b.Type)), cmp.Compare(a.Type, b.Type))
}

// Get returns the condition of the type, or nil.
func Get(machine *clusterv1.Machine, conditionType string) *metav1.Condition {
	return meta.FindStatusCondition(machine.Status.Conditions, conditionType)
}

// IsTrue reports whether the condition is there and True.
func IsTrue(conditions []metav1.Condition, conditionType string) bool {
	return meta.IsStatusConditionTrue(conditions, conditionType)
}
