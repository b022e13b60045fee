// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/apis/contract/accessor"
	"github.com/machinist-dev/machinist/controllers/external"
	"github.com/machinist-dev/machinist/controllers/status"
	"github.com/machinist-dev/machinist/controllers/workload"
)

// computeStatus derives conditions and phase of the Machine from what the scope holds, and from nothing else.
func computeStatus(s *scope, grace time.Duration) {
	set := func(condition metav1.Condition) { status.Set(s.machine, condition, s.now) }
	setPaused(s, "")
	for _, found := range []struct {
		role      *external.Role
		condition metav1.Condition
	}{
		{external.BootstrapConfig, bootstrapConfigReady(s)},
		{external.InfraMachine, infrastructureReady(s)},
	} {
		set(found.condition)
		warnOnce(s, found.role, found.condition)
	}
	for _, condition := range nodeConditions(s, grace) {
		set(condition)
	}
	set(deleting(s))
	set(updating(s.machine))
	if condition := upToDate(s); condition != nil {
		set(*condition)
	}
	set(status.Ready(s.machine, s.now))
	set(available(s))
	setDeprecated(s)
	setCertificatesExpiry(s)
	setPhase(s)
	makeRoom(s)
}

// dispensable are the conditions that are always ours, beginning with what others can do without most easily.
var dispensable = []string{
	clusterv1.MachineUpdatingCondition, clusterv1.MachineBootstrapConfigReadyCondition, clusterv1.MachineNodeReadyCondition,
	clusterv1.MachineInfrastructureReadyCondition, clusterv1.MachineNodeHealthyCondition, clusterv1.MachineDeletingCondition,
	clusterv1.MachineAvailableCondition, clusterv1.MachineReadyCondition,
}

// makeRoom leaves conditions of ours out if, with those of others, there are more than a Machine can have.
func makeRoom(s *scope) {
	var types []string
	if s.rollout != nil {
		types = append(types, clusterv1.MachineUpToDateCondition)
	}
	if !s.isReserved() {
		types = append(types, clusterv1.PausedCondition)
	}
	s.leftOut = status.MakeRoom(s.machine, append(types, dispensable...)...)
}

// pausedBecause returns why the Machine is paused, "" if it isn't.
func pausedBecause(s *scope) string {
	var reasons []string
	if s.cluster != nil && isTrue(s.cluster.Spec.Paused) {
		reasons = append(reasons, "Cluster spec.paused is set to true")
	}
	if _, ok := s.machine.Annotations[clusterv1.PausedAnnotation]; ok && !s.isReserved() {
		reasons = append(reasons, "Machine has the "+clusterv1.PausedAnnotation+" annotation")
	}
	return strings.Join(reasons, ", ")
}

// isReserved reports whether the annotation that pauses the Machine has the value of this manager's watch filter: it is then
// meant for all managers but this one. This is how Machines of ours live beside Cluster API's core manager.
func (s *scope) isReserved() bool { return s.watchFilter != "" && isReserved(s.machine) }

// isReserved reports whether the annotation that pauses the Machine has the value of its watch filter label. A manager with a
// filter has no Machines with another label.
func isReserved(machine *clusterv1.Machine) bool {
	value := machine.Annotations[clusterv1.PausedAnnotation]
	return value != "" && value == machine.Labels[clusterv1.WatchLabel]
}

// setPaused leaves the condition of a reserved Machine alone: it is kept by those for whom the Machine is paused.
func setPaused(s *scope, reason string) {
	if s.isReserved() {
		return
	}
	condition := metav1.Condition{Type: clusterv1.PausedCondition, Status: metav1.ConditionFalse, Reason: clusterv1.NotPausedReason}
	if reason != "" {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionTrue, clusterv1.PausedReason, reason
	}
	status.Set(s.machine, condition, s.now)
}

func bootstrapConfigReady(s *scope) metav1.Condition {
	if !s.machine.Spec.Bootstrap.ConfigRef.IsDefined() {
		return metav1.Condition{
			Type: clusterv1.MachineBootstrapConfigReadyCondition, Status: metav1.ConditionTrue, Reason: clusterv1.MachineBootstrapDataSecretProvidedReason,
		}
	}
	condition := providedReady(&s.bootstrap, s.machine.Spec.Bootstrap.ConfigRef.Kind, "status.initialization.dataSecretCreated", s.dataSecretCreated())
	condition.Type = clusterv1.MachineBootstrapConfigReadyCondition
	if s.bootstrap.missing && !s.isDeleting() { // also when it was there once: its data lives on in the secret
		condition.Reason = clusterv1.ObjectDoesNotExistReason
		condition.Message = s.machine.Spec.Bootstrap.ConfigRef.Kind + " does not exist"
	}
	return condition
}

