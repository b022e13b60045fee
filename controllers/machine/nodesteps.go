// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers/machine/drain"
	"github.com/machinist-dev/machinist/controllers/status"
	"github.com/machinist-dev/machinist/controllers/workload"
)

// nodeStep is what the two steps of a deletion that look at the Node in the workload cluster have in common.
type nodeStep struct {
	// due, retryAfter and look are those of package drain.
	due        func(*clusterv1.Machine, time.Time) bool
	retryAfter func(*clusterv1.Machine, time.Time) time.Duration
	look       func(*drain.Drainer, context.Context, drain.Subject) (drain.Result, error)
	// started is where the Machine says when the step began.
	started func(*clusterv1.MachineDeletionStatus) *metav1.Time
	// reason is that of the condition Deleting.
	reason string
	// condition is the v1beta1 condition about the step, and waiting what it is while something is left.
	condition clusterv1.ConditionType
	waiting   func(message string) clusterv1.Condition
	failed    clusterv1.Condition
	// The events, and how their notes and the message about an error begin; the name of the Node and the error follow.
	succeeded, succeededNote string
	failure, failureNote     string
	action, inWords          string
}

var draining = nodeStep{
	due:        drain.DrainDue,
	retryAfter: drain.DrainRetryAfter,
	look:       (*drain.Drainer).Drain,
	started:    func(d *clusterv1.MachineDeletionStatus) *metav1.Time { return &d.NodeDrainStartTime },
	reason:     clusterv1.MachineDeletingDrainingNodeReason,
	condition:  clusterv1.DrainingSucceededV1Beta1Condition,
	waiting: func(message string) clusterv1.Condition {
		return clusterv1.Condition{Severity: clusterv1.ConditionSeverityInfo, Reason: clusterv1.DrainingV1Beta1Reason, Message: message}
	},
	failed:    clusterv1.Condition{Severity: clusterv1.ConditionSeverityWarning, Reason: clusterv1.DrainingFailedV1Beta1Reason},
	succeeded: "SuccessfulDrainNode", succeededNote: "success draining Machine's node",
	failure: "FailedDrainNode", failureNote: "error draining Machine's node",
	action: "DrainNode", inWords: "The drain met an error",
}

var detaching = nodeStep{
	due:        drain.VolumesDue,
	retryAfter: drain.VolumesRetryAfter,
	look:       (*drain.Drainer).Volumes,
	started:    func(d *clusterv1.MachineDeletionStatus) *metav1.Time { return &d.WaitForNodeVolumeDetachStartTime },
	reason:     clusterv1.MachineDeletingWaitingForVolumeDetachReason,
	condition:  clusterv1.VolumeDetachSucceededV1Beta1Condition,
	waiting: func(string) clusterv1.Condition {
		return clusterv1.Condition{
			Severity: clusterv1.ConditionSeverityInfo, Reason: clusterv1.WaitingForVolumeDetachV1Beta1Reason, Message: "Waiting for node volumes to be detached",
		}
	},
	failed:    clusterv1.Condition{Severity: clusterv1.ConditionSeverityInfo, Reason: clusterv1.WaitingForVolumeDetachV1Beta1Reason},
	succeeded: "NodeVolumesDetached", succeededNote: "success waiting for node volumes detaching Machine's node",
	failure: "FailedWaitForVolumeDetach", failureNote: "error waiting for node volumes detaching, Machine's node",
	action: "DetachVolumes", inWords: "The wait for volumes met an error",
}

// drainNode evicts the Pods of the Node. That the drain begins is written first, and seen by people while the first look
// may take seconds: its timeout counts from then, also if the manager ends meanwhile.
func (r *Reconciler) drainNode(ctx context.Context, s *scope) (bool, error) {
	if !nodeStepsApply(s) || !draining.due(s.machine, s.now) {
		return true, nil
	}
	started := s.begin(draining.started)
	if before := s.stored.Status.Deletion; before == nil || draining.started(before).IsZero() {
		s.deleting = stage{reason: draining.reason, message: drain.Heading(started)}
		s.stepIs(draining.still("Draining the node before deletion"))
		s.writeFirst = true
		return false, nil
	}
	return r.passNode(ctx, s, &draining)
}

