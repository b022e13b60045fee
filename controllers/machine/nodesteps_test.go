// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers/machine/drain"
	"github.com/machinist-dev/machinist/controllers/status"
	"github.com/machinist-dev/machinist/test/matcher"
)

// goingNode is a Machine whose Node is to be drained.
func goingNode(facts ...fact) *scope {
	s := having(append([]fact{deletingSince(time.Minute)}, facts...)...)
	s.nodeGoes = true
	return s
}

func drainLimit(seconds int32) fact {
	return func(s *scope) { s.machine.Spec.Deletion.NodeDrainTimeoutSeconds = &seconds }
}

func drainBegan(d time.Duration) fact {
	return func(s *scope) {
		s.machine.Status.Deletion = &clusterv1.MachineDeletionStatus{NodeDrainStartTime: ago(d)}
	}
}

var _ = Describe("Draining the Node", func() {
	It("is written down before it begins", func(ctx SpecContext) {
		s := goingNode()
		Expect((&Reconciler{}).drainNode(ctx, s)).To(BeFalse())
		Expect(s.writeFirst).To(BeTrue())
		Expect(s.machine.Status.Deletion.NodeDrainStartTime).To(Equal(ago(0)))
		computeStatus(s, grace)
		Expect(status.Get(s.machine, "Deleting")).To(And(HaveField("Reason", "DrainingNode"), HaveField("Message", drain.Heading(now))))
		expectDeprecated(s, clusterv1.DrainingSucceededV1Beta1Condition,
			deprecatedCondition(corev1.ConditionFalse, clusterv1.ConditionSeverityInfo, "Draining", "Draining the node before deletion"))
		Expect(s.machine).To(matcher.HaveValidStatus())
	})

	DescribeTable("is left out", func(ctx SpecContext, s *scope) {
		r := &Reconciler{} // without a connection: it must not be asked for
		Expect(r.drainNode(ctx, s)).To(BeTrue())
		Expect(s.machine.Status).To(Equal(s.stored.Status))
		Expect(s.steps).To(BeEmpty())
		Expect(s.writeFirst).To(BeFalse())
	},
		Entry("if the Node stays", func() *scope { s := goingNode(); s.nodeGoes = false; return s }()),
		Entry("if the InfraMachine goes", func() *scope { s := goingNode(); s.infraGoes = true; return s }()),
		Entry("with the annotation", goingNode(annotated(clusterv1.ExcludeNodeDrainingAnnotation, ""))),
		Entry("after its timeout", goingNode(drainLimit(60), drainBegan(time.Minute+time.Second))),
	)
})

