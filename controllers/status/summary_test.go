// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/matcher"
)

// about writes a condition as type, status, reason and message.
func about(conditionType string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: conditionType, Status: status, Reason: reason, Message: message}
}

// good is a Machine that is Ready, with these conditions instead of its own or in addition.
func good(instead ...metav1.Condition) *clusterv1.Machine {
	machine := &clusterv1.Machine{}
	for _, c := range append([]metav1.Condition{
		about("Deleting", isFalse, "NotDeleting", ""), about("Updating", isFalse, "NotUpdating", ""),
		about("BootstrapConfigReady", isTrue, "Ready", ""), about("InfrastructureReady", isTrue, "Ready", ""),
		about("NodeHealthy", isTrue, "NodeHealthy", ""),
	}, instead...) {
		Set(machine, c, now)
	}
	return machine
}

func lacking(conditionType string, machine *clusterv1.Machine) *clusterv1.Machine {
	machine.Status.Conditions = slices.DeleteFunc(machine.Status.Conditions, func(c metav1.Condition) bool { return c.Type == conditionType })
	return machine
}

// gated is the Machine with readiness gates; a minus in front of a type means negative polarity.
func gated(machine *clusterv1.Machine, gates ...string) *clusterv1.Machine {
	for _, gate := range gates {
		g := clusterv1.MachineReadinessGate{ConditionType: gate}
		if gate[0] == '-' {
			g = clusterv1.MachineReadinessGate{ConditionType: gate[1:], Polarity: clusterv1.NegativePolarityCondition}
		}
		machine.Spec.ReadinessGates = append(machine.Spec.ReadinessGates, g)
	}
	return machine
}

func expectReady(machine *clusterv1.Machine, status metav1.ConditionStatus, reason, message string) {
	GinkgoHelper()
	Expect(Ready(machine, now)).To(Equal(about("Ready", status, reason, message)))
}