func infrastructureReady(s *scope) metav1.Condition {
	condition := providedReady(&s.infra, s.machine.Spec.InfrastructureRef.Kind, "status.initialization.provisioned", s.infrastructureProvisioned())
	condition.Type = clusterv1.MachineInfrastructureReadyCondition
	if s.infra.missing && !s.isDeleting() && s.infrastructureProvisioned() {
		condition.Message = s.machine.Spec.InfrastructureRef.Kind + " has been deleted while the Machine still exists"
	}
	return condition
}

// providedReady is the condition about a provider object; flag is the Machine's record that the object was done once.
func providedReady[T any](p *provided[T], kind, path string, flag bool) metav1.Condition {
	switch {
	case p.problem != nil:
		return metav1.Condition{Status: metav1.ConditionUnknown, Reason: reasonOf(p.problem), Message: kind + ": " + p.problem.Error()}
	case p.readyErr != nil:
		return metav1.Condition{Status: metav1.ConditionUnknown, Reason: clusterv1.InvalidConditionReportedReason, Message: p.readyErr.Error()}
	case p.missing && flag:
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: clusterv1.ObjectDeletedReason, Message: kind + " has been deleted"}
	case p.missing:
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: clusterv1.ObjectDoesNotExistReason, Message: kind + " does not exist"}
	case p.ready != nil:
		return mirroredReady(*p.ready, kind, p.waiting, flag)
	case flag:
		return metav1.Condition{Status: metav1.ConditionTrue, Reason: clusterv1.ReadyReason}
	case p.done: // and yet the Machine has taken nothing over
		why := cmp.Or(strings.TrimPrefix(p.waiting, "; "), "it is being deleted")
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: clusterv1.NotReadyReason, Message: kind + ": " + why}
	default:
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: clusterv1.NotReadyReason, Message: fmt.Sprintf("%s %s is false%s", kind, path, p.waiting)}
	}
}

// mirroredReady is the condition that the object reports. As long as the Machine has taken nothing over, and it is known
// why, that is added; and then the condition is not True, whatever the object says of itself.
func mirroredReady(ready metav1.Condition, kind, waiting string, flag bool) metav1.Condition {
	switch {
	case waiting == "" || flag:
		return ready
	case ready.Status == metav1.ConditionTrue:
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: clusterv1.NotReadyReason, Message: kind + ": " + strings.TrimPrefix(waiting, "; ")}
	}
	ready.Message = strings.TrimPrefix(ready.Message+waiting, "; ")
	return ready
}

// warnOnce sends an event when a provider object can't be used, or its kind can't be read, for a reason that the Machine
// did not have before.
func warnOnce(s *scope, role *external.Role, condition metav1.Condition) {
	before := status.Get(s.stored, condition.Type)
	if condition.Status == metav1.ConditionUnknown && condition.Message != "" && ownReasons[condition.Reason] && (before == nil || before.Reason != condition.Reason) {
		s.warning(condition.Reason, "Read"+role.String(), condition.Message)
	}
}

// ownReasons are those of our own findings, in contrast to what a provider reports as Unknown.
var ownReasons = map[string]bool{
	clusterv1.ContractViolatedReason:                true,
	clusterv1.AlreadyOwnedReason:                    true,
	clusterv1.CustomResourceDefinitionMissingReason: true,
	clusterv1.ContractVersionUnknownReason:          true,
	clusterv1.KindNotSyncedReason:                   true,
	clusterv1.ClusterDoesNotExistReason:             true,
	clusterv1.InvalidConditionReportedReason:        true,
}

func reasonOf(problem error) string {
	var kind *external.KindError
	var owned *external.OwnedError
	var field *accessor.FieldError
	var cluster clusterMissingError
	switch {
	case errors.As(problem, &kind):
		return string(kind.Problem)
	case errors.As(problem, &owned):
		return clusterv1.AlreadyOwnedReason
	case errors.As(problem, &field):
		return clusterv1.ContractViolatedReason
	case errors.As(problem, &cluster):
		return clusterv1.ClusterDoesNotExistReason
	default:
		return clusterv1.InternalErrorReason
	}
}

