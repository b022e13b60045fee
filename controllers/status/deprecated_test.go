// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/matcher"
)

var storedDeprecated = clusterv1.Condition{
	Type: "NodeHealthy", Status: corev1.ConditionFalse, Severity: "Warning", Reason: "Sick", Message: "fever", LastTransitionTime: ago(time.Hour),
}

var _ = Describe("SetDeprecated", func() {
	changed := func(change func(c *clusterv1.Condition)) clusterv1.Condition {
		c := storedDeprecated
		c.LastTransitionTime = metav1.Time{}
		change(&c)
		return c
	}
	atTime := func(c clusterv1.Condition, t metav1.Time) clusterv1.Condition {
		c.LastTransitionTime = t
		return c
	}

	DescribeTable("the time of the last transition of a condition that is there already",
		func(set clusterv1.Condition, expected metav1.Time) {
			machine := &clusterv1.Machine{}
			machine.SetV1Beta1Conditions(clusterv1.Conditions{storedDeprecated})
			SetDeprecated(machine, set, now)
			Expect(machine.GetV1Beta1Conditions()).To(HaveExactElements(atTime(set, expected)))
		},
		Entry("nothing changes", changed(func(*clusterv1.Condition) {}), ago(time.Hour)),
		Entry("nothing but the given time", atTime(storedDeprecated, ago(time.Minute)), ago(time.Hour)),
		Entry("the status", changed(func(c *clusterv1.Condition) { c.Status = corev1.ConditionUnknown }), second),
		Entry("the severity", changed(func(c *clusterv1.Condition) { c.Severity = "Error" }), second),
		Entry("the reason", changed(func(c *clusterv1.Condition) { c.Reason = "Worse" }), second),
		Entry("the message", changed(func(c *clusterv1.Condition) { c.Message = "cough" }), second),
		Entry("the message, with a given time: now, because the given one is when the status changed",
			atTime(changed(func(c *clusterv1.Condition) { c.Message = "cough" }), ago(2*time.Hour)), second),
	)

	DescribeTable("the time of a condition that wasn't there", func(given, expected metav1.Time) {
		machine := &clusterv1.Machine{}
		SetDeprecated(machine, atTime(storedDeprecated, given), now)
		Expect(machine.GetV1Beta1Conditions()).To(HaveExactElements(atTime(storedDeprecated, expected)))
	},
		Entry("none given: now, in whole seconds", metav1.Time{}, second),
		Entry("one given: that one, in whole seconds", metav1.NewTime(now.Add(-time.Minute)), ago(time.Minute)),
	)

	It("leaves a list that was read alone, as it may be shared", func() {
		machine := &clusterv1.Machine{}
		shared := clusterv1.Conditions{storedDeprecated}
		machine.SetV1Beta1Conditions(shared)
		SetDeprecated(machine, clusterv1.Condition{Type: "NodeHealthy", Status: corev1.ConditionTrue}, now)
		Expect(shared).To(HaveExactElements(storedDeprecated))
		Expect(GetDeprecated(machine, "NodeHealthy")).To(HaveField("Status", corev1.ConditionTrue))
	})

	It("shortens texts to what the CRD allows, in characters", func() {
		machine := &clusterv1.Machine{}
		for _, n := range []int{31, 32, 33, 255, 256, 257, 10239, 10240, 10241} {
			text := strings.Repeat("ü", n)
			SetDeprecated(machine, clusterv1.Condition{Type: "Ready", Status: corev1.ConditionFalse, Severity: clusterv1.ConditionSeverity(text), Reason: text, Message: text}, now)
			Expect(machine).To(matcher.HaveValidStatus(), "%d characters", n)
		}
		Expect(GetDeprecated(machine, "Ready")).To(And(
			HaveField("Severity", clusterv1.ConditionSeverity(strings.Repeat("ü", 31)+"…")),
			HaveField("Reason", strings.Repeat("ü", 255)+"…"),
			HaveField("Message", strings.Repeat("ü", 10239)+"…"),
		))
	})

	It("keeps Ready first and the others sorted, whatever order they are set in", func() {
		sorted := []clusterv1.ConditionType{"Ready", "BootstrapReady", "DrainingSucceeded", "HealthCheckSucceeded", "InfrastructureReady", "NodeHealthy", "OwnerRemediated"}
		rapid.Check(GinkgoT(), func(t *rapid.T) {
			machine := &clusterv1.Machine{}
			for range 2 { // the second time they are there already
				for _, conditionType := range rapid.Permutation(sorted).Draw(t, "order of setting") {
					SetDeprecated(machine, clusterv1.Condition{Type: conditionType, Status: corev1.ConditionTrue}, now)
				}
			}
			var types []clusterv1.ConditionType
			for _, c := range machine.GetV1Beta1Conditions() {
				types = append(types, c.Type)
			}
			NewWithT(t).Expect(types).To(HaveExactElements(sorted))
		})
	})
})