var _ = DescribeTable("Ready sums up", expectReady,
	Entry("nothing but good: no message", good(), isTrue, "Ready", ""),
	Entry("an issue", good(about("InfrastructureReady", isFalse, "Creating", "booting")), isFalse, "NotReady", "* InfrastructureReady: booting"),
	Entry("an issue without a message: its reason", good(about("NodeHealthy", isFalse, "NodeNotHealthy", "")), isFalse, "NotReady", "* NodeHealthy: NodeNotHealthy"),
	Entry("a negative issue", good(about("Updating", isTrue, "InPlaceUpdating", "In-place update in progress")), isFalse, "NotReady", "* Updating: In-place update in progress"),
	Entry("an unknown", good(about("NodeHealthy", isUnknown, "ConnectionDown", "no answer")), isUnknown, "ReadyUnknown", "* NodeHealthy: no answer"),
	Entry("a negative unknown", good(about("Deleting", isUnknown, "Odd", "")), isUnknown, "ReadyUnknown", "* Deleting: Odd"),
	Entry("several unknowns", good(about("BootstrapConfigReady", isUnknown, "A", "a"), about("NodeHealthy", isUnknown, "B", "b")),
		isUnknown, "ReadyUnknown", "* BootstrapConfigReady: a\n* NodeHealthy: b"),
	Entry("issues and unknowns in the order of the inputs: an issue decides",
		good(about("NodeHealthy", isFalse, "A", "sick"), about("InfrastructureReady", isUnknown, "B", "dark"), about("BootstrapConfigReady", isFalse, "C", ""), about("Updating", isTrue, "D", "busy")),
		isFalse, "NotReady", "* Updating: busy\n* BootstrapConfigReady: C\n* InfrastructureReady: dark\n* NodeHealthy: sick"),
	Entry("the message of something good, if all is good", good(about("InfrastructureReady", isTrue, "Ready", "spot price 3 ct")),
		isTrue, "Ready", "* InfrastructureReady: spot price 3 ct"),
	Entry("the message of something negative that is good, if all is good", gated(good(about("Leaking", isFalse, "Dry", "not a drop")), "-Leaking"), isTrue, "Ready", "* Leaking: not a drop"),
	Entry("but not if something isn't", good(about("InfrastructureReady", isTrue, "Ready", "spot price 3 ct"), about("NodeHealthy", isUnknown, "A", "dark")),
		isUnknown, "ReadyUnknown", "* NodeHealthy: dark"),
	Entry("a missing input", lacking("InfrastructureReady", good()), isUnknown, "ReadyUnknown", "* InfrastructureReady: Condition not yet reported"),
	Entry("all inputs missing, but the one that may be", &clusterv1.Machine{}, isUnknown, "ReadyUnknown",
		"* Deleting: Condition not yet reported\n* Updating: Condition not yet reported\n* BootstrapConfigReady: Condition not yet reported\n"+
			"* InfrastructureReady: Condition not yet reported\n* NodeHealthy: Condition not yet reported"),
	Entry("a status that doesn't exist counts as unknown", good(about("NodeHealthy", "Perhaps", "A", "?")), isUnknown, "ReadyUnknown", "* NodeHealthy: ?"),
	Entry("an empty status counts as unknown, for the negative ones as well", good(about("Updating", "", "A", "?")), isUnknown, "ReadyUnknown", "* Updating: ?"),
	Entry("conditions that are no inputs", good(about("NodeReady", isFalse, "A", "a"), about("UpToDate", isFalse, "B", "b"), about("Paused", isTrue, "C", "c"),
		about("OwnerRemediated", isFalse, "D", "d"), about("Available", isFalse, "E", "e"), about("Ready", isFalse, "F", "f")), isTrue, "Ready", ""),
	Entry("a health check that succeeded", good(about("HealthCheckSucceeded", isTrue, "HealthCheckSucceeded", "")), isTrue, "Ready", ""),
	Entry("a health check that failed", good(about("HealthCheckSucceeded", isFalse, "NodeStartupTimeout", "no Node after 10m")),
		isFalse, "NotReady", "* HealthCheckSucceeded: no Node after 10m"),
	Entry("readiness gates, in their order, with their polarity", gated(good(
		about("b.example.com/Broken", isTrue, "A", "smokes"), about("Cold", isFalse, "B", "warm"), about("Alive", isFalse, "C", "dead"), about("Hot", isTrue, "D", "too hot")),
		"-b.example.com/Broken", "-Hot", "Alive", "-Cold"), isFalse, "NotReady", "* b.example.com/Broken: smokes\n* Hot: too hot\n* Alive: dead"),
	Entry("a readiness gate that nobody has reported on", gated(good(), "-Broken"), isUnknown, "ReadyUnknown", "* Broken: Condition not yet reported"),
	Entry("a readiness gate for what counts anyway is no second input", gated(good(about("NodeHealthy", isFalse, "A", "sick")), "NodeHealthy", "-NodeHealthy"),
		isFalse, "NotReady", "* NodeHealthy: sick"),
	Entry("a readiness gate for the health check doesn't make it obligatory", gated(good(), "HealthCheckSucceeded"), isTrue, "Ready", ""),
	// Cluster API says "Please check controller logs for errors".
	Entry("on purpose unlike Cluster API: a readiness gate that is Ready itself is named", gated(good(), "Ready"), isUnknown, "InternalError",
		"spec.readinessGates names the condition Ready, which can't depend on itself: remove that gate"),
)

var _ = DescribeTable("Ready shows a message", func(message, expected string) {
	expectReady(good(about("NodeHealthy", isFalse, "Reason", message)), isFalse, "NotReady", "* NodeHealthy:"+expected)
},
	Entry("of one line", "all of it", " all of it"),
	Entry("none: the reason", "", " Reason"),
	Entry("of bullets, indented", "* Node.Ready: a\n* Node.DiskPressure: b", "\n  * Node.Ready: a\n  * Node.DiskPressure: b"),
	Entry("of one bullet", "* Node.AllConditions: silent", "\n  * Node.AllConditions: silent"),
	Entry("of lines, as bullets", "one\ntwo", "\n  * one\n  * two"),
	Entry("of a line and bullets below it", "Drain:\n* Pod a\n  * why\nend", "\n  * Drain:\n    * Pod a\n      * why\n  * end"),
	Entry("with a bullet in the middle of the line, which counts as one", "2 * 3", "\n  2 * 3"),
	Entry("with a star that is no bullet", "2*3", " 2*3"),
	Entry("with a star at the end, which is no bullet", "2 *", " 2 *"),
	Entry("that ends with a line feed", "one\n", "\n  * one\n  * "),
	Entry("of bullets at any depth, all kept", "  * a\n    * b", "\n    * a\n      * b"),
)

