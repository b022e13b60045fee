// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"errors"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers/external"
	"github.com/machinist-dev/machinist/controllers/status"
	"github.com/machinist-dev/machinist/controllers/workload"
	"github.com/machinist-dev/machinist/test/matcher"
)

// ownedTypes are the conditions that this controller sets, in the order in which they are listed.
var ownedTypes = []string{
	"Available", "Ready", "BootstrapConfigReady", "InfrastructureReady", "NodeHealthy", "NodeReady", "Updating", "Paused", "Deleting",
}

// theReady is the condition Ready that computeStatus makes.
func theReady(s *scope) metav1.Condition {
	computeStatus(s, grace)
	return *status.Get(s.machine, "Ready")
}

var _ = Describe("computeStatus", func() {
	It("sets all conditions of a Machine that is Running", func() {
		s := having()
		computeStatus(s, grace)
		condition := func(conditionType, reason string, conditionStatus metav1.ConditionStatus, since time.Duration) metav1.Condition {
			return metav1.Condition{Type: conditionType, Status: conditionStatus, Reason: reason, LastTransitionTime: ago(since), ObservedGeneration: 4}
		}
		Expect(s.machine.Status.Conditions).To(HaveExactElements(
			condition("Available", "Available", yes, 0), condition("Ready", "Ready", yes, 0), condition("BootstrapConfigReady", "Running", yes, 0),
			condition("InfrastructureReady", "Running", yes, 0), condition("NodeHealthy", "NodeHealthy", yes, 0), condition("NodeReady", "NodeReady", yes, time.Minute),
			condition("Updating", "NotUpdating", no, 0), condition("Paused", "NotPaused", no, 0), condition("Deleting", "NotDeleting", no, 0),
		))
		Expect(s.machine.Status.Phase).To(Equal("Running"))
		Expect(s.machine).To(matcher.HaveValidStatus())
	})

	DescribeTable("says in Ready what is wrong", func(s *scope, conditionStatus metav1.ConditionStatus, message string) {
		ready := theReady(s)
		Expect(ready.Message).To(Equal(message))
		Expect(ready.Status).To(Equal(conditionStatus))
	},
		Entry("a new Machine", knowing(infraIs(missing), configIs(missing)), no,
			"* BootstrapConfigReady: SimConfig does not exist\n* InfrastructureReady: SimMachine does not exist\n* NodeHealthy: Waiting for SimMachine to report spec.providerID"),
		Entry("no Cluster", knowing(noCluster, infraIs(problem(clusterMissingError{})), configIs(problem(clusterMissingError{}))), unknown,
			"* BootstrapConfigReady: SimConfig: Cluster / does not exist: create it, or delete the Machine\n"+
				"* InfrastructureReady: SimMachine: Cluster / does not exist: create it, or delete the Machine\n* NodeHealthy: Cluster ns/c does not exist: create it, or delete the Machine"),
		Entry("the Node can't be looked up", having(nodeError(errors.New("two Nodes"))), unknown, "* NodeHealthy: two Nodes"),
		Entry("the Node is sick", having(nodeIs(nodeReadyIs(corev1.ConditionFalse, "no CNI"))), no, "* NodeHealthy:\n  * Node.Ready: no CNI"),
		Entry("updating", having(annotated(clusterv1.UpdateInProgressAnnotation, "")), no, "* Updating: In-place update in progress"),
		Entry("deleting, everything gone", knowing(flags(true, true), nodeRef("n"), deletingSince(20*time.Minute), infraIs(missing), configIs(missing),
			func(s *scope) { s.deleting = stage{"DeletingNode", "Waiting for Node n to be deleted"} }), no,
			"* Deleting: Machine deletion in progress since more than 15m, stage: DeletingNode"),
	)

	It("keeps the v1beta1 Ready True when only the Node can't be looked up", func() {
		s := having(dataSecret, nodeError(errors.New("two Nodes")))
		status.SetDeprecated(s.machine, clusterv1.Condition{Type: "InfrastructureReady", Status: corev1.ConditionTrue}, now)
		computeStatus(s, grace)
		expectDeprecated(s, "Ready", deprecatedTrue())
		expectDeprecated(s, "NodeHealthy", deprecatedCondition(corev1.ConditionUnknown, "", "NodeInspectionFailed", "Failed to get the Node for this Machine by ProviderID"))
	})

	DescribeTable("sends an event", func(s *scope, expected ...eventNote) {
		computeStatus(s, grace)
		Expect(s.events).To(Equal(expected))
	},
		Entry("when an object turns out to be unusable", having(infraIs(problem(errFields))),
			eventNote{warning: true, reason: "ContractViolated", action: "ReadInfraMachine", note: "SimMachine: " + fieldErrorText}),
		Entry("for each of the two objects", having(noCluster, infraIs(problem(clusterMissingError{})), configIs(problem(clusterMissingError{}))),
			eventNote{warning: true, reason: "ClusterDoesNotExist", action: "ReadBootstrapConfig", note: "SimConfig: Cluster / does not exist: create it, or delete the Machine"},
			eventNote{warning: true, reason: "ClusterDoesNotExist", action: "ReadInfraMachine", note: "SimMachine: Cluster / does not exist: create it, or delete the Machine"}),
		Entry("when the reason is another than before", having(stored(about("InfrastructureReady", unknown, "KindNotSynced", "")), infraIs(problem(errFields))),
			eventNote{warning: true, reason: "ContractViolated", action: "ReadInfraMachine", note: "SimMachine: " + fieldErrorText}),
	)
	DescribeTable("sends no event", func(s *scope) {
		computeStatus(s, grace)
		Expect(s.events).To(BeEmpty())
	},
		Entry("when all is well", having()),
		Entry("when the Machine says so already", having(stored(about("InfrastructureReady", unknown, "ContractViolated", "another text")), infraIs(problem(errFields)))),
		Entry("about what a provider doesn't know", having(infraIs(reported(unknown, "Unreachable", "no answer")))),
		Entry("about an object that is missing, as it usually appears soon", knowing(infraIs(missing), configIs(missing))),
		Entry("about a failure that is retried", having(infraIs(problem(errors.New("timeout"))))),
	)

	It("touches no condition of others, sets all of its own, and says nothing new the second time", func() {
		others := []metav1.Condition{
			about("UpToDate", no, "NotUpToDate", "* Version v1.36.0, v1.37.0 required"), about("OwnerRemediated", no, "WaitingForRemediation", ""),
			about("ExternallyRemediated", no, "WaitingForRemediation", ""), about("APIServerPodHealthy", yes, "Running", ""), about("plugin.example.com/Ready", unknown, "Odd", "?"),
		}
		rapid.Check(GinkgoT(), func(t *rapid.T) {
			g := NewWithT(t)
			s := anyScope(t)
			stored(others...)(s)
			computeStatus(s, grace)
			g.Expect(s.machine).To(matcher.HaveValidStatus())
			var owned []string
			for _, c := range s.machine.Status.Conditions {
				if c.Type != "HealthCheckSucceeded" && !containsType(others, c.Type) {
					owned = append(owned, c.Type)
				}
				g.Expect(c.LastTransitionTime.Nanosecond()).To(BeZero())
			}
			g.Expect(owned).To(HaveExactElements(ownedTypes))
			for _, c := range others {
				g.Expect(status.Get(s.machine, c.Type)).To(And(HaveField("Status", c.Status), HaveField("Message", c.Message), HaveField("LastTransitionTime", ago(time.Hour))))
			}

			before := s.machine.DeepCopy()
			computeStatus(s, grace)
			g.Expect(s.machine).To(Equal(before), "at the same time")
			s.now = s.now.Add(time.Second)
			computeStatus(s, grace)
			g.Expect(s.machine).To(Equal(before), "a second later")
		})
	})

	It("is never Ready while something is wrong", func() {
		rapid.Check(GinkgoT(), func(t *rapid.T) {
			g := NewWithT(t)
			s := anyScope(t)
			if theReady(s).Status != yes {
				g.Expect(status.IsTrue(s.machine.Status.Conditions, "Available")).To(BeFalse())
				return
			}
			g.Expect(s.isDeleting()).To(BeFalse())
			g.Expect(s.cluster).NotTo(BeNil())
			for _, p := range []observed{anyProvided(&s.infra), anyProvided(&s.bootstrap)} {
				g.Expect(p.problem).NotTo(HaveOccurred())
				g.Expect(p.readyErr).NotTo(HaveOccurred())
			}
			g.Expect(s.infra.missing).To(BeFalse())
			g.Expect(s.machine.Status.Phase).NotTo(Or(Equal("Deleting"), Equal("Updating")))
			if s.node.node == nil {
				g.Expect(s.node.err).To(MatchError(workload.ErrNotConnected), "only then the conditions of before are believed")
			}
		})
	})
})