var _ = Describe("GetDeprecated", func() {
	It("finds by type, also in a Machine without any", func() {
		machine := &clusterv1.Machine{}
		Expect(GetDeprecated(machine, "Ready")).To(BeNil())
		SetDeprecated(machine, clusterv1.Condition{Type: "Ready", Status: corev1.ConditionTrue}, now)
		Expect(GetDeprecated(machine, "Ready")).To(HaveField("Status", corev1.ConditionTrue))
		Expect(GetDeprecated(machine, "Else")).To(BeNil())
	})
})

// deprecated writes a condition as type, status, severity and reason; its message tells them apart.
func deprecated(conditionType clusterv1.ConditionType, status corev1.ConditionStatus, severityAndReason ...string) clusterv1.Condition {
	c := clusterv1.Condition{Type: conditionType, Status: status, LastTransitionTime: ago(time.Hour)}
	if len(severityAndReason) == 2 {
		c.Severity, c.Reason, c.Message = clusterv1.ConditionSeverity(severityAndReason[0]), severityAndReason[1], "about "+string(conditionType)
	}
	return c
}

// provisioned is a Machine that is past the steps that Ready counts.
func provisioned(conditions ...clusterv1.Condition) *clusterv1.Machine {
	machine := &clusterv1.Machine{Spec: clusterv1.MachineSpec{ProviderID: "sim:///1"}}
	for _, c := range conditions {
		SetDeprecated(machine, c, now)
	}
	return machine
}

func provisioning(conditions ...clusterv1.Condition) *clusterv1.Machine {
	machine := provisioned(conditions...)
	machine.Spec.ProviderID = ""
	return machine
}