// awaitVolumes waits until volumes are detached from the Node. Mostly there is nothing to wait for, so the first look
// comes before its begin is written; it changes nothing.
func (r *Reconciler) awaitVolumes(ctx context.Context, s *scope) (bool, error) {
	if !nodeStepsApply(s) || !detaching.due(s.machine, s.now) {
		return true, nil
	}
	s.begin(detaching.started)
	return r.passNode(ctx, s, &detaching)
}

// nodeStepsApply is false when there is nothing left to drain: no Node, or a machine that goes or has gone already.
func nodeStepsApply(s *scope) bool {
	return s.nodeGoes && !s.infraGoes
}

// passNode looks at the Node, or remembers the last look, and reports whether nothing is left.
func (r *Reconciler) passNode(ctx context.Context, s *scope, step *nodeStep) (bool, error) {
	connection, err := r.Workload.Get(s.cluster)
	if err != nil && r.outOfReach(s, err) {
		return true, nil // deleteNode says so
	}
	seen := pass{err: err}
	if err == nil {
		var ok bool
		if seen, ok = r.passes.last(s.machine.UID, step, s.now); !ok {
			seen = r.lookAtNode(ctx, s, step, connection)
			r.passes.add(s.machine.UID, step, seen)
		}
	}
	return step.conclude(s, seen), nil
}

// lookAtNode takes a few requests, and as many evictions as there are Pods whose turn it is.
func (r *Reconciler) lookAtNode(ctx context.Context, s *scope, step *nodeStep, connection *workload.Connection) pass {
	drainer := &drain.Drainer{Rules: r.Client, Client: connection.Live(), CoreV1: connection.CoreV1()}
	result, err := step.look(drainer, ctx, drain.Subject{Machine: s.machine, Cluster: s.cluster, Now: s.now})
	retry := result.RetryAfter
	if retry == 0 {
		retry = step.retryAfter(s.machine, s.now)
	}
	return pass{message: result.Message, err: err, next: r.Clock.Now().Add(retry)}
}

// conclude says what a look has found, and reports whether nothing is left. An error is no failure of the reconcile: the
// next look comes when it would come anyway.
func (step *nodeStep) conclude(s *scope, seen pass) bool {
	node := s.machine.Status.NodeRef.Name
	if seen.done() {
		if before := status.GetDeprecated(s.stored, step.condition); before == nil || before.Status != corev1.ConditionTrue {
			s.normal(step.succeeded, step.action, fmt.Sprintf("%s %q", step.succeededNote, node))
		}
		s.stepDone(step.condition)
		return true
	}
	s.wakeAfter(step.retryAfter(s.machine, s.now))
	if left := seen.next.Sub(s.now); left > 0 {
		s.wakeAfter(left)
	}
	if seen.err == nil {
		s.deleting = stage{reason: step.reason, message: seen.message}
		s.stepIs(step.still(seen.message))
		return false
	}
	text := workload.StableText(seen.err)
	s.deleting = stage{reason: step.reason, message: step.inWords + " and is tried again: " + text}
	failed := step.failed
	failed.Type, failed.Status, failed.Message = step.condition, corev1.ConditionFalse, text
	s.stepIs(failed)
	if before := status.Get(s.stored, clusterv1.MachineDeletingCondition); before == nil || before.Message != s.deleting.message {
		s.warning(step.failure, step.action, fmt.Sprintf("%s %q: %s", step.failureNote, node, text))
	}
	return false
}

// still is the v1beta1 condition while something is left.
func (step *nodeStep) still(message string) clusterv1.Condition {
	condition := step.waiting(message)
	condition.Type, condition.Status = step.condition, corev1.ConditionFalse
	return condition
}
