// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"regexp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// class is what an input says about readiness.
type class int

const (
	info class = iota
	unknown
	issue
)

// input is one condition that Ready sums up.
type input struct {
	conditionType string
	negative      bool // True is the bad status
	optional      bool // no input if missing
}

// Ready sums up the conditions of the Machine, in the order and with the texts that other components look for.
func Ready(machine *clusterv1.Machine, now time.Time) metav1.Condition {
	inputs := []input{
		{conditionType: clusterv1.MachineDeletingCondition, negative: true},
		{conditionType: clusterv1.MachineUpdatingCondition, negative: true},
		{conditionType: clusterv1.MachineBootstrapConfigReadyCondition},
		{conditionType: clusterv1.MachineInfrastructureReadyCondition},
		{conditionType: clusterv1.MachineNodeHealthyCondition},
		{conditionType: clusterv1.MachineHealthCheckSucceededCondition, optional: true},
	}
	for _, gate := range machine.Spec.ReadinessGates {
		if gate.ConditionType == clusterv1.MachineReadyCondition {
			return metav1.Condition{
				Type: clusterv1.MachineReadyCondition, Status: metav1.ConditionUnknown, Reason: clusterv1.MachineReadyInternalErrorReason,
				Message: "spec.readinessGates names the condition Ready, which can't depend on itself: remove that gate",
			}
		}
		if !slices.ContainsFunc(inputs, func(in input) bool { return in.conditionType == gate.ConditionType }) {
			inputs = append(inputs, input{conditionType: gate.ConditionType, negative: gate.Polarity == clusterv1.NegativePolarityCondition})
		}
	}
	return merge(machine, inputs, now)
}

type line struct {
	conditionType string
	text          string
	class         class
}

func merge(machine *clusterv1.Machine, inputs []input, now time.Time) metav1.Condition {
	worst := info
	lines := make([]line, 0, len(inputs))
	for _, in := range inputs {
		condition := reported(machine, in, now)
		if condition == nil {
			continue
		}
		c := classify(machine, condition, in.negative)
		worst = max(worst, c)
		if c != info || condition.Message != "" {
			lines = append(lines, line{conditionType: in.conditionType, text: bullet(condition), class: c})
		}
	}
	ready := metav1.Condition{Type: clusterv1.MachineReadyCondition}
	switch worst {
	case issue:
		ready.Status, ready.Reason = metav1.ConditionFalse, clusterv1.MachineNotReadyReason
	case unknown:
		ready.Status, ready.Reason = metav1.ConditionUnknown, clusterv1.MachineReadyUnknownReason
	case info:
		ready.Status, ready.Reason = metav1.ConditionTrue, clusterv1.MachineReadyReason
	}
	ready.Message = message(lines, worst)
	return ready
}

// reported is the condition of the input as it counts; nil if it is missing and may be.
func reported(machine *clusterv1.Machine, in input, now time.Time) *metav1.Condition {
	condition := Get(machine, in.conditionType)
	switch {
	case in.conditionType == clusterv1.MachineDeletingCondition && !machine.DeletionTimestamp.IsZero():
		return shortDeleting(machine, condition, now)
	case condition == nil && !in.optional:
		return &metav1.Condition{Type: in.conditionType, Status: metav1.ConditionUnknown, Reason: "NotYetReported", Message: "Condition not yet reported"}
	}
	return condition
}

// message lists issues and unknowns; what is fine is worth saying only when everything is.
func message(lines []line, worst class) string {
	var kept []line
	for _, l := range lines {
		if worst == info || l.class != info {
			kept = append(kept, l)
		}
	}
	return joinLines(kept)
}

func classify(machine *clusterv1.Machine, condition *metav1.Condition, negative bool) class {
	if !machine.DeletionTimestamp.IsZero() && goneAsPlanned(condition) {
		return info
	}
	switch condition.Status {
	case metav1.ConditionTrue, metav1.ConditionFalse:
		if (condition.Status == metav1.ConditionTrue) == negative {
			return issue
		}
		return info
	default:
		return unknown
	}
}

// goneAsPlanned tells of the objects that a deletion removes one after the other: that they are missing is no issue then.
func goneAsPlanned(condition *metav1.Condition) bool {
	switch condition.Type {
	case clusterv1.MachineBootstrapConfigReadyCondition, clusterv1.MachineInfrastructureReadyCondition:
		return condition.Reason == clusterv1.ObjectDeletedReason || condition.Reason == clusterv1.ObjectDoesNotExistReason
	case clusterv1.MachineNodeHealthyCondition:
		return condition.Reason == clusterv1.MachineNodeDeletedReason || condition.Reason == clusterv1.MachineNodeDoesNotExistReason
	}
	return false
}