var _ = Describe("SetDeprecatedReady", func() {
	const (
		yes     = corev1.ConditionTrue
		no      = corev1.ConditionFalse
		unknown = corev1.ConditionUnknown
	)
	result := func(status corev1.ConditionStatus, texts ...string) clusterv1.Condition {
		c := clusterv1.Condition{Type: "Ready", Status: status, LastTransitionTime: second}
		if len(texts) == 3 {
			c.Severity, c.Reason, c.Message = clusterv1.ConditionSeverity(texts[0]), texts[1], texts[2]
		}
		return c
	}

	DescribeTable("sums up", func(machine *clusterv1.Machine, expected clusterv1.Condition) {
		SetDeprecatedReady(machine, now)
		Expect(GetDeprecated(machine, "Ready")).To(HaveValue(Equal(expected)))
		Expect(machine).To(matcher.HaveValidStatus())
	},
		Entry("all True", provisioned(deprecated("InfrastructureReady", yes), deprecated("BootstrapReady", yes)), result(yes)),
		Entry("one False", provisioned(deprecated("InfrastructureReady", yes), deprecated("BootstrapReady", no, "Info", "Waiting")),
			result(no, "Info", "Waiting", "about BootstrapReady")),
		Entry("two False of the same severity: that of the infrastructure", provisioned(
			deprecated("BootstrapReady", no, "Info", "B"), deprecated("InfrastructureReady", no, "Info", "I")), result(no, "Info", "I", "about InfrastructureReady")),
		Entry("order of the rest: bootstrap, health check, owner, drain", provisioned(
			deprecated("DrainingSucceeded", no, "Warning", "D"), deprecated("OwnerRemediated", no, "Warning", "O"), deprecated("HealthCheckSucceeded", no, "Warning", "H")),
			result(no, "Warning", "H", "about HealthCheckSucceeded")),
		Entry("owner before drain", provisioned(deprecated("DrainingSucceeded", no, "Warning", "D"), deprecated("OwnerRemediated", no, "Warning", "O")),
			result(no, "Warning", "O", "about OwnerRemediated")),
		Entry("drain alone", provisioned(deprecated("DrainingSucceeded", no, "Warning", "D"), deprecated("InfrastructureReady", yes)),
			result(no, "Warning", "D", "about DrainingSucceeded")),
		Entry("Error before Warning", provisioned(deprecated("InfrastructureReady", no, "Warning", "W"), deprecated("OwnerRemediated", no, "Error", "E")),
			result(no, "Error", "E", "about OwnerRemediated")),
		Entry("Warning before Info", provisioned(deprecated("InfrastructureReady", no, "Info", "I"), deprecated("OwnerRemediated", no, "Warning", "W")),
			result(no, "Warning", "W", "about OwnerRemediated")),
		Entry("Info before True", provisioned(deprecated("InfrastructureReady", yes), deprecated("OwnerRemediated", no, "Info", "I")),
			result(no, "Info", "I", "about OwnerRemediated")),
		Entry("True before Unknown, as it always was", provisioned(deprecated("InfrastructureReady", unknown, "", "U"), deprecated("BootstrapReady", yes)), result(yes)),
		Entry("Unknown alone", provisioned(deprecated("InfrastructureReady", unknown, "", "U")), result(unknown, "", "U", "about InfrastructureReady")),
		Entry("Unknown with a severity, which has no meaning", provisioned(deprecated("InfrastructureReady", unknown, "Error", "U")),
			result(unknown, "", "U", "about InfrastructureReady")),
		Entry("a reason that a provider has given, with spaces, is used as it is", provisioned(deprecated("InfrastructureReady", no, "Error", "out of quota @ zone 1")),
			result(no, "Error", "out of quota @ zone 1", "about InfrastructureReady")),
		// Cluster API ranks these two after True, so that its Ready is True although the infrastructure is not.
		Entry("on purpose unlike Cluster API: False without severity, mirrored from the newer form, counts as Info",
			provisioned(deprecated("InfrastructureReady", no, "", "Creating"), deprecated("BootstrapReady", yes)), result(no, "Info", "Creating", "about InfrastructureReady")),
		Entry("on purpose unlike Cluster API: so does a severity that doesn't exist",
			provisioned(deprecated("InfrastructureReady", no, "Fatal", "Broken"), deprecated("BootstrapReady", yes)), result(no, "Info", "Broken", "about InfrastructureReady")),
		Entry("NodeHealthy and others are no inputs", provisioned(deprecated("NodeHealthy", no, "Error", "N"), deprecated("PreDrainDeleteHookSucceeded", no, "Error", "P"),
			deprecated("PreTerminateDeleteHookSucceeded", no, "Error", "P"), deprecated("VolumeDetachSucceeded", no, "Error", "V"), deprecated("BootstrapReady", yes)), result(yes)),
		Entry("the Ready of before is no input", provisioned(deprecated("Ready", no, "Error", "Old"), deprecated("BootstrapReady", yes)), result(yes)),
		Entry("provisioning: counts steps, none done", provisioning(deprecated("InfrastructureReady", no, "Info", "I"), deprecated("BootstrapReady", no, "Info", "B")),
			result(no, "Info", "I", "0 of 2 completed")),
		Entry("provisioning: one done", provisioning(deprecated("InfrastructureReady", no, "Info", "I"), deprecated("BootstrapReady", yes)), result(no, "Info", "I", "1 of 2 completed")),
		Entry("provisioning: only one reported yet", provisioning(deprecated("BootstrapReady", no, "Info", "B")), result(no, "Info", "B", "0 of 2 completed")),
		Entry("provisioning: both done needs no count", provisioning(deprecated("InfrastructureReady", yes), deprecated("BootstrapReady", yes)), result(yes)),
		Entry("provisioning, but there is a health check: no count",
			provisioning(deprecated("InfrastructureReady", no, "Info", "I"), deprecated("HealthCheckSucceeded", yes)), result(no, "Info", "I", "about InfrastructureReady")),
		Entry("provisioning, and NodeHealthy is there: it doesn't matter", provisioning(deprecated("InfrastructureReady", no, "Info", "I"), deprecated("NodeHealthy", no, "Info", "N")),
			result(no, "Info", "I", "0 of 2 completed")),
		Entry("being deleted before it was provisioned: no count", deletingSince(provisioning(deprecated("InfrastructureReady", no, "Info", "Deleting")), time.Minute),
			result(no, "Info", "Deleting", "about InfrastructureReady")),
	)

	It("makes no Ready without inputs", func() {
		machine := provisioned(deprecated("NodeHealthy", yes))
		SetDeprecatedReady(machine, now)
		Expect(GetDeprecated(machine, "Ready")).To(BeNil())
	})

	It("is never True while an input is False, and computing it again changes nothing", func() {
		anyInput := rapid.Custom(func(t *rapid.T) clusterv1.Condition {
			return deprecated(rapid.SampledFrom(deprecatedInputs).Draw(t, "type"), rapid.SampledFrom([]corev1.ConditionStatus{yes, no, unknown}).Draw(t, "status"),
				rapid.SampledFrom([]string{"Error", "Warning", "Info", "", "Fatal"}).Draw(t, "severity"), rapid.String().Draw(t, "reason"))
		})
		rapid.Check(GinkgoT(), func(t *rapid.T) {
			g := NewWithT(t)
			machine := provisioned(rapid.SliceOfNDistinct(anyInput, 1, -1, func(c clusterv1.Condition) clusterv1.ConditionType { return c.Type }).Draw(t, "inputs")...)
			machine.Spec.ProviderID = rapid.SampledFrom([]string{"", "sim:///1"}).Draw(t, "provider ID")
			bad := false
			for _, c := range machine.GetV1Beta1Conditions() {
				bad = bad || c.Status == no
			}
			SetDeprecatedReady(machine, now)
			g.Expect(machine).To(matcher.HaveValidStatus())
			if bad {
				g.Expect(GetDeprecated(machine, "Ready").Status).To(Equal(no))
			} else {
				g.Expect(GetDeprecated(machine, "Ready").Status).NotTo(Equal(no))
			}
			before := machine.DeepCopy()
			SetDeprecatedReady(machine, now.Add(time.Hour))
			g.Expect(machine).To(Equal(before))
		})
	})
})