func containsType(conditions []metav1.Condition, conditionType string) bool {
	for _, c := range conditions {
		if c.Type == conditionType {
			return true
		}
	}
	return false
}

func anyProvided[T any](p *provided[T]) observed {
	return observed{missing: p.missing, problem: p.problem, ready: p.ready, readyErr: p.readyErr, waiting: p.waiting, done: p.done}
}

// anyScope is a Machine in any situation that doesn't change within a second by itself. In about half of the cases it is
// Running, but for one or two facts.
func anyScope(t *rapid.T) *scope {
	facts := anyFacts(t)
	s := knowing(facts...)
	if rapid.Bool().Draw(t, "Running") {
		s = having(rapid.SliceOfN(rapid.SampledFrom(facts), 0, 2).Draw(t, "but")...)
	}
	if !s.machine.Spec.Bootstrap.ConfigRef.IsDefined() {
		configIs(func(*observed) {})(s) // there is nothing to know anything about
	}
	if s.node.health.LastSuccess.IsZero() {
		nodeError(errNotConnected)(s) // nobody could be asked
	}
	s.machine.Spec.MinReadySeconds = rapid.SampledFrom([]*int32{nil, new(int32(0)), new(int32(3600))}).Draw(t, "minReadySeconds")
	s.stored = s.machine.DeepCopy()
	return s
}