var components = []string{"APIServerPodHealthy", "ControllerManagerPodHealthy", "SchedulerPodHealthy", "EtcdPodHealthy"}

var _ = Describe("Ready groups the components of a control plane", func() {
	all := func(message string, others ...metav1.Condition) *clusterv1.Machine {
		var conditions []metav1.Condition
		for _, c := range components {
			conditions = append(conditions, about(c, isUnknown, "InspectionFailed", message))
		}
		return good(append(conditions, others...)...)
	}
	DescribeTable("if they say the same", expectReady,
		Entry("all of them", gated(all("unreachable"), components...), isUnknown, "ReadyUnknown", "* Control plane components: unreachable"),
		Entry("in the place of the first, with others around them",
			gated(all("unreachable", about("NodeHealthy", isUnknown, "A", "dark"), about("Before", isFalse, "B", "b"), about("Between", isFalse, "C", "c")),
				"Before", "EtcdPodHealthy", "Between", "SchedulerPodHealthy"),
			isFalse, "NotReady", "* NodeHealthy: dark\n* Before: b\n* Control plane components: unreachable\n* Between: c"),
		Entry("the member of etcd never joins them", gated(all("unreachable", about("EtcdMemberHealthy", isUnknown, "A", "unreachable")), "EtcdMemberHealthy", "EtcdPodHealthy", "SchedulerPodHealthy"),
			isUnknown, "ReadyUnknown", "* EtcdMemberHealthy: unreachable\n* Control plane components: unreachable"),
		Entry("one alone keeps its name", gated(all("unreachable"), "SchedulerPodHealthy"), isUnknown, "ReadyUnknown", "* SchedulerPodHealthy: unreachable"),
		Entry("one that says something else keeps all names",
			gated(all("unreachable", about("SchedulerPodHealthy", isFalse, "A", "crash loop")), components...), isFalse, "NotReady",
			"* APIServerPodHealthy: unreachable\n* ControllerManagerPodHealthy: unreachable\n* SchedulerPodHealthy: crash loop\n* EtcdPodHealthy: unreachable"),
		Entry("those that are good don't matter", gated(all("unreachable", about("SchedulerPodHealthy", isTrue, "A", "")), components...), isUnknown, "ReadyUnknown",
			"* Control plane components: unreachable"),
		Entry("without messages: their common reason", gated(all(""), components...), isUnknown, "ReadyUnknown", "* Control plane components: InspectionFailed"),
		Entry("with a list in the message", gated(all("* a\n* b"), components...), isUnknown, "ReadyUnknown", "* Control plane components:\n  * a\n  * b"),
		Entry("components of other control planes, by the beginning of their names",
			gated(good(about("APIServerReachable", isFalse, "A", "no"), about("Scheduler2Alive", isFalse, "B", "no"), about("EtcdPodHealthyToo", isFalse, "C", "no")),
				"APIServerReachable", "Scheduler2Alive", "EtcdPodHealthyToo"),
			isFalse, "NotReady", "* Control plane components: no\n* EtcdPodHealthyToo: no"),
		Entry("also when all is well and each has something to say",
			gated(good(about("APIServerPodHealthy", isTrue, "A", "v1.37"), about("SchedulerPodHealthy", isTrue, "B", "v1.37")), "APIServerPodHealthy", "SchedulerPodHealthy"),
			isTrue, "Ready", "* Control plane components: v1.37"),
	)
})

