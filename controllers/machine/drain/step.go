// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// step is what draining and waiting for volumes have in common.
type step struct {
	// excluded is the annotation that leaves the step out.
	excluded string
	// limit is how many seconds the step may take; nil or 0 is any number.
	limit *int32
	// started is zero if the step has not begun.
	started metav1.Time
}

func drainStep(machine *clusterv1.Machine) step {
	return step{
		excluded: clusterv1.ExcludeNodeDrainingAnnotation,
		limit:    machine.Spec.Deletion.NodeDrainTimeoutSeconds,
		started:  deletionStatus(machine).NodeDrainStartTime,
	}
}

func volumesStep(machine *clusterv1.Machine) step {
	return step{
		excluded: clusterv1.ExcludeWaitForNodeVolumeDetachAnnotation,
		limit:    machine.Spec.Deletion.NodeVolumeDetachTimeoutSeconds,
		started:  deletionStatus(machine).WaitForNodeVolumeDetachStartTime,
	}
}

// DrainDue reports whether the Machine itself says nothing against draining its Node: no annotation, no timeout that is
// over, and no later step that has begun. Whether there is a machine and a cluster left to drain is for the caller to
// know.
func DrainDue(machine *clusterv1.Machine, now time.Time) bool {
	return drainStep(machine).due(machine, now)
}

// VolumesDue is the same for waiting until volumes are detached from the Node.
func VolumesDue(machine *clusterv1.Machine, now time.Time) bool {
	return volumesStep(machine).due(machine, now)
}

// DrainRetryAfter is when to look again after a drain that met an error: as Result.RetryAfter after one that did not.
func DrainRetryAfter(machine *clusterv1.Machine, now time.Time) time.Duration {
	return drainStep(machine).retryAfter(now)
}

// VolumesRetryAfter is the same for waiting until volumes are detached.
func VolumesRetryAfter(machine *clusterv1.Machine, now time.Time) time.Duration {
	return volumesStep(machine).retryAfter(now)
}

// due is false for good once the wait for pre-terminate hooks has begun: their owners may rely on that nothing that runs
// on the machine is touched any more.
func (s step) due(machine *clusterv1.Machine, now time.Time) bool {
	_, excluded := machine.Annotations[s.excluded]
	deletion := deletionStatus(machine)
	if excluded || !deletion.WaitForPreTerminateHookStartTime.IsZero() {
		return false
	}
	left, limited := s.left(now)
	return !limited || left > 0
}

// left is how long the step may go on, if it is limited.
func (s step) left(now time.Time) (time.Duration, bool) {
	if s.limit == nil || *s.limit <= 0 {
		return 0, false
	}
	return time.Duration(*s.limit)*time.Second - now.Sub(s.since(now)), true
}

// since is when the step began, which is now if it hasn't yet.
func (s step) since(now time.Time) time.Time {
	if s.started.IsZero() {
		return now
	}
	return s.started.Time
}

// retryAfter ends with the timeout, if that is sooner: the next step need not wait for longer.
func (s step) retryAfter(now time.Time) time.Duration {
	if left, limited := s.left(now); limited && left > 0 {
		return min(left, RetryInterval)
	}
	return RetryInterval
}

// result is done if the message is empty.
func (s step) result(message string, now time.Time) Result {
	if message == "" {
		return Result{}
	}
	return Result{Message: message, RetryAfter: s.retryAfter(now)}
}

func deletionStatus(machine *clusterv1.Machine) clusterv1.MachineDeletionStatus {
	if machine.Status.Deletion == nil {
		return clusterv1.MachineDeletionStatus{}
	}
	return *machine.Status.Deletion
}
