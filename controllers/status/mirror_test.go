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
	"github.com/machinist-dev/machinist/apis/contract"
	"github.com/machinist-dev/machinist/test/matcher"
)

// list shortens the tables.
func list(conditions ...contract.Condition) []contract.Condition { return conditions }

var _ = Describe("Mirror", func() {
	const target = clusterv1.MachineInfrastructureReadyCondition

	DescribeTable("the condition Ready of a provider object", func(reported []contract.Condition, expected *metav1.Condition) {
		if expected != nil {
			expected.Type = target
		}
		Expect(Mirror(reported, "SimMachine", target)).To(Equal(expected))
	},
		Entry("no conditions", nil, nil),
		Entry("no Ready among them", list(contract.Condition{Type: "Happy", Status: "True", Reason: "Lucky"}), nil),
		Entry("True: status, reason, message and time are copied, the generation is not",
			list(contract.Condition{Type: "Ready", Status: "True", Reason: "Running", Message: "up", LastTransitionTime: ago(time.Hour), ObservedGeneration: 3}),
			&metav1.Condition{Status: isTrue, Reason: "Running", Message: "up", LastTransitionTime: ago(time.Hour)}),
		Entry("False", list(contract.Condition{Type: "Ready", Status: "False", Reason: "Creating", Message: "takes 5 minutes"}),
			&metav1.Condition{Status: isFalse, Reason: "Creating", Message: "takes 5 minutes"}),
		Entry("Unknown, without a message", list(contract.Condition{Type: "Ready", Status: "Unknown", Reason: "Unreachable"}),
			&metav1.Condition{Status: isUnknown, Reason: "Unreachable"}),
		Entry("True without reason: Ready", list(contract.Condition{Type: "Ready", Status: "True"}),
			&metav1.Condition{Status: isTrue, Reason: "Ready"}),
		Entry("True with the placeholder for no reason: Ready", list(contract.Condition{Type: "Ready", Status: "True", Reason: "NoReasonReported"}),
			&metav1.Condition{Status: isTrue, Reason: "Ready"}),
		Entry("False without reason", list(contract.Condition{Type: "Ready", Status: "False", Message: "disk"}),
			&metav1.Condition{Status: isFalse, Reason: "NoReasonReported", Message: "disk"}),
		Entry("Unknown without reason", list(contract.Condition{Type: "Ready", Status: "Unknown"}),
			&metav1.Condition{Status: isUnknown, Reason: "NoReasonReported"}),
		Entry("found among others, which needn't have a reason for an API server", list(
			contract.Condition{Type: "Happy", Status: "False", Reason: "not a word at all"},
			contract.Condition{Type: "Ready", Status: "True", Reason: "Running"},
		), &metav1.Condition{Status: isTrue, Reason: "Running"}),
		Entry("the first of two", list(
			contract.Condition{Type: "Ready", Status: "False", Reason: "First"},
			contract.Condition{Type: "Ready", Status: "True", Reason: "Second"},
		), &metav1.Condition{Status: isFalse, Reason: "First"}),
		Entry("the longest reason that is allowed", list(contract.Condition{Type: "Ready", Status: "False", Reason: strings.Repeat("a", 1024)}),
			&metav1.Condition{Status: isFalse, Reason: strings.Repeat("a", 1024)}),
		Entry("a reason with every character that is allowed", list(contract.Condition{Type: "Ready", Status: "False", Reason: "aZ09_,:_"}),
			&metav1.Condition{Status: isFalse, Reason: "aZ09_,:_"}),
		Entry("a reason of one letter", list(contract.Condition{Type: "Ready", Status: "False", Reason: "x"}),
			&metav1.Condition{Status: isFalse, Reason: "x"}),
	)

	const prefix = "failed to convert status.conditions from SimMachine to []metav1.Condition: "
	const grammar = `reason for the Ready condition must match ^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$ and have at most 1024 characters, found `
	DescribeTable("conditions that can't be mirrored", func(reported []contract.Condition, expected string) {
		condition, err := Mirror(reported, "SimMachine", target)
		Expect(err).To(MatchError(prefix + expected))
		Expect(condition).To(BeNil())
	},
		Entry("no type", list(contract.Condition{Status: "True"}), "type must be set for all conditions"),
		Entry("no status", list(contract.Condition{Type: "Ready"}), "status must be set for the Ready condition"),
		Entry("a status that doesn't exist", list(contract.Condition{Type: "Ready", Status: "true"}),
			"status for the Ready condition must be one of True, False, Unknown"),
		Entry("Ready is fine, but another has no status", list(
			contract.Condition{Type: "Ready", Status: "True"}, contract.Condition{Type: "Happy"}),
			"status must be set for the Happy condition"),
		Entry("Ready is fine, but another has no type", list(
			contract.Condition{Type: "Ready", Status: "True"}, contract.Condition{Status: "True"}),
			"type must be set for all conditions"),
		// Cluster API copies such a reason, the API server refuses it, and no condition of the Machine changes any more.
		Entry("reason with a space", list(contract.Condition{Type: "Ready", Status: "True", Reason: "Custom reason"}), grammar+`"Custom reason"`),
		Entry("reason that begins with a digit", list(contract.Condition{Type: "Ready", Status: "True", Reason: "9Lives"}), grammar+`"9Lives"`),
		Entry("reason that ends with a colon", list(contract.Condition{Type: "Ready", Status: "True", Reason: "Why:"}), grammar+`"Why:"`),
		Entry("reason that ends with a line feed", list(contract.Condition{Type: "Ready", Status: "True", Reason: "Why\n"}), grammar+`"Why\n"`),
		Entry("reason with a letter that isn't ASCII", list(contract.Condition{Type: "Ready", Status: "True", Reason: "Größe"}), grammar+`"Größe"`),
		Entry("reason of 1025 characters, which the error shortens", list(contract.Condition{Type: "Ready", Status: "True", Reason: strings.Repeat("a", 1025)}),
			grammar+`"`+strings.Repeat("a", 63)+`…"`),
	)

	It("only ever gives what the API server accepts", func() {
		rapid.Check(GinkgoT(), func(t *rapid.T) {
			condition, err := Mirror(anyReported.Draw(t, "reported"), "SimMachine", target)
			if err != nil || condition == nil {
				return
			}
			machine := &clusterv1.Machine{}
			Set(machine, *condition, now)
			NewWithT(t).Expect(machine).To(matcher.HaveValidStatus())
		})
	})
})