// anyFacts has one fact of each sort.
func anyFacts(t *rapid.T) []fact {
	anyOf := func(name string, facts ...fact) fact { return rapid.SampledFrom(facts).Draw(t, name) }
	provider := func(name string, is func(func(*observed)) fact) fact {
		return anyOf(name, is(missing), is(done), is(func(*observed) {}), is(problem(errors.New("forbidden"))), is(problem(errFields)),
			is(problem(&external.OwnedError{Kind: "Sim", Owner: "Machine other"})), is(func(p *observed) { p.readyErr = errors.New("status must be set") }),
			is(reported(yes, "Running", "")), is(reported(yes, "Running", "up")), is(reported(no, "Creating", "* booting\n* 3 of 5")), is(reported(unknown, "Lost", strings.Repeat("ü", 40000))),
			is(both(done, waiting("; no spec.providerID yet"))), is(both(reported(yes, "Running", ""), done, waiting(strings.Repeat("; ü", 20000)))))
	}
	nothing := func(*scope) {}
	deleting := func(s *scope) {
		deletingSince(rapid.SampledFrom([]time.Duration{0, time.Minute, time.Hour}).Draw(t, "for"))(s)
		s.deleting = stage{rapid.SampledFrom([]string{"Deleting", "InternalError", "DeletingNode", "DeletionCompleted"}).Draw(t, "stage"), rapid.String().Draw(t, "details")}
	}
	return []fact{
		provider("infrastructure", infraIs),
		provider("bootstrap", configIs),
		anyOf("cluster", nothing, nothing, nothing, noCluster, cluster(notProvisioned), notInitialized(no), initializedLately),
		anyOf("bootstrap reference", nothing, noConfigRef),
		anyOf("flags", flags(false, false), flags(true, false), flags(false, true), flags(true, true)),
		anyOf("data secret", nothing, dataSecret),
		anyOf("provider ID", providerID(""), providerID("sim:///1")),
		anyOf("nodeRef", nodeRef(""), nodeRef("n")),
		anyOf("Node", nodeIs(nil), nodeIs(healthyNode()), nodeIs(nodeReadyIs("Unknown", "silent \xff")), nodeIs(&corev1.Node{}), nodeError(errNotConnected), nodeError(errors.New("two Nodes"))),
		anyOf("probes", nothing, probed(time.Time{}, 0), probed(time.Time{}, 9), probed(now.Add(-time.Hour), 9), probed(now.Add(-time.Minute), 2)),
		anyOf("Node conditions", nothing, nodeStored(yes, "NodeHealthy", ""), nodeStored(no, "NodeNotHealthy", "sick"), nodeStored(unknown, "ConnectionDown", "Last successful probe at long ago")),
		anyOf("health check", nothing, nothing, stored(about("HealthCheckSucceeded", yes, "HealthCheckSucceeded", "")), stored(about("HealthCheckSucceeded", no, "UnhealthyNode", "sick"))),
		anyOf("annotations", nothing, nothing, annotated(clusterv1.UpdateInProgressAnnotation, ""), annotated(clusterv1.PendingHooksAnnotation, "UpdateMachine")),
		anyOf("deletion", nothing, nothing, deleting),
	}
}
