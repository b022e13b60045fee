// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// hook is a point at which other controllers hold a deletion, by an annotation that they take off when they are done.
type hook struct {
	// prefix begins the key of the annotation.
	prefix string
	// when completes "Waiting for <when> hooks".
	when string
	// reason is that of the condition Deleting.
	reason string
	// condition is the v1beta1 condition about it.
	condition clusterv1.ConditionType
	// started is where the Machine says since when it waits.
	started func(*clusterv1.MachineDeletionStatus) *metav1.Time
}

var preDrain = hook{
	prefix:    clusterv1.PreDrainDeleteHookAnnotationPrefix,
	when:      "pre-drain",
	reason:    clusterv1.MachineDeletingWaitingForPreDrainHookReason,
	condition: clusterv1.PreDrainDeleteHookSucceededV1Beta1Condition,
	started:   func(d *clusterv1.MachineDeletionStatus) *metav1.Time { return &d.WaitForPreDrainHookStartTime },
}

var preTerminate = hook{
	prefix:    clusterv1.PreTerminateDeleteHookAnnotationPrefix,
	when:      "pre-terminate",
	reason:    clusterv1.MachineDeletingWaitingForPreTerminateHookReason,
	condition: clusterv1.PreTerminateDeleteHookSucceededV1Beta1Condition,
	started:   func(d *clusterv1.MachineDeletionStatus) *metav1.Time { return &d.WaitForPreTerminateHookStartTime },
}

// awaitPreDrainHooks counts only if there is a Node to drain and to delete: so does Cluster API, and owners of hooks, who
// mostly want to act on that Node, know it.
func (r *Reconciler) awaitPreDrainHooks(_ context.Context, s *scope) (bool, error) {
	return !s.nodeGoes || preDrain.passed(s), nil
}

// awaitPreTerminateHooks counts always. From the first wait on nothing that runs on the machine is touched any more.
func (r *Reconciler) awaitPreTerminateHooks(_ context.Context, s *scope) (bool, error) {
	return preTerminate.passed(s), nil
}

// passed reports whether nobody holds the deletion here, and says so. There is no timeout: the end of the wait is a change
// of the Machine, which wakes it.
func (h hook) passed(s *scope) bool {
	keys := h.keys(s.machine)
	if len(keys) == 0 {
		s.stepDone(h.condition)
		return true
	}
	s.begin(h.started)
	s.deleting = stage{reason: h.reason, message: fmt.Sprintf("Waiting for %s hooks to succeed (hooks: %s)", h.when, strings.Join(keys, ","))}
	s.stepIs(clusterv1.Condition{
		Type: h.condition, Status: corev1.ConditionFalse, Severity: clusterv1.ConditionSeverityInfo, Reason: clusterv1.WaitingExternalHookV1Beta1Reason,
	})
	return false
}

// keys are the annotations that hold the Machine, sorted. As in Cluster API the prefix need not be followed by a slash.
func (h hook) keys(machine *clusterv1.Machine) []string {
	var keys []string
	for key := range machine.Annotations {
		if strings.HasPrefix(key, h.prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