var _ = Describe("Ready while the Machine is being deleted", func() {
	const (
		pdb         = "* Pod default/web: cannot evict pod as it would violate the pod's disruption budget. The disruption budget web needs 3 healthy pods"
		terminating = "* Pod default/slow: deletionTimestamp set, but still not removed from the Node"
		failed      = "* Pod default/odd: failed to evict Pod, internal error"
		completion  = "* Pod default/job: waiting for completion"
	)
	deleting := func(reason, message string, since time.Duration, others ...metav1.Condition) *clusterv1.Machine {
		return deletingSince(good(append(others, about("Deleting", isTrue, reason, message))...), since)
	}
	draining := func(message string, since, drain time.Duration) *clusterv1.Machine {
		machine := deleting("DrainingNode", message, since)
		machine.Status.Deletion = &clusterv1.MachineDeletionStatus{NodeDrainStartTime: ago(drain)}
		return machine
	}

	DescribeTable("says how far it is", func(machine *clusterv1.Machine, deletingText string) {
		expectReady(machine, isFalse, "NotReady", "* Deleting: "+deletingText)
	},
		Entry("stage only, not the details", deleting("WaitingForPreDrainHook", "* hook a\n* hook b", time.Minute), "Machine deletion in progress, stage: WaitingForPreDrainHook"),
		Entry("for 15 minutes sharp", deletingSince(good(about("Deleting", isTrue, "DeletingNode", "")), 15*time.Minute-time.Second), "Machine deletion in progress, stage: DeletingNode"),
		Entry("for a second more than 15 minutes", deleting("DeletingNode", "", 15*time.Minute+time.Second), "Machine deletion in progress since more than 15m, stage: DeletingNode"),
		Entry("condition missing: only that it is", deletingSince(lacking("Deleting", good()), time.Hour), "Machine deletion in progress"),
		Entry("condition not yet True", deletingSince(good(), time.Second), "Machine deletion in progress, stage: NotDeleting"),
		Entry("a drain that is blocked, but not for 15 minutes", draining(pdb, 14*time.Minute, 14*time.Minute), "Machine deletion in progress, stage: DrainingNode"),
		Entry("a drain that began 5 minutes ago", draining(pdb, time.Hour, 5*time.Minute-time.Second), "Machine deletion in progress since more than 15m, stage: DrainingNode"),
		Entry("a drain that is blocked by a budget", draining(pdb, time.Hour, 6*time.Minute),
			"Machine deletion in progress since more than 15m, stage: DrainingNode, delay likely due to PodDisruptionBudgets"),
		Entry("by everything at once", draining(completion+"\n"+failed+"\n"+terminating+"\n"+pdb, time.Hour, time.Hour),
			"Machine deletion in progress since more than 15m, stage: DrainingNode, delay likely due to PodDisruptionBudgets, Pods not terminating, Pod eviction errors, Pods not completed yet"),
		Entry("by nothing that is known", draining("* Pod default/x: deletionTimestamp not set", time.Hour, time.Hour), "Machine deletion in progress since more than 15m, stage: DrainingNode"),
		Entry("the same texts in another stage are no cause", deleting("WaitingForVolumeDetach", pdb, time.Hour), "Machine deletion in progress since more than 15m, stage: WaitingForVolumeDetach"),
		Entry("a drain whose beginning is not recorded", func() *clusterv1.Machine {
			machine := draining(pdb, time.Hour, time.Hour)
			machine.Status.Deletion.NodeDrainStartTime = metav1.Time{}
			return machine
		}(), "Machine deletion in progress since more than 15m, stage: DrainingNode"),
		Entry("a drain without any times", deleting("DrainingNode", pdb, time.Hour), "Machine deletion in progress since more than 15m, stage: DrainingNode"),
	)

	const stage = "* Deleting: Machine deletion in progress, stage: DeletingNode"
	DescribeTable("does not count as an issue that its objects are gone", func(other metav1.Condition, expected string) {
		expectReady(deleting("DeletingNode", "", time.Minute, other), isFalse, "NotReady", expected)
	},
		Entry("infrastructure deleted", about("InfrastructureReady", isFalse, "ObjectDeleted", "SimMachine has been deleted"), stage),
		Entry("infrastructure never there", about("InfrastructureReady", isFalse, "ObjectDoesNotExist", "SimMachine does not exist"), stage),
		Entry("bootstrap config deleted", about("BootstrapConfigReady", isFalse, "ObjectDeleted", "SimConfig has been deleted"), stage),
		Entry("bootstrap config never there", about("BootstrapConfigReady", isFalse, "ObjectDoesNotExist", "SimConfig does not exist"), stage),
		Entry("Node deleted", about("NodeHealthy", isFalse, "NodeDeleted", "Node n has been deleted"), stage),
		Entry("Node never there", about("NodeHealthy", isUnknown, "NodeDoesNotExist", "Node does not exist"), stage),
		Entry("but it counts that they are sick", about("NodeHealthy", isFalse, "NodeNotHealthy", "sick"), stage+"\n* NodeHealthy: sick"),
		Entry("and that they can't be read", about("InfrastructureReady", isUnknown, "InternalError", "forbidden"), stage+"\n* InfrastructureReady: forbidden"),
		Entry("the same reason in another condition counts", about("HealthCheckSucceeded", isFalse, "NodeDeleted", "gone"), stage+"\n* HealthCheckSucceeded: gone"),
	)

	DescribeTable("counts it while the Machine is not being deleted", func(other metav1.Condition) {
		expectReady(good(other), isFalse, "NotReady", fmt.Sprintf("* %s: %s", other.Type, other.Message))
	},
		Entry("infrastructure", about("InfrastructureReady", isFalse, "ObjectDeleted", "SimMachine has been deleted while the Machine still exists")),
		Entry("bootstrap config", about("BootstrapConfigReady", isFalse, "ObjectDoesNotExist", "SimConfig does not exist")),
		Entry("Node", about("NodeHealthy", isFalse, "NodeDeleted", "Node n has been deleted while the Machine still exists")),
	)
})

