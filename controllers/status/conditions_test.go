// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/matcher"
)

const someType = "Something"

var stored = metav1.Condition{
	Type: someType, Status: isTrue, Reason: "Good", Message: "all is well", LastTransitionTime: ago(time.Hour), ObservedGeneration: 6,
}

var _ = Describe("Set", func() {
	var machine *clusterv1.Machine

	BeforeEach(func() {
		machine = &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Generation: 7}}
	})

	DescribeTable("the time of the last transition",
		func(existing *metav1.Condition, set metav1.Condition, expected metav1.Time) {
			if existing != nil {
				machine.Status.Conditions = []metav1.Condition{*existing}
			}
			set.Type, set.Reason = someType, "Now"
			Set(machine, set, now)
			Expect(machine.Status.Conditions).To(HaveExactElements(metav1.Condition{
				Type: someType, Status: set.Status, Reason: "Now", LastTransitionTime: expected, ObservedGeneration: 7,
			}))
		},
		Entry("new, no time given: now, in whole seconds", nil, metav1.Condition{Status: isTrue}, second),
		Entry("new, time given: that one, in whole seconds", nil,
			metav1.Condition{Status: isTrue, LastTransitionTime: metav1.NewTime(now.Add(-time.Minute))}, ago(time.Minute)),
		Entry("given in another time zone: the same instant", nil,
			metav1.Condition{Status: isTrue, LastTransitionTime: metav1.NewTime(now.In(time.FixedZone("", 5400)))}, second),
		Entry("same status: kept, although reason and message change", &stored, metav1.Condition{Status: isTrue}, ago(time.Hour)),
		Entry("same status, time given: kept", &stored, metav1.Condition{Status: isTrue, LastTransitionTime: ago(time.Minute)}, ago(time.Hour)),
		Entry("other status: now", &stored, metav1.Condition{Status: isFalse}, second),
		Entry("other status, time given: that one", &stored, metav1.Condition{Status: isUnknown, LastTransitionTime: ago(time.Minute)}, ago(time.Minute)),
		Entry("other status, earlier time given: that one, even if it lies before the stored one", &stored,
			metav1.Condition{Status: isFalse, LastTransitionTime: ago(2 * time.Hour)}, ago(2*time.Hour)),
	)

	It("replaces only the condition of its type and loses none of other writers", func() {
		Set(machine, metav1.Condition{Type: "WrittenByAPlugin", Status: isFalse, Reason: "Busy", Message: "ask me later"}, now)
		others := slices.Clone(machine.Status.Conditions)
		for _, s := range []metav1.ConditionStatus{isTrue, isFalse, isUnknown, isTrue} {
			Set(machine, metav1.Condition{Type: someType, Status: s, Reason: "Changes"}, now)
		}
		Expect(machine.Status.Conditions).To(HaveLen(2))
		Expect(machine.Status.Conditions).To(ContainElements(others))
	})

	It("sorts a list that somebody has left in another order", func() {
		machine.Status.Conditions = []metav1.Condition{{Type: "Deleting"}, {Type: "Beta"}, {Type: "Ready"}}
		Set(machine, metav1.Condition{Type: "Alpha", Status: isTrue, Reason: "New"}, now)
		Expect(typesOf(machine)).To(HaveExactElements("Ready", "Alpha", "Beta", "Deleting"))
	})

	It("shortens a message to the CRD's 32768 characters, however many bytes they have", func() {
		for _, length := range []int{32767, 32768, 32769, 100000} {
			Set(machine, metav1.Condition{Type: someType, Status: isTrue, Reason: "Long", Message: strings.Repeat("ü", length)}, now)
			Expect(machine).To(matcher.HaveValidStatus(), "%d characters", length)
		}
		Expect(machine.Status.Conditions[0].Message).To(HaveSuffix("ü…"))
	})
})

// readingOrder holds every type that Cluster API knows on a Machine, in the order in which it lists them; types that it
// doesn't know stand where the two plug-ins are.
var readingOrder = []string{
	"Available", "Ready", "UpToDate", "BootstrapConfigReady", "InfrastructureReady", "NodeHealthy", "NodeReady",
	"NodeKubeadmLabelsAndTaintsSet", "EtcdPodHealthy", "EtcdMemberHealthy", "APIServerPodHealthy", "ControllerManagerPodHealthy", "SchedulerPodHealthy",
	"HealthCheckSucceeded", "OwnerRemediated", "Updating",
	"Plugin", "plugin.example.com/Ready",
	"Paused", "Deleting",
}