// nodeConditions returns NodeReady and NodeHealthy, or nothing if what the Machine has is still believed.
func nodeConditions(s *scope, grace time.Duration) []metav1.Condition {
	both := func(conditionStatus metav1.ConditionStatus, reason, message string) []metav1.Condition {
		ready := metav1.Condition{Type: clusterv1.MachineNodeReadyCondition, Status: conditionStatus, Reason: reason, Message: message}
		healthy := ready
		healthy.Type = clusterv1.MachineNodeHealthyCondition
		return []metav1.Condition{ready, healthy}
	}
	unknown := func(reason, message string) []metav1.Condition { return both(metav1.ConditionUnknown, reason, message) }
	switch {
	case s.cluster == nil && !s.isDeleting():
		return unknown(clusterv1.MachineNodeInspectionFailedReason, clusterMissingError{s.clusterKey()}.Error())
	case s.cluster != nil && !isTrue(s.cluster.Status.Initialization.InfrastructureProvisioned):
		return unknown(clusterv1.MachineNodeInspectionFailedReason, "Waiting for Cluster status.initialization.infrastructureProvisioned to be true")
	case s.cluster != nil && !workloadClusterReady(s.cluster):
		return unknown(clusterv1.MachineNodeInspectionFailedReason, "Waiting for Cluster control plane to be initialized")
	case s.cluster != nil:
		if conditions, decided := connectionConditions(s, grace, unknown); decided {
			return conditions
		}
	}
	nodeRef, kind := s.machine.Status.NodeRef, s.machine.Spec.InfrastructureRef.Kind
	switch {
	case s.node.node != nil:
		return []metav1.Condition{status.NodeReady(s.node.node), status.NodeHealthy(s.node.node)}
	case s.isDeleting() && nodeRef.IsDefined():
		return both(metav1.ConditionFalse, clusterv1.MachineNodeDeletedReason, fmt.Sprintf("Node %s has been deleted", nodeRef.Name))
	case s.isDeleting():
		return unknown(clusterv1.MachineNodeDoesNotExistReason, "Node does not exist")
	case s.machine.Spec.ProviderID == "":
		// Also when nodeRef is set: without a providerID nobody has looked for the Node.
		return unknown(clusterv1.MachineNodeInspectionFailedReason, fmt.Sprintf("Waiting for %s to report spec.providerID", kind))
	case nodeRef.IsDefined():
		return both(metav1.ConditionFalse, clusterv1.MachineNodeDeletedReason, fmt.Sprintf("Node %s has been deleted while the Machine still exists", nodeRef.Name))
	default:
		message := fmt.Sprintf("Waiting for a Node with spec.providerID %s to exist", s.machine.Spec.ProviderID)
		if s.node.lacksProviderID {
			message += fmt.Sprintf("; Node %s has no spec.providerID: kubelet or cloud provider has to set it", s.machine.Name)
		}
		return unknown(clusterv1.MachineNodeInspectionFailedReason, message)
	}
}

// connectionConditions decides as long as the workload cluster can't be asked.
func connectionConditions(s *scope, grace time.Duration, unknown func(reason, message string) []metav1.Condition) ([]metav1.Condition, bool) {
	health, since := s.node.health, s.node.health.LastSuccess
	if initialized := meta.FindStatusCondition(s.cluster.Status.Conditions, clusterv1.ClusterControlPlaneInitializedCondition); initialized != nil && initialized.LastTransitionTime.After(since) {
		since = initialized.LastTransitionTime.Time
	}
	hardlyTried := health.LastSuccess.IsZero() && health.Failures < workload.ProbeFailures
	switch {
	case !hardlyTried && s.now.Sub(since) > grace:
		return unknown(clusterv1.MachineNodeConnectionDownReason, connectionDown(&s.node)), true
	case hardlyTried, errors.Is(s.node.err, workload.ErrNotConnected):
		if !hardlyTried && !since.IsZero() { // else the next attempts to connect will tell
			s.wakeAfter(max(grace-s.now.Sub(since), 0) + time.Second) // nothing else tells that what is known has become old
		}
		if knowsNode(s.machine) {
			return nil, true
		}
		return unknown(clusterv1.MachineNodeConnectionDownReason, connectionDown(&s.node)), true
	case s.node.err != nil:
		return unknown(clusterv1.MachineNodeInternalErrorReason, s.node.err.Error()), true
	}
	return nil, false
}

