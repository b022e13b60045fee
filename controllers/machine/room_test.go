// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers/status"
	"github.com/machinist-dev/machinist/test/matcher"
)

// others are so many conditions of other controllers.
func others(count int) fact {
	return func(s *scope) {
		for i := range count {
			stored(about(fmt.Sprintf("example.org/%02d", i), yes, "Theirs", ""))(s)
		}
	}
}

func typesOf(conditions []metav1.Condition) []string {
	var types []string
	for _, c := range conditions {
		types = append(types, c.Type)
	}
	return types
}

var _ = Describe("A Machine on which other controllers set many conditions", func() {
	DescribeTable("keeps all of theirs, and those of ours that matter most", func(count int, added []fact, left ...string) {
		s := having(append(added, others(count))...)
		computeStatus(s, grace)
		Expect(s.machine).To(matcher.HaveValidStatus())
		for i := range count {
			Expect(status.Get(s.machine, fmt.Sprintf("example.org/%02d", i))).NotTo(BeNil())
		}
		for _, conditionType := range left {
			Expect(status.Get(s.machine, conditionType)).To(BeNil())
		}
		Expect(s.machine.Status.Conditions).To(HaveLen(min(count+9+len(added), 32)))

		before := s.machine.DeepCopy()
		computeStatus(s, grace)
		Expect(s.machine).To(Equal(before), "nor does it write anything the second time")
	},
		Entry("all, if there is room", 23, nil),
		Entry("all but one", 24, nil, "Paused"),
		Entry("first without UpToDate, if that is ours", 23, []fact{rolledOut("v1")}, "UpToDate"),
		Entry("UpToDate of others is theirs", 23, []fact{stored(about("UpToDate", yes, "UpToDate", ""))}, "Paused"),
		Entry("Ready to the last", 31, nil, "Paused", "Updating", "BootstrapConfigReady", "NodeReady", "InfrastructureReady", "NodeHealthy", "Deleting", "Available"),
		Entry("none of ours", 32, nil, "Ready"),
	)

	It("is Ready or not by all of its conditions, also those for which there is no room", func() {
		s := having(others(31), nodeIs(nodeReadyIs("False", "no CNI")))
		Expect(theReady(s).Message).To(Equal("* NodeHealthy:\n  * Node.Ready: no CNI"))
		Expect(typesOf(s.machine.Status.Conditions)).To(ContainElement("Ready"))
	})

	It("keeps the condition Paused that others have set while it is reserved for us", func() {
		s := having(others(24), stored(about("Paused", yes, "Paused", "")), watched("ours"), annotated(clusterv1.PausedAnnotation, "ours"))
		computeStatus(s, grace)
		Expect(status.Get(s.machine, "Paused")).To(HaveField("Status", metav1.ConditionTrue))
		Expect(s.leftOut).To(HaveLen(1))
		Expect(s.leftOut).NotTo(ContainElement("Paused"))
	})

	// said are the events of one reconcile of a Machine with these facts.
	said := func(r *Reconciler, facts ...fact) []eventNote {
		s := having(facts...)
		computeStatus(s, grace)
		r.warnOfCrowd(s)
		return s.events
	}
	noRoomFor := func(types string) []eventNote {
		return []eventNote{{
			warning: true, reason: "TooManyConditions", action: "Report",
			note: "Other controllers have set so many conditions that there is no room for " + types + ": a Machine can have 32",
		}}
	}

	It("says so once, and again when it is another condition", func() {
		r := &Reconciler{}
		Expect(said(r, others(24))).To(Equal(noRoomFor("Paused")))
		Expect(said(r, others(24))).To(BeEmpty())
		Expect(said(r, others(25))).To(Equal(noRoomFor("Paused, Updating")))
		Expect(said(r, others(20))).To(BeEmpty())
		Expect(said(r, others(24))).To(Equal(noRoomFor("Paused")), "there was room in between")
	})

	running := func(s *scope) { s.machine.Status.SetTypedPhase(clusterv1.MachinePhaseRunning) }
	DescribeTable("says so whatever it had before", func(facts ...fact) {
		Expect(said(&Reconciler{}, facts...)).To(HaveLen(1))
	},
		Entry("nothing, as somebody has replaced the whole list", running, others(32)),
		Entry("a condition that is taken off", running, others(24), stored(about("Paused", no, "NotPaused", ""))),
		Entry("a full list, to which UpToDate is added", running, others(23), rolledOut("v1")),
	)
})