func typesOf(machine *clusterv1.Machine) []string {
	var types []string
	for _, c := range machine.Status.Conditions {
		types = append(types, c.Type)
	}
	return types
}

var _ = Describe("the order of conditions", func() {
	It("is the reading order, whatever order they are set in", func() {
		rapid.Check(GinkgoT(), func(t *rapid.T) {
			machine := &clusterv1.Machine{}
			for _, conditionType := range rapid.Permutation(readingOrder).Draw(t, "order of setting") {
				Set(machine, metav1.Condition{Type: conditionType, Status: isTrue, Reason: "Any"}, now)
			}
			NewWithT(t).Expect(typesOf(machine)).To(HaveExactElements(readingOrder))
		})
	})

	It("and the content depend only on what was set last for each type", func() {
		rapid.Check(GinkgoT(), func(t *rapid.T) {
			g := NewWithT(t)
			last := rapid.SliceOfNDistinct(anyCondition(readingOrder), 1, len(readingOrder), func(c metav1.Condition) string { return c.Type }).Draw(t, "conditions")
			one, other := &clusterv1.Machine{}, &clusterv1.Machine{}
			for _, c := range last {
				Set(one, c, now)
			}
			for _, c := range rapid.Permutation(last).Draw(t, "the same in another order") {
				Set(other, c, now)
			}
			g.Expect(other).To(Equal(one))
			g.Expect(one).To(matcher.HaveValidStatus())
		})
	})

	It("setting the same again changes nothing, also later", func() {
		rapid.Check(GinkgoT(), func(t *rapid.T) {
			machine := &clusterv1.Machine{}
			conditions := rapid.SliceOfDistinct(anyCondition(readingOrder), func(c metav1.Condition) string { return c.Type }).Draw(t, "conditions")
			for _, c := range conditions {
				Set(machine, c, now)
			}
			before := machine.DeepCopy()
			for _, c := range conditions {
				Set(machine, c, now.Add(time.Hour))
			}
			NewWithT(t).Expect(machine).To(Equal(before))
		})
	})
})

// anyText has texts of one and of several lines, with and without bullets, and such as are no UTF-8.
var anyText = rapid.Custom(func(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.OneOf(
		rapid.SampledFrom([]string{"", "* Node.Ready: down", "  * indented", "middle * of the line", "a text", "\xff\xfe", "ü", ":"}),
		rapid.String(),
	), 0, 4).Draw(t, "lines"), "\n")
})

func anyCondition(types []string) *rapid.Generator[metav1.Condition] {
	return rapid.Custom(func(t *rapid.T) metav1.Condition {
		c := metav1.Condition{
			Type:    rapid.SampledFrom(types).Draw(t, "type"),
			Status:  rapid.SampledFrom([]metav1.ConditionStatus{isTrue, isFalse, isUnknown}).Draw(t, "status"),
			Reason:  rapid.StringMatching(`[A-Za-z]([A-Za-z0-9_,:]{0,20}[A-Za-z0-9_])?`).Draw(t, "reason"),
			Message: anyText.Draw(t, "message"),
		}
		if rapid.Bool().Draw(t, "has a time") {
			c.LastTransitionTime = metav1.NewTime(now.Add(-time.Duration(rapid.IntRange(0, 1<<40).Draw(t, "age in ns"))))
		}
		return c
	})
}

var _ = Describe("Get and IsTrue", func() {
	DescribeTable("by type", func(conditionType string, found, isGood bool) {
		machine := &clusterv1.Machine{Status: clusterv1.MachineStatus{Conditions: []metav1.Condition{
			{Type: "Good", Status: isTrue}, {Type: "Bad", Status: isFalse}, {Type: "Open", Status: isUnknown},
		}}}
		if found {
			Expect(Get(machine, conditionType)).To(HaveField("Type", conditionType))
		} else {
			Expect(Get(machine, conditionType)).To(BeNil())
		}
		Expect(IsTrue(machine.Status.Conditions, conditionType)).To(Equal(isGood))
	},
		Entry("True", "Good", true, true),
		Entry("False", "Bad", true, false),
		Entry("Unknown", "Open", true, false),
		Entry("missing", "Else", false, false),
		Entry("no type", "", false, false),
	)
})
