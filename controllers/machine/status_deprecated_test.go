// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/apis/contract"
	"github.com/machinist-dev/machinist/controllers/status"
)

// deprecatedCondition writes a v1beta1 condition as status, severity, reason and message.
func deprecatedCondition(conditionStatus corev1.ConditionStatus, severity clusterv1.ConditionSeverity, reason, message string) *clusterv1.Condition {
	return &clusterv1.Condition{Status: conditionStatus, Severity: severity, Reason: reason, Message: message, LastTransitionTime: ago(0)}
}

func deprecatedTrue() *clusterv1.Condition {
	return deprecatedCondition(corev1.ConditionTrue, "", "", "")
}

// expectDeprecated compares the condition of the Machine, which may be missing.
func expectDeprecated(s *scope, conditionType clusterv1.ConditionType, expected *clusterv1.Condition) {
	GinkgoHelper()
	if expected != nil {
		expected.Type = conditionType
	}
	Expect(status.GetDeprecated(s.machine, conditionType)).To(Equal(expected))
}

var _ = Describe("the v1beta1 conditions about provider objects", func() {
	says := func(conditions ...contract.DeprecatedCondition) []contract.DeprecatedCondition { return conditions }

	DescribeTable("an object that was found", func(s *scope, isDone bool, conditions []contract.DeprecatedCondition, expected *clusterv1.Condition) {
		setDeprecatedProvided(s, clusterv1.InfrastructureReadyV1Beta1Condition, "WaitingForInfrastructure", true, false, isDone,
			func() ([]contract.DeprecatedCondition, bool) { return conditions, conditions != nil })
		expectDeprecated(s, "InfrastructureReady", expected)
	},
		Entry("mirrored", knowing(), false, says(contract.DeprecatedCondition{Type: "Ready", Status: "False", Severity: "Warning", Reason: "Quota", Message: "no more", LastTransitionTime: ago(time.Hour)}),
			&clusterv1.Condition{Status: corev1.ConditionFalse, Severity: "Warning", Reason: "Quota", Message: "no more", LastTransitionTime: ago(time.Hour)}),
		Entry("mirrored True, although not done", knowing(), false, says(contract.DeprecatedCondition{Type: "Ready", Status: "True"}), deprecatedTrue()),
		Entry("mirrored False, although done", knowing(), true, says(contract.DeprecatedCondition{Type: "Ready", Status: "False", Severity: "Error", Reason: "Stopped"}),
			deprecatedCondition(corev1.ConditionFalse, "Error", "Stopped", "")),
		Entry("mirrored while deleting", knowing(deletingSince(0)), true, says(contract.DeprecatedCondition{Type: "Ready", Status: "False", Severity: "Info", Reason: "Terminating"}),
			deprecatedCondition(corev1.ConditionFalse, "Info", "Terminating", "")),
		Entry("no Ready, done", knowing(), true, nil, deprecatedTrue()),
		Entry("no Ready, not done", knowing(), false, says(contract.DeprecatedCondition{Type: "Happy", Status: "True"}), deprecatedCondition(corev1.ConditionFalse, "Info", "WaitingForInfrastructure", "")),
		Entry("no Ready, not done, flag set: what the object says counts, not the flag", knowing(flags(true, true)), false, nil,
			deprecatedCondition(corev1.ConditionFalse, "Info", "WaitingForInfrastructure", "")),
		Entry("no Ready, not done, deleting", knowing(deletingSince(0)), false, nil, deprecatedCondition(corev1.ConditionFalse, "Info", "Deleting", "")),
		Entry("no Ready, done, deleting", knowing(deletingSince(0)), true, nil, deprecatedTrue()),
		Entry("a Ready that can't be used", knowing(), false, says(contract.DeprecatedCondition{Type: "Ready"}), deprecatedCondition(corev1.ConditionFalse, "Info", "WaitingForInfrastructure", "")),
	)

	gone := func() *clusterv1.Condition { return deprecatedCondition(corev1.ConditionFalse, "Info", "Deleted", "") }
	before := func(s *scope) {
		for _, conditionType := range []clusterv1.ConditionType{"InfrastructureReady", "BootstrapReady"} {
			status.SetDeprecated(s.machine, clusterv1.Condition{Type: conditionType, Status: corev1.ConditionFalse, Reason: "Before", LastTransitionTime: ago(0)}, now)
		}
	}
	as := func() *clusterv1.Condition { return deprecatedCondition(corev1.ConditionFalse, "", "Before", "") }
	DescribeTable("objects that were not found", func(s *scope, infrastructure, bootstrap *clusterv1.Condition) {
		setDeprecated(s)
		expectDeprecated(s, "InfrastructureReady", infrastructure)
		expectDeprecated(s, "BootstrapReady", bootstrap)
	},
		Entry("not yet there: nothing is said", knowing(infraIs(missing), configIs(missing)), nil, nil),
		Entry("can't be read: what was said stays", knowing(before, infraIs(problem(errors.New("x"))), configIs(problem(errors.New("x")))), as(), as()),
		Entry("gone: what was said stays", knowing(before, infraIs(missing), configIs(missing)), as(), as()),
		Entry("gone while deleting", knowing(before, deletingSince(0), infraIs(missing), configIs(missing)), gone(), gone()),
		Entry("a data secret is there: True, although the object is gone", knowing(dataSecret, configIs(missing)), nil, deprecatedTrue()),
		Entry("a data secret is there, gone while deleting", knowing(dataSecret, deletingSince(0), configIs(missing)), nil, gone()),
		Entry("a data secret was given, there is no BootstrapConfig", knowing(noConfigRef, dataSecret, flags(true, false)), nil, deprecatedTrue()),
		Entry("neither", knowing(noConfigRef), nil, nil),
	)
})