var (
	anyStatus   = rapid.OneOf(rapid.SampledFrom([]string{"True", "False", "Unknown", ""}), rapid.String())
	anyLength   = rapid.SampledFrom([]int{0, 1, 255, 256, 257, 1023, 1024, 1025, 10239, 10240, 10241, 32767, 32768, 32769})
	anyForeign  = rapid.OneOf(anyText, rapid.Map(anyLength, func(n int) string { return strings.Repeat("x", n) }), rapid.Map(anyLength, func(n int) string { return strings.Repeat("€", n) }))
	anyReported = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) contract.Condition {
		return contract.Condition{
			Type:    rapid.SampledFrom([]string{"Ready", "Ready", "Happy", ""}).Draw(t, "type"),
			Status:  anyStatus.Draw(t, "status"),
			Reason:  rapid.OneOf(rapid.StringMatching(`[A-Za-z0-9_,:]*`), anyForeign).Draw(t, "reason"),
			Message: anyForeign.Draw(t, "message"),
		}
	}), 0, 3)
	anyDeprecatedReported = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) contract.DeprecatedCondition {
		return contract.DeprecatedCondition{
			Type:     rapid.SampledFrom([]string{"Ready", "Happy", ""}).Draw(t, "type"),
			Status:   anyStatus.Draw(t, "status"),
			Severity: rapid.OneOf(rapid.SampledFrom([]string{"Error", "Warning", "Info", ""}), anyForeign).Draw(t, "severity"),
			Reason:   anyForeign.Draw(t, "reason"),
			Message:  anyForeign.Draw(t, "message"),
		}
	}), 0, 3)
)

func deprecatedList(conditions ...contract.DeprecatedCondition) []contract.DeprecatedCondition {
	return conditions
}

var _ = Describe("MirrorDeprecated", func() {
	const target = clusterv1.BootstrapReadyV1Beta1Condition

	DescribeTable("the v1beta1 condition Ready of a provider object",
		func(reported []contract.DeprecatedCondition, expected *clusterv1.Condition) {
			if expected != nil {
				expected.Type = target
			}
			Expect(MirrorDeprecated(reported, target)).To(Equal(expected))
		},
		Entry("no conditions", nil, nil),
		Entry("no Ready among them", deprecatedList(contract.DeprecatedCondition{Type: "Happy", Status: "True"}), nil),
		Entry("False, with all there is",
			deprecatedList(contract.DeprecatedCondition{Type: "Ready", Status: "False", Severity: "Warning", Reason: "Quota", Message: "no more", LastTransitionTime: ago(time.Hour)}),
			&clusterv1.Condition{Status: corev1.ConditionFalse, Severity: "Warning", Reason: "Quota", Message: "no more", LastTransitionTime: ago(time.Hour)}),
		Entry("True, as it should be", deprecatedList(contract.DeprecatedCondition{Type: "Ready", Status: "True"}),
			&clusterv1.Condition{Status: corev1.ConditionTrue}),
		Entry("in the newer form, without severity", deprecatedList(contract.DeprecatedCondition{Type: "Ready", Status: "False", Reason: "Creating"}),
			&clusterv1.Condition{Status: corev1.ConditionFalse, Reason: "Creating"}),
		Entry("a reason in the form of a sentence, which the v1beta1 conditions allow",
			deprecatedList(contract.DeprecatedCondition{Type: "Ready", Status: "Unknown", Reason: "who knows"}),
			&clusterv1.Condition{Status: corev1.ConditionUnknown, Reason: "who knows"}),
		Entry("no status", deprecatedList(contract.DeprecatedCondition{Type: "Ready", Reason: "Odd"}), nil),
		Entry("a status that doesn't exist", deprecatedList(contract.DeprecatedCondition{Type: "Ready", Status: "Maybe"}), nil),
		Entry("another condition has no status, which doesn't matter", deprecatedList(
			contract.DeprecatedCondition{Type: "Happy"}, contract.DeprecatedCondition{Type: "Ready", Status: "True"}),
			&clusterv1.Condition{Status: corev1.ConditionTrue}),
	)

	It("only ever gives what the API server accepts", func() {
		rapid.Check(GinkgoT(), func(t *rapid.T) {
			if condition := MirrorDeprecated(anyDeprecatedReported.Draw(t, "reported"), target); condition != nil {
				machine := &clusterv1.Machine{}
				SetDeprecated(machine, *condition, now)
				SetDeprecatedReady(machine, now)
				NewWithT(t).Expect(machine).To(matcher.HaveValidStatus())
			}
		})
	})
})
