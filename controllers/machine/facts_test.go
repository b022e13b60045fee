// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers/status"
	"github.com/machinist-dev/machinist/controllers/workload"
)

// now is not a whole second, unlike all times that the API server stores.
var now = time.Date(2026, time.August, 1, 12, 0, 0, 987654321, time.UTC)

// ago is a time that the API server has stored.
func ago(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d).Truncate(time.Second)) }

// grace is for how long the conditions of a Node are believed.
const grace = 5 * time.Minute

// fact is something that the phases have found out.
type fact func(s *scope)

// knowing is the scope of a Machine that was created a moment ago, in a Cluster that is up and connected, of which
// nothing is known but these facts.
func knowing(facts ...fact) *scope {
	s := &scope{
		now: now,
		machine: &clusterv1.Machine{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m", Generation: 4},
			Spec: clusterv1.MachineSpec{
				ClusterName:       "c",
				Bootstrap:         clusterv1.Bootstrap{ConfigRef: clusterv1.ContractVersionedObjectReference{APIGroup: "bootstrap.cluster.x-k8s.io", Kind: "SimConfig", Name: "m"}},
				InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "SimMachine", Name: "m"},
			},
		},
		cluster: &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}},
	}
	s.cluster.Status.Initialization.InfrastructureProvisioned = new(true)
	s.cluster.Status.Conditions = []metav1.Condition{{
		Type: clusterv1.ClusterControlPlaneInitializedCondition, Status: metav1.ConditionTrue, Reason: "Initialized", LastTransitionTime: ago(time.Hour),
	}}
	s.node.health = workload.Health{LastSuccess: now.Add(-time.Second)}
	for _, f := range facts {
		f(s)
	}
	s.stored = s.machine.DeepCopy()
	return s
}

// having is knowing of a Machine that these facts have made Running before.
func having(facts ...fact) *scope {
	return knowing(append([]fact{flags(true, true), providerID("sim:///1"), nodeRef("n"), infraReady, configReady, nodeIs(healthyNode())}, facts...)...)
}

func deletingSince(d time.Duration) fact {
	return func(s *scope) { s.machine.DeletionTimestamp = new(ago(d)) }
}

// flags are what the Machine has recorded of its BootstrapConfig and its InfraMachine.
func flags(dataSecretCreated, provisioned bool) fact {
	return func(s *scope) {
		s.machine.Status.Initialization = clusterv1.MachineInitializationStatus{}
		if dataSecretCreated {
			s.machine.Status.Initialization.BootstrapDataSecretCreated = new(true)
		}
		if provisioned {
			s.machine.Status.Initialization.InfrastructureProvisioned = new(true)
		}
	}
}

func noConfigRef(s *scope) {
	s.machine.Spec.Bootstrap.ConfigRef = clusterv1.ContractVersionedObjectReference{}
}

func dataSecret(s *scope) { s.machine.Spec.Bootstrap.DataSecretName = new("secret") }

func providerID(id string) fact { return func(s *scope) { s.machine.Spec.ProviderID = id } }

func nodeRef(name string) fact {
	return func(s *scope) { s.machine.Status.NodeRef = clusterv1.MachineNodeReference{Name: name} }
}

func annotated(key, value string) fact {
	return func(s *scope) { metav1.SetMetaDataAnnotation(&s.machine.ObjectMeta, key, value) }
}

func infraReady(s *scope) {
	s.infra.ready, s.infra.done = &metav1.Condition{Status: metav1.ConditionTrue, Reason: "Running"}, true
}

func configReady(s *scope) {
	s.bootstrap.ready, s.bootstrap.done = &metav1.Condition{Status: metav1.ConditionTrue, Reason: "Running"}, true
}

// infraIs and configIs replace what is known about the provider objects.
func infraIs(change func(p *observed)) fact {
	return func(s *scope) {
		var o observed
		change(&o)
		s.infra.missing, s.infra.problem, s.infra.ready, s.infra.readyErr, s.infra.waiting, s.infra.done = o.missing, o.problem, o.ready, o.readyErr, o.waiting, o.done
	}
}

func configIs(change func(p *observed)) fact {
	return func(s *scope) {
		var o observed
		change(&o)
		s.bootstrap.missing, s.bootstrap.problem, s.bootstrap.ready, s.bootstrap.readyErr, s.bootstrap.waiting, s.bootstrap.done = o.missing, o.problem, o.ready, o.readyErr, o.waiting, o.done
	}
}

// observed is what the conditions about a provider object are made from, whichever of the two it is.
type observed = provided[struct{}]

func missing(p *observed) { p.missing = true }

func nodeIs(node *corev1.Node) fact { return func(s *scope) { s.node.node = node } }

func nodeError(err error) fact { return func(s *scope) { s.node.node, s.node.err = nil, err } }

func probed(lastSuccess time.Time, failures int) fact {
	return func(s *scope) { s.node.health = workload.Health{LastSuccess: lastSuccess, Failures: failures} }
}

var errNotConnected = fmt.Errorf("%w: %w", workload.ErrNotConnected, errors.New("no Secret c-kubeconfig"))

// stored are conditions that the Machine has already.
func stored(conditions ...metav1.Condition) fact {
	return func(s *scope) {
		for _, c := range conditions {
			status.Set(s.machine, c, now.Add(-time.Hour))
		}
	}
}

func cluster(change func(c *clusterv1.Cluster)) fact { return func(s *scope) { change(s.cluster) } }

func noCluster(s *scope) { s.cluster = nil }

func healthyNode() *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: ago(time.Minute)},
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse},
		{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse},
		{Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse},
	}}}
}

func nodeReadyIs(conditionStatus corev1.ConditionStatus, message string) *corev1.Node {
	node := healthyNode()
	node.Status.Conditions[0].Status, node.Status.Conditions[0].Message = conditionStatus, message
	return node
}

// about writes a condition as type, status, reason and message.
func about(conditionType string, conditionStatus metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: conditionType, Status: conditionStatus, Reason: reason, Message: message}
}

const (
	yes     = metav1.ConditionTrue
	no      = metav1.ConditionFalse
	unknown = metav1.ConditionUnknown
)