var _ = Describe("What a look at the Node has found", func() {
	const left = "Drain not completed yet (started at 2026-08-01T12:00:00Z):\n* Pod a/b: waiting for completion"

	It("is said, and looked at again", func() {
		s := goingNode()
		Expect(draining.conclude(s, pass{message: left, next: now.Add(12 * time.Second)})).To(BeFalse())
		Expect(s.deleting).To(Equal(stage{"DrainingNode", left}))
		Expect(s.requeueAfter).To(Equal(12 * time.Second))
		Expect(s.events).To(BeEmpty())
		computeStatus(s, grace)
		expectDeprecated(s, clusterv1.DrainingSucceededV1Beta1Condition, deprecatedCondition(corev1.ConditionFalse, clusterv1.ConditionSeverityInfo, "Draining", left))
		Expect(s.machine).To(matcher.HaveValidStatus())
	})

	It("is looked at again when the timeout of the step ends, if that is sooner", func() {
		s := goingNode(drainLimit(60), drainBegan(50*time.Second))
		Expect(draining.conclude(s, pass{message: left, next: now.Add(15 * time.Second)})).To(BeFalse())
		Expect(s.requeueAfter).To(BeNumerically("~", 10*time.Second, time.Second))
	})

	It("may be an error, which is said once by an event", func() {
		s := goingNode()
		Expect(draining.conclude(s, pass{err: errors.New("read tcp 10.0.0.5:43210->10.1.1.1:6443: reset")})).To(BeFalse())
		text := "read tcp 10.1.1.1:6443: reset"
		Expect(s.deleting).To(Equal(stage{"DrainingNode", "The drain met an error and is tried again: " + text}))
		Expect(s.requeueAfter).To(Equal(drain.RetryInterval))
		Expect(s.events).To(Equal([]eventNote{{warning: true, reason: "FailedDrainNode", action: "DrainNode", note: `error draining Machine's node "n": ` + text}}))
		computeStatus(s, grace)
		expectDeprecated(s, clusterv1.DrainingSucceededV1Beta1Condition, deprecatedCondition(corev1.ConditionFalse, clusterv1.ConditionSeverityWarning, "DrainingFailed", text))

		s.stored, s.events = s.machine.DeepCopy(), nil
		Expect(draining.conclude(s, pass{err: errors.New("read tcp 10.0.0.5:43211->10.1.1.1:6443: reset")})).To(BeFalse())
		Expect(s.events).To(BeEmpty())
	})

	It("may be nothing, which is said once by an event", func() {
		s := goingNode()
		for _, step := range []*nodeStep{&draining, &detaching} {
			Expect(step.conclude(s, pass{})).To(BeTrue())
		}
		Expect(s.requeueAfter).To(BeZero())
		Expect(s.events).To(Equal([]eventNote{
			{reason: "SuccessfulDrainNode", action: "DrainNode", note: `success draining Machine's node "n"`},
			{reason: "NodeVolumesDetached", action: "DetachVolumes", note: `success waiting for node volumes detaching Machine's node "n"`},
		}))
		computeStatus(s, grace)
		expectDeprecated(s, clusterv1.DrainingSucceededV1Beta1Condition, deprecatedTrue())
		expectDeprecated(s, clusterv1.VolumeDetachSucceededV1Beta1Condition, deprecatedTrue())

		s.stored, s.events = s.machine.DeepCopy(), nil
		Expect(draining.conclude(s, pass{})).To(BeTrue())
		Expect(s.events).To(BeEmpty())
	})

	It("about volumes is said in its own words", func() {
		s := goingNode()
		Expect(detaching.conclude(s, pass{message: "Waiting for Node volumes"})).To(BeFalse())
		Expect(s.deleting).To(Equal(stage{"WaitingForVolumeDetach", "Waiting for Node volumes"}))
		computeStatus(s, grace)
		expectDeprecated(s, clusterv1.VolumeDetachSucceededV1Beta1Condition,
			deprecatedCondition(corev1.ConditionFalse, clusterv1.ConditionSeverityInfo, "WaitingForVolumeDetach", "Waiting for node volumes to be detached"))

		s = goingNode()
		Expect(detaching.conclude(s, pass{err: errors.New("forbidden")})).To(BeFalse())
		Expect(s.events).To(HaveLen(1))
		Expect(s.events[0].reason).To(Equal("FailedWaitForVolumeDetach"))
	})

	It("is remembered until the next look is due, for each step, and dropped with the Machine", func() {
		var p nodePasses
		const uid = types.UID("a")
		seen := pass{message: left, next: now.Add(20 * time.Second)}
		p.add(uid, &draining, seen)
		last := func(uid types.UID, step *nodeStep, now time.Time) bool { _, ok := p.last(uid, step, now); return ok }
		Expect(last(uid, &draining, now.Add(19*time.Second))).To(BeTrue())
		Expect(last(uid, &draining, now.Add(20*time.Second))).To(BeFalse())
		Expect(last(uid, &detaching, now)).To(BeFalse())
		Expect(last("b", &draining, now)).To(BeFalse())
		p.forget(uid)
		Expect(p.byID).To(BeEmpty())
	})
})

var _ = It("The time at which a step began is kept as the API server stores it", func() {
	s := goingNode()
	started := func(d *clusterv1.MachineDeletionStatus) *metav1.Time { return &d.NodeDrainStartTime }
	Expect(s.begin(started).Nanosecond()).To(BeZero())
	s.now = s.now.Add(time.Hour)
	Expect(s.begin(started)).To(BeTemporally("==", ago(0).Time))
})