// connectionDown says since when there is no connection or, if there never was one, why.
func connectionDown(node *observedNode) string {
	if !node.health.LastSuccess.IsZero() {
		return "Last successful probe at " + node.health.LastSuccess.UTC().Format(time.RFC3339)
	}
	text := "Remote connection not established yet"
	if node.err != nil {
		text += ": " + node.err.Error()
	}
	return text
}

// knowsNode reports whether the Machine has conditions about a Node that are worth keeping while it can't be asked. Those
// of the time before there was a Node, or a workload cluster, only say what was waited for then.
func knowsNode(machine *clusterv1.Machine) bool {
	ready, healthy := status.Get(machine, clusterv1.MachineNodeReadyCondition), status.Get(machine, clusterv1.MachineNodeHealthyCondition)
	return ready != nil && healthy != nil && (ready.Status != metav1.ConditionUnknown || machine.Status.NodeRef.IsDefined())
}

func deleting(s *scope) metav1.Condition {
	if !s.isDeleting() {
		return metav1.Condition{Type: clusterv1.MachineDeletingCondition, Status: metav1.ConditionFalse, Reason: clusterv1.MachineNotDeletingReason}
	}
	return metav1.Condition{Type: clusterv1.MachineDeletingCondition, Status: metav1.ConditionTrue, Reason: s.deleting.reason, Message: s.deleting.message}
}

// updating only reports what others do: in-place updates are made by other controllers.
func updating(machine *clusterv1.Machine) metav1.Condition {
	_, inProgress := machine.Annotations[clusterv1.UpdateInProgressAnnotation]
	if inProgress || slices.Contains(strings.Split(machine.Annotations[clusterv1.PendingHooksAnnotation], ","), "UpdateMachine") {
		return metav1.Condition{
			Type: clusterv1.MachineUpdatingCondition, Status: metav1.ConditionTrue, Reason: clusterv1.MachineInPlaceUpdatingReason, Message: "In-place update in progress",
		}
	}
	return metav1.Condition{Type: clusterv1.MachineUpdatingCondition, Status: metav1.ConditionFalse, Reason: clusterv1.MachineNotUpdatingReason}
}

// available is Ready for spec.minReadySeconds, and asks for a reconcile when they will have passed.
func available(s *scope) metav1.Condition {
	condition := metav1.Condition{Type: clusterv1.MachineAvailableCondition, Status: metav1.ConditionFalse, Reason: clusterv1.NotReadyReason}
	ready := status.Get(s.machine, clusterv1.MachineReadyCondition)
	if ready == nil || ready.Status != metav1.ConditionTrue {
		return condition
	}
	var minReady time.Duration
	if seconds := s.machine.Spec.MinReadySeconds; seconds != nil {
		minReady = time.Duration(*seconds) * time.Second
	}
	if left := minReady - s.now.Sub(ready.LastTransitionTime.Time); left > 0 {
		s.wakeAfter(left)
		condition.Reason = clusterv1.MachineWaitingForMinReadySecondsReason
		return condition
	}
	condition.Status, condition.Reason = metav1.ConditionTrue, clusterv1.MachineAvailableReason
	return condition
}

// setPhase sums the Machine up in one word; the last rule that applies wins.
func setPhase(s *scope) {
	m := s.machine
	phase := clusterv1.MachinePhase(m.Status.Phase)
	if phase == "" {
		phase = clusterv1.MachinePhasePending
	}
	if s.dataSecretCreated() && !s.infrastructureProvisioned() {
		phase = clusterv1.MachinePhaseProvisioning
	}
	if m.Spec.ProviderID != "" {
		phase = clusterv1.MachinePhaseProvisioned
	}
	if m.Status.NodeRef.IsDefined() && s.infrastructureProvisioned() {
		phase = clusterv1.MachinePhaseRunning
	}
	if status.IsTrue(m.Status.Conditions, clusterv1.MachineUpdatingCondition) {
		phase = clusterv1.MachinePhaseUpdating
	}
	if s.isDeleting() {
		phase = clusterv1.MachinePhaseDeleting
	}
	if m.Status.Phase != string(phase) {
		m.Status.SetTypedPhase(phase)
		m.Status.LastUpdated = metav1.NewTime(s.now.UTC().Truncate(time.Second))
	}
}