// bulletPattern also matches a bullet in the middle of a line, as it always has.
var bulletPattern = regexp.MustCompile(`\s*\*\s+`)

// bullet writes one input as an item of a list, and a message of several lines as a list inside it.
func bullet(condition *metav1.Condition) string {
	head := "* " + condition.Type + ":"
	switch {
	case condition.Message == "":
		return head + " " + condition.Reason
	case !strings.Contains(condition.Message, "\n") && !bulletPattern.MatchString(condition.Message):
		return head + " " + condition.Message
	}
	lines := strings.Split(condition.Message, "\n")
	allBullets := true
	for _, l := range lines {
		allBullets = allBullets && bulletPattern.MatchString(l)
	}
	for i, l := range lines {
		switch {
		case allBullets:
			lines[i] = "  " + l
		case bulletPattern.MatchString(l):
			lines[i] = "    " + l
		default:
			lines[i] = "  * " + l
		}
	}
	return head + "\n" + strings.Join(lines, "\n")
}

// joinLines writes the control plane's components as one line when all of them say the same.
func joinLines(lines []line) string {
	const name = "Control plane components"
	first, count, same := -1, 0, true
	for i, l := range lines {
		if !isControlPlaneComponent(l.conditionType) {
			continue
		}
		if first < 0 {
			first = i
		}
		count++
		same = same && textOf(l) == textOf(lines[first])
	}
	var out []string
	for i, l := range lines {
		switch grouped := count > 1 && same && isControlPlaneComponent(l.conditionType); {
		case !grouped:
			out = append(out, l.text)
		case i == first:
			out = append(out, "* "+name+":"+textOf(l))
		}
	}
	return strings.Join(out, "\n")
}

func textOf(l line) string { return strings.TrimPrefix(l.text, "* "+l.conditionType+":") }

func isControlPlaneComponent(conditionType string) bool {
	return strings.HasPrefix(conditionType, "APIServer") || strings.HasPrefix(conditionType, "ControllerManager") ||
		strings.HasPrefix(conditionType, "Scheduler") || conditionType == "EtcdPodHealthy"
}

// Times after which a deletion is called slow.
const (
	slowDeletion = 15 * time.Minute
	slowDrain    = 5 * time.Minute
)

// shortDeleting is the condition Deleting as Ready shows it: the stage instead of the details. So the Machines that are
// deleted at the same time say the same, and can be counted together.
func shortDeleting(machine *clusterv1.Machine, deleting *metav1.Condition, now time.Time) *metav1.Condition {
	short := &metav1.Condition{
		Type: clusterv1.MachineDeletingCondition, Status: metav1.ConditionTrue, Reason: clusterv1.MachineDeletingReason,
		Message: "Machine deletion in progress",
	}
	if deleting == nil {
		return short
	}
	if now.Sub(machine.DeletionTimestamp.Time) <= slowDeletion {
		short.Message += ", stage: " + deleting.Reason
		return short
	}
	short.Message += " since more than 15m, stage: " + deleting.Reason
	if causes := slowDrainCauses(machine, deleting, now); causes != "" {
		short.Message += ", delay likely due to " + causes
	}
	return short
}

func slowDrainCauses(machine *clusterv1.Machine, deleting *metav1.Condition, now time.Time) string {
	deletion := machine.Status.Deletion
	if deleting.Reason != clusterv1.MachineDeletingDrainingNodeReason || deletion == nil || deletion.NodeDrainStartTime.IsZero() ||
		now.Sub(deletion.NodeDrainStartTime.Time) <= slowDrain {
		return ""
	}
	var causes []string
	for _, c := range []struct{ text, cause string }{
		{"cannot evict pod as it would violate the pod's disruption budget.", "PodDisruptionBudgets"},
		{"deletionTimestamp set, but still not removed from the Node", "Pods not terminating"},
		{"failed to evict Pod", "Pod eviction errors"},
		{"waiting for completion", "Pods not completed yet"},
	} {
		if strings.Contains(deleting.Message, c.text) {
			causes = append(causes, c.cause)
		}
	}
	return strings.Join(causes, ", ")
}
