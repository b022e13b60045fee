// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/matcher"
)

func condition(conditionType corev1.NodeConditionType, status corev1.ConditionStatus, message string) corev1.NodeCondition {
	return corev1.NodeCondition{Type: conditionType, Status: status, Message: message, LastTransitionTime: ago(time.Hour)}
}

// node is a healthy Node with these conditions instead of its own.
func node(instead ...corev1.NodeCondition) *corev1.Node {
	return without("", instead...)
}

// without is a Node that has no condition of the type, and otherwise is as node makes it.
func without(missing corev1.NodeConditionType, instead ...corev1.NodeCondition) *corev1.Node {
	n := &corev1.Node{}
	for _, healthy := range []corev1.NodeCondition{
		// Not in the order in which they are reported on, and among others.
		condition("NetworkUnavailable", "True", "is nobody's business here"),
		condition("PIDPressure", "False", "enough PIDs"), condition("DiskPressure", "False", "enough disk"),
		condition("MemoryPressure", "False", "enough memory"), condition("Ready", "True", "kubelet is posting ready status"),
	} {
		for _, c := range instead {
			if c.Type == healthy.Type {
				healthy = c
			}
		}
		if healthy.Type != missing {
			n.Status.Conditions = append(n.Status.Conditions, healthy)
		}
	}
	return n
}

var _ = DescribeTable("NodeReady", func(node *corev1.Node, status metav1.ConditionStatus, reason, message string, since metav1.Time) {
	Expect(NodeReady(node)).To(Equal(metav1.Condition{Type: "NodeReady", Status: status, Reason: reason, Message: message, LastTransitionTime: since}))
},
	Entry("True: the Node's message isn't copied", node(), isTrue, "NodeReady", "", ago(time.Hour)),
	Entry("False", node(condition("Ready", "False", "PLEG is not healthy")), isFalse, "NodeNotReady", "* Node.Ready: PLEG is not healthy", ago(time.Hour)),
	Entry("Unknown", node(condition("Ready", "Unknown", "Kubelet stopped posting")), isUnknown, "NodeReadyUnknown", "* Node.Ready: Kubelet stopped posting", ago(time.Hour)),
	Entry("False without a message", node(condition("Ready", "False", "")), isFalse, "NodeNotReady", "", ago(time.Hour)),
	Entry("missing", without("Ready"), isUnknown, "NodeReadyUnknown", "* Node.Ready: Condition not yet reported", metav1.Time{}),
	Entry("no conditions at all", &corev1.Node{}, isUnknown, "NodeReadyUnknown", "* Node.Ready: Condition not yet reported", metav1.Time{}),
	Entry("a status that doesn't exist counts as Unknown", node(condition("Ready", "Perhaps", "who knows")), isUnknown, "NodeReadyUnknown", "* Node.Ready: who knows", ago(time.Hour)),
)

var _ = DescribeTable("NodeHealthy", func(node *corev1.Node, status metav1.ConditionStatus, reason, message string) {
	Expect(NodeHealthy(node)).To(Equal(metav1.Condition{Type: "NodeHealthy", Status: status, Reason: reason, Message: message}))
},
	Entry("healthy", node(), isTrue, "NodeHealthy", ""),
	Entry("one bad", node(condition("DiskPressure", "True", "95 % full")), isFalse, "NodeNotHealthy", "* Node.DiskPressure: 95 % full"),
	Entry("not ready", node(condition("Ready", "False", "no CNI")), isFalse, "NodeNotHealthy", "* Node.Ready: no CNI"),
	Entry("several bad, in the order Ready, memory, disk, PIDs",
		node(condition("PIDPressure", "True", "forks"), condition("MemoryPressure", "True", "leaks"), condition("Ready", "False", "down")),
		isFalse, "NodeNotHealthy", "* Node.Ready: down\n* Node.MemoryPressure: leaks\n* Node.PIDPressure: forks"),
	Entry("one unknown", node(condition("MemoryPressure", "Unknown", "silent")), isUnknown, "NodeHealthyUnknown", "* Node.MemoryPressure: silent"),
	Entry("bad outweighs unknown, both are listed", node(condition("Ready", "Unknown", "silent"), condition("DiskPressure", "True", "full")),
		isFalse, "NodeNotHealthy", "* Node.Ready: silent\n* Node.DiskPressure: full"),
	Entry("without messages", node(condition("Ready", "False", ""), condition("DiskPressure", "True", "")),
		isFalse, "NodeNotHealthy", "* Node.Ready: Condition is False\n* Node.DiskPressure: Condition is True"),
	Entry("one missing", without("PIDPressure"), isUnknown, "NodeHealthyUnknown", "* Node.PIDPressure: Condition not yet reported"),
	Entry("all missing: each on its line, although the texts are equal", &corev1.Node{}, isUnknown, "NodeHealthyUnknown",
		"* Node.Ready: Condition not yet reported\n* Node.MemoryPressure: Condition not yet reported\n"+
			"* Node.DiskPressure: Condition not yet reported\n* Node.PIDPressure: Condition not yet reported"),
	Entry("all unknown with the same text: one line",
		node(condition("Ready", "Unknown", "silent"), condition("MemoryPressure", "Unknown", "silent"), condition("DiskPressure", "Unknown", "silent"), condition("PIDPressure", "Unknown", "silent")),
		isUnknown, "NodeHealthyUnknown", "* Node.AllConditions: silent"),
	Entry("all unknown, one with another text",
		node(condition("Ready", "Unknown", "silent"), condition("MemoryPressure", "Unknown", "silent"), condition("DiskPressure", "Unknown", "silent"), condition("PIDPressure", "Unknown", "mute")),
		isUnknown, "NodeHealthyUnknown", "* Node.Ready: silent\n* Node.MemoryPressure: silent\n* Node.DiskPressure: silent\n* Node.PIDPressure: mute"),
	Entry("two with the same text are called all, as Cluster API does", node(condition("Ready", "Unknown", "silent"), condition("DiskPressure", "Unknown", "silent")),
		isUnknown, "NodeHealthyUnknown", "* Node.AllConditions: silent"),
	Entry("and the line of a missing one gets lost then", without("PIDPressure", condition("Ready", "Unknown", "silent"), condition("DiskPressure", "Unknown", "silent")),
		isUnknown, "NodeHealthyUnknown", "* Node.AllConditions: silent"),
	Entry("a status that doesn't exist counts as bad", node(condition("DiskPressure", "Perhaps", "")), isFalse, "NodeNotHealthy", "* Node.DiskPressure: Condition is Perhaps"),
)

