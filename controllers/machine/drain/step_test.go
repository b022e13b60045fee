// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// limited sets the timeout of a step and, unless it is zero, how long ago the step began.
type limited func(m *clusterv1.Machine, seconds *int32, began time.Duration)

var _ = DescribeTableSubtree("The step of", func(due func(*clusterv1.Machine, time.Time) bool, stepOf func(*clusterv1.Machine) step, annotation string, limit limited) {
	var m *clusterv1.Machine

	BeforeEach(func() { m = &clusterv1.Machine{} })

	It("is due unless something says otherwise", func() {
		Expect(due(m, now)).To(BeTrue())
	})

	It("isn't due with its annotation, whatever the value", func() {
		m.Annotations = map[string]string{annotation: "false"}
		Expect(due(m, now)).To(BeFalse())
	})

	It("isn't due once pre-terminate hooks are waited for", func() {
		m.Status.Deletion = &clusterv1.MachineDeletionStatus{WaitForPreTerminateHookStartTime: metav1.NewTime(now)}
		Expect(due(m, now)).To(BeFalse())
	})

	DescribeTable("has a timeout", func(seconds *int32, began time.Duration, want bool, retryAfter time.Duration) {
		limit(m, seconds, began)
		Expect(due(m, now)).To(Equal(want))
		Expect(stepOf(m).result("something is left", now)).To(Equal(Result{Message: "something is left", RetryAfter: retryAfter}))
	},
		Entry("that is not set", nil, 1000*time.Hour, true, RetryInterval),
		Entry("of 0, which is none", new(int32(0)), 1000*time.Hour, true, RetryInterval),
		Entry("that has not begun", new(int32(60)), time.Duration(0), true, RetryInterval),
		Entry("that is far away", new(int32(60)), 10*time.Second, true, RetryInterval),
		Entry("that is near", new(int32(60)), 53*time.Second, true, 7*time.Second),
		Entry("that is over", new(int32(60)), 60*time.Second, false, RetryInterval),
	)

	It("needs no retry when it is done", func() {
		Expect(stepOf(m).result("", now)).To(Equal(Result{}))
	})
},
	Entry("draining", DrainDue, drainStep, clusterv1.ExcludeNodeDrainingAnnotation,
		limited(func(m *clusterv1.Machine, seconds *int32, began time.Duration) {
			m.Spec.Deletion.NodeDrainTimeoutSeconds = seconds
			if began > 0 {
				m.Status.Deletion = &clusterv1.MachineDeletionStatus{NodeDrainStartTime: metav1.NewTime(now.Add(-began))}
			}
		})),
	Entry("waiting for volumes", VolumesDue, volumesStep, clusterv1.ExcludeWaitForNodeVolumeDetachAnnotation,
		limited(func(m *clusterv1.Machine, seconds *int32, began time.Duration) {
			m.Spec.Deletion.NodeVolumeDetachTimeoutSeconds = seconds
			if began > 0 {
				m.Status.Deletion = &clusterv1.MachineDeletionStatus{WaitForNodeVolumeDetachStartTime: metav1.NewTime(now.Add(-began))}
			}
		})),
)
