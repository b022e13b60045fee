// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/matcher"
)

var _ = Describe("A hook", func() {
	DescribeTable("holds a Machine by an annotation", func(s *scope, messages ...string) {
		var found []string
		for _, h := range []hook{preDrain, preTerminate} {
			if !h.passed(s) {
				found = append(found, s.deleting.reason+": "+s.deleting.message)
			}
		}
		Expect(strings.Join(found, "\n")).To(Equal(strings.Join(messages, "\n")))
	},
		Entry("that begins with its prefix", having(annotated(preDrain.prefix+"/backup", "someone")),
			"WaitingForPreDrainHook: Waiting for pre-drain hooks to succeed (hooks: "+preDrain.prefix+"/backup)"),
		Entry("that is its prefix", having(annotated(preTerminate.prefix, "")),
			"WaitingForPreTerminateHook: Waiting for pre-terminate hooks to succeed (hooks: "+preTerminate.prefix+")"),
		Entry("whatever follows", having(annotated(preTerminate.prefix+"x", "")),
			"WaitingForPreTerminateHook: Waiting for pre-terminate hooks to succeed (hooks: "+preTerminate.prefix+"x)"),
		Entry("of several in order", having(annotated(preDrain.prefix+"/b", ""), annotated(preDrain.prefix+"/c", ""), annotated(preDrain.prefix+"/a", "")),
			"WaitingForPreDrainHook: Waiting for pre-drain hooks to succeed (hooks: "+preDrain.prefix+"/a,"+preDrain.prefix+"/b,"+preDrain.prefix+"/c)"),
		Entry("none of which another one is", having(annotated("x"+preDrain.prefix, ""), annotated(clusterv1.ExcludeNodeDrainingAnnotation, ""))),
	)

	It("says since when it holds the Machine, and that it doesn't any more", func() {
		s := having(deletingSince(time.Minute), annotated(preTerminate.prefix+"/etcd", ""))
		Expect(preTerminate.passed(s)).To(BeFalse())
		Expect(s.machine.Status.Deletion.WaitForPreTerminateHookStartTime).To(Equal(ago(0)))
		Expect(s.machine.Status.Deletion.WaitForPreDrainHookStartTime.IsZero()).To(BeTrue())
		computeStatus(s, grace)
		expectDeprecated(s, clusterv1.PreTerminateDeleteHookSucceededV1Beta1Condition,
			deprecatedCondition(corev1.ConditionFalse, clusterv1.ConditionSeverityInfo, "WaitingExternalHook", ""))
		Expect(s.machine).To(matcher.HaveValidStatus())

		s.now, s.steps, s.machine.Annotations = s.now.Add(time.Hour), nil, nil
		Expect(preTerminate.passed(s)).To(BeTrue())
		Expect(s.machine.Status.Deletion.WaitForPreTerminateHookStartTime).To(Equal(ago(0)), "the time stays")
		computeStatus(s, grace)
		passed := deprecatedTrue()
		passed.LastTransitionTime = ago(-time.Hour)
		expectDeprecated(s, clusterv1.PreTerminateDeleteHookSucceededV1Beta1Condition, passed)
	})

	DescribeTable("counts", func(ctx SpecContext, nodeGoes, beforeDrain bool) {
		s := having(annotated(preDrain.prefix, ""), annotated(preTerminate.prefix, ""))
		s.nodeGoes = nodeGoes
		r := &Reconciler{}
		Expect(r.awaitPreDrainHooks(ctx, s)).To(Equal(!beforeDrain))
		Expect(r.awaitPreTerminateHooks(ctx, s)).To(BeFalse())
	},
		Entry("before the drain and before the end, if the Node goes", true, true),
		Entry("only before the end, if it does not", false, false),
	)
})