var _ = DescribeTable("DeprecatedNodeHealthy",
	func(node *corev1.Node, status corev1.ConditionStatus, severity clusterv1.ConditionSeverity, reason, message string) {
		Expect(DeprecatedNodeHealthy(node)).To(Equal(clusterv1.Condition{Type: "NodeHealthy", Status: status, Severity: severity, Reason: reason, Message: message}))
	},
	Entry("healthy", node(), corev1.ConditionTrue, clusterv1.ConditionSeverityNone, "", ""),
	Entry("one bad", node(condition("DiskPressure", "True", "full")),
		corev1.ConditionFalse, clusterv1.ConditionSeverityWarning, "NodeConditionsFailed", "Node condition DiskPressure is True"),
	Entry("several bad and an unknown", node(condition("Ready", "False", ""), condition("MemoryPressure", "Unknown", ""), condition("PIDPressure", "True", "")),
		corev1.ConditionFalse, clusterv1.ConditionSeverityWarning, "NodeConditionsFailed",
		"Node condition Ready is False. Node condition MemoryPressure is Unknown. Node condition PIDPressure is True"),
	Entry("three unknown are still True", node(condition("Ready", "Unknown", ""), condition("MemoryPressure", "Unknown", ""), condition("PIDPressure", "Unknown", "")),
		corev1.ConditionTrue, clusterv1.ConditionSeverityNone, "", ""),
	Entry("four unknown", node(condition("Ready", "Unknown", ""), condition("MemoryPressure", "Unknown", ""), condition("DiskPressure", "Unknown", ""), condition("PIDPressure", "Unknown", "")),
		corev1.ConditionUnknown, clusterv1.ConditionSeverityNone, "NodeConditionsFailed",
		"Node condition Ready is Unknown. Node condition MemoryPressure is Unknown. Node condition DiskPressure is Unknown. Node condition PIDPressure is Unknown"),
	Entry("missing ones are not counted", &corev1.Node{}, corev1.ConditionTrue, clusterv1.ConditionSeverityNone, "", ""),
)

var _ = Describe("conditions from any Node", func() {
	It("are what the API server accepts, and agree with each other", func() {
		rapid.Check(GinkgoT(), func(t *rapid.T) {
			g := NewWithT(t)
			machine, n := &clusterv1.Machine{}, anyNode.Draw(t, "node")
			Set(machine, NodeReady(n), now)
			Set(machine, NodeHealthy(n), now)
			SetDeprecated(machine, DeprecatedNodeHealthy(n), now)
			g.Expect(machine).To(matcher.HaveValidStatus())

			ready, healthy := Get(machine, "NodeReady"), Get(machine, "NodeHealthy")
			if healthy.Status == isTrue {
				g.Expect(ready.Status).To(Equal(isTrue))
				g.Expect(healthy.Message).To(BeEmpty())
				g.Expect(GetDeprecated(machine, "NodeHealthy").Status).To(Equal(corev1.ConditionTrue))
			} else {
				g.Expect(healthy.Message).NotTo(BeEmpty())
			}
			before := machine.DeepCopy()
			Set(machine, NodeReady(n), now.Add(time.Hour))
			Set(machine, NodeHealthy(n), now.Add(time.Hour))
			SetDeprecated(machine, DeprecatedNodeHealthy(n), now.Add(time.Hour))
			g.Expect(machine).To(Equal(before), "the same Node says nothing new")
		})
	})
})

var anyNode = rapid.Custom(func(t *rapid.T) *corev1.Node {
	n := &corev1.Node{}
	for _, conditionType := range rapid.SliceOfDistinct(
		rapid.SampledFrom([]corev1.NodeConditionType{"Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"}), rapid.ID).Draw(t, "types") {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
			Type:               conditionType,
			Status:             rapid.SampledFrom([]corev1.ConditionStatus{"True", "False", "False", "Unknown", ""}).Draw(t, "status"),
			Message:            anyForeign.Draw(t, "message"),
			LastTransitionTime: ago(time.Duration(rapid.IntRange(0, 1000).Draw(t, "age")) * time.Minute),
		})
	}
	return n
})
