// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers/external"
	"github.com/machinist-dev/machinist/controllers/machine/rollout"
	"github.com/machinist-dev/machinist/controllers/workload"
	"github.com/machinist-dev/machinist/generated/facade"
)

// scope is what one reconcile knows. Each field says who sets it; everybody else only reads it.
type scope struct {
	// machine is the Machine as it shall be; phases change spec and the parts of status that aren't conditions.
	machine *clusterv1.Machine
	// stored is the Machine as the API server has it, as far as known: as read, then as returned by our own patches. What
	// it points to is shared with the cache and must not be changed.
	stored *clusterv1.Machine
	// cluster is nil if the Machine's Cluster does not exist. It is shared with the cache and must not be changed. Set by
	// fetch.
	cluster *clusterv1.Cluster
	// rollout is what the Machine's MachineDeployment thinks of it; nil if it is of none, or if that isn't known. Set by fetch.
	rollout *rollout.State
	// watchFilter is that of this manager; empty if it has none. Set by fetch.
	watchFilter string
	// now is the time of the reconcile. Set by fetch.
	now time.Time

	// bootstrap and infra are set by the phases of their names.
	bootstrap provided[facade.BootstrapConfig]
	infra     provided[facade.InfraMachine]
	// node is set by the node phase.
	node observedNode
	// nodeGoes is true if the Node is to be drained and deleted. Set by the deletion phase.
	nodeGoes bool
	// infraGoes is true if the InfraMachine is being deleted, or gone. Set by the deletion phase.
	infraGoes bool
	// steps are the v1beta1 conditions about the steps of the deletion. Set by the deletion phase.
	steps []clusterv1.Condition
	// writeFirst is true if the deletion goes on as soon as its status is written. Set by the deletion phase.
	writeFirst bool
	// nodeDeletionFailed is true if the Node could not be deleted. Set by the deletion phase.
	nodeDeletionFailed bool
	// deleting is the stage of the deletion. Set by the deletion phase.
	deleting stage

	// leftOut are the conditions of ours for which there is no room. Set by makeRoom.
	leftOut []string

	// events are sent after the status that they speak of has been written. Phases add to them.
	events []eventNote
	// requeueAfter is the shortest time that a phase has asked for; zero means that no one did.
	requeueAfter time.Duration
	// statusDue is when a status that is held back should be written; zero if none is. Set by persist.
	statusDue time.Duration
}

// provided is what was found of an object that the Machine references.
type provided[T any] struct {
	// object is nil unless it was found and belongs to this Machine.
	object *external.Object
	// missing is true if the kind can be read and there is no such object.
	missing bool
	// behind is true if the API server knows more of the object than the cache does: nothing can be said about it now.
	behind bool
	// fields are the contract's fields of the object; the zero value if object is nil.
	fields T
	// problem is why the object can't be used; nil if there is none, or no reference.
	problem error
	// ready mirrors the condition Ready of the object; nil if it has none.
	ready *metav1.Condition
	// readyErr says what is wrong with the conditions of the object.
	readyErr error
	// expiryErr says why the object does not tell when its certificates expire, although it tries to.
	expiryErr error
	// waiting completes the message "<Kind> <path> is false" if more is known about why.
	waiting string
	// done is whether the object itself says that it is provisioned, or that its data secret is created.
	done bool
}

// observedNode is what was found of the Machine's Node.
type observedNode struct {
	node *corev1.Node
	// lacksProviderID is true if there is none, but one of the Machine's name that nobody has given a spec.providerID.
	lacksProviderID bool
	// err is why the Node could not be looked up.
	err error
	// health is what the probes of the workload cluster have seen.
	health workload.Health
}

// stage is how far a deletion has come, in the words of the condition Deleting.
type stage struct {
	reason  string
	message string
}

// eventNote is an event. Two about different things must differ in reason or action: those that don't are taken by client-go,
// for some minutes, for one event that is repeated, and the note of the second is lost.
type eventNote struct {
	warning bool
	reason  string
	action  string
	note    string
}

func (s *scope) normal(reason, action, note string) {
	s.events = append(s.events, eventNote{reason: reason, action: action, note: note})
}

func (s *scope) warning(reason, action, note string) {
	s.events = append(s.events, eventNote{warning: true, reason: reason, action: action, note: note})
}

// wakeAfter asks for another reconcile after d, unless an earlier one is asked for already.
func (s *scope) wakeAfter(d time.Duration) {
	if s.requeueAfter == 0 || d < s.requeueAfter {
		s.requeueAfter = d
	}
}

// begin returns when a step of the deletion began, which is now if it hasn't yet.
func (s *scope) begin(started func(*clusterv1.MachineDeletionStatus) *metav1.Time) time.Time {
	if s.machine.Status.Deletion == nil {
		s.machine.Status.Deletion = &clusterv1.MachineDeletionStatus{}
	}
	at := started(s.machine.Status.Deletion)
	if at.IsZero() {
		*at = metav1.NewTime(s.now.UTC().Truncate(time.Second)) // as the API server stores it
	}
	return at.Time
}

// stepIs records the v1beta1 condition about a step of the deletion.
func (s *scope) stepIs(condition clusterv1.Condition) { s.steps = append(s.steps, condition) }

func (s *scope) stepDone(condition clusterv1.ConditionType) {
	s.stepIs(clusterv1.Condition{Type: condition, Status: corev1.ConditionTrue})
}

func (s *scope) isDeleting() bool { return !s.machine.DeletionTimestamp.IsZero() }

func (s *scope) clusterKey() types.NamespacedName {
	return types.NamespacedName{Namespace: s.machine.Namespace, Name: s.machine.Spec.ClusterName}
}

func (s *scope) infrastructureProvisioned() bool {
	return isTrue(s.machine.Status.Initialization.InfrastructureProvisioned)
}

func (s *scope) dataSecretCreated() bool {
	return isTrue(s.machine.Status.Initialization.BootstrapDataSecretCreated)
}

func isTrue(b *bool) bool { return b != nil && *b }

// ownership is the claim of this Machine to the objects that it references.
func (s *scope) ownership() external.Ownership {
	return external.Ownership{Machine: s.machine, Cluster: s.cluster}
}