var _ = Describe("the v1beta1 condition NodeHealthy", func() {
	kept := func(s *scope) {
		status.SetDeprecated(s.machine, clusterv1.Condition{Type: "NodeHealthy", Status: corev1.ConditionTrue, LastTransitionTime: ago(time.Hour)}, now)
	}
	DescribeTable("while the InfraMachine is there", func(s *scope, expected *clusterv1.Condition) {
		setDeprecatedNodeHealthy(s, false)
		expectDeprecated(s, "NodeHealthy", expected)
	},
		Entry("workload cluster not ready: nothing is said", knowing(notInitialized(no), providerID("sim:///1")), nil),
		Entry("workload cluster not ready, no provider ID", knowing(notInitialized(no)), deprecatedCondition(corev1.ConditionFalse, "Info", "WaitingForNodeRef", "")),
		Entry("no Cluster: nothing is said", knowing(noCluster), nil),
		Entry("not connected: what was said stays", having(kept, nodeError(errNotConnected)), &clusterv1.Condition{Status: corev1.ConditionTrue, LastTransitionTime: ago(time.Hour)}),
		Entry("another error", having(kept, nodeError(errors.New("two Nodes"))),
			deprecatedCondition(corev1.ConditionUnknown, "", "NodeInspectionFailed", "Failed to get the Node for this Machine by ProviderID")),
		Entry("no provider ID", knowing(), deprecatedCondition(corev1.ConditionFalse, "Info", "WaitingForNodeRef", "")),
		Entry("no Node yet", knowing(providerID("sim:///1")), deprecatedCondition(corev1.ConditionFalse, "Warning", "NodeProvisioning", "Waiting for a node with matching ProviderID to exist")),
		Entry("Node gone", knowing(providerID("sim:///1"), nodeRef("n")), deprecatedCondition(corev1.ConditionFalse, "Error", "NodeNotFound", "")),
		Entry("Node gone while deleting: what was said stays", knowing(kept, providerID("sim:///1"), nodeRef("n"), deletingSince(0)), &clusterv1.Condition{Status: corev1.ConditionTrue, LastTransitionTime: ago(time.Hour)}),
		Entry("Node never there while deleting: nothing is said", knowing(providerID("sim:///1"), deletingSince(0)), nil),
		Entry("healthy", having(), deprecatedTrue()),
		Entry("sick", having(nodeIs(nodeReadyIs(corev1.ConditionFalse, "no CNI"))), deprecatedCondition(corev1.ConditionFalse, "Warning", "NodeConditionsFailed", "Node condition Ready is False")),
	)
	DescribeTable("while the InfraMachine is going or gone", func(s *scope, expected *clusterv1.Condition) {
		setDeprecatedNodeHealthy(s, true)
		expectDeprecated(s, "NodeHealthy", expected)
	},
		Entry("Node there", having(), deprecatedCondition(corev1.ConditionFalse, "Info", "Deleting", "")),
		Entry("no Node yet", knowing(providerID("sim:///1")), deprecatedCondition(corev1.ConditionFalse, "Warning", "NodeProvisioning", "Waiting for a node with matching ProviderID to exist")),
	)
})