// The inputs that Ready may have, and gates for some of them.
var (
	anyGates   = []string{"APIServerPodHealthy", "SchedulerPodHealthy", "Plugin", "-Broken", "NodeHealthy", "-Updating"}
	anyInputs  = []string{"Deleting", "Updating", "BootstrapConfigReady", "InfrastructureReady", "NodeHealthy", "HealthCheckSucceeded", "APIServerPodHealthy", "SchedulerPodHealthy", "Plugin", "Broken"}
	anyMachine = rapid.Custom(func(t *rapid.T) *clusterv1.Machine {
		machine := &clusterv1.Machine{}
		for _, c := range rapid.SliceOfDistinct(anyCondition(anyInputs), func(c metav1.Condition) string { return c.Type }).Draw(t, "conditions") {
			Set(machine, c, now)
		}
		if rapid.Bool().Draw(t, "good otherwise") {
			machine = good(machine.Status.Conditions...)
		}
		if rapid.Bool().Draw(t, "deleting") {
			deletingSince(machine, time.Duration(rapid.IntRange(0, 60).Draw(t, "minutes"))*time.Minute)
		}
		return gated(machine, rapid.SliceOfDistinct(rapid.SampledFrom(anyGates), rapid.ID).Draw(t, "gates")...)
	})
)

// badInputs repeats the rule in other words: what must be there and good, and what must be there and False.
func badInputs(machine *clusterv1.Machine) []string {
	wanted := map[string]metav1.ConditionStatus{"Deleting": isFalse, "Updating": isFalse, "BootstrapConfigReady": isTrue, "InfrastructureReady": isTrue, "NodeHealthy": isTrue}
	for _, gate := range machine.Spec.ReadinessGates {
		if _, ok := wanted[gate.ConditionType]; !ok {
			wanted[gate.ConditionType] = map[bool]metav1.ConditionStatus{true: isFalse, false: isTrue}[gate.Polarity == clusterv1.NegativePolarityCondition]
		}
	}
	if Get(machine, "HealthCheckSucceeded") != nil {
		wanted["HealthCheckSucceeded"] = isTrue
	}
	var bad []string
	for conditionType, status := range wanted {
		if c := Get(machine, conditionType); c == nil || c.Status != status {
			bad = append(bad, conditionType)
		}
	}
	return bad
}

var _ = Describe("Ready of any Machine", func() {
	It("is True exactly if nothing is bad, is what the API server accepts, and says nothing new the second time", func() {
		rapid.Check(GinkgoT(), func(t *rapid.T) {
			g := NewWithT(t)
			machine := anyMachine.Draw(t, "machine")
			ready := Ready(machine, now)
			switch {
			case !machine.DeletionTimestamp.IsZero():
				g.Expect(ready.Status).To(Equal(isFalse))
			case len(badInputs(machine)) > 0:
				g.Expect(ready.Status).NotTo(Equal(isTrue), "bad: %v", badInputs(machine))
				g.Expect(ready.Message).NotTo(BeEmpty())
			default:
				g.Expect(ready.Status).To(Equal(isTrue))
			}
			Set(machine, ready, now)
			g.Expect(machine).To(matcher.HaveValidStatus())
			before := machine.DeepCopy()
			Set(machine, Ready(machine, now), now)
			g.Expect(machine).To(Equal(before))
		})
	})
})
