// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"errors"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/apis/contract/accessor"
	"github.com/machinist-dev/machinist/controllers/external"
	"github.com/machinist-dev/machinist/controllers/status"
)

// reported is the condition Ready of a provider object, as it was mirrored.
func reported(conditionStatus metav1.ConditionStatus, reason, message string) func(p *observed) {
	return func(p *observed) {
		p.ready = &metav1.Condition{Status: conditionStatus, Reason: reason, Message: message, LastTransitionTime: ago(time.Minute)}
	}
}

func problem(err error) func(p *observed) { return func(p *observed) { p.problem = err } }

func done(p *observed) { p.done = true }

func both(changes ...func(p *observed)) func(p *observed) {
	return func(p *observed) {
		for _, change := range changes {
			change(p)
		}
	}
}

func waiting(text string) func(p *observed) { return func(p *observed) { p.waiting = text } }

var errFields = accessor.FieldErrors{{
	Kind: "InfraMachine", Field: "ProviderID", Path: ".spec.providerID", ContractVersion: "v1beta2", Expected: "string", Found: "number 7",
}}

const fieldErrorText = ".spec.providerID: expected string, found number 7 (contract version v1beta2)"

var _ = DescribeTable("BootstrapConfigReady", func(s *scope, conditionStatus metav1.ConditionStatus, reason, message string) {
	condition := bootstrapConfigReady(s)
	condition.LastTransitionTime = metav1.Time{}
	Expect(condition).To(Equal(about("BootstrapConfigReady", conditionStatus, reason, message)))
},
	Entry("no configRef", knowing(noConfigRef, dataSecret), yes, "DataSecretProvided", ""),
	Entry("no configRef and no data secret either, which the webhook would refuse", knowing(noConfigRef), yes, "DataSecretProvided", ""),
	Entry("mirrored True", knowing(configIs(reported(yes, "Running", "up"))), yes, "Running", "up"),
	Entry("mirrored False", knowing(configIs(reported(no, "Waiting", "for the control plane"))), no, "Waiting", "for the control plane"),
	Entry("mirrored False, although the Machine has its data", knowing(flags(true, false), configIs(reported(no, "Broken", "later"))), no, "Broken", "later"),
	Entry("mirrored Unknown", knowing(configIs(reported(unknown, "NoReasonReported", ""))), unknown, "NoReasonReported", ""),
	Entry("no Ready, flag set", knowing(flags(true, false), configIs(done)), yes, "Ready", ""),
	Entry("no Ready, flag not set", knowing(configIs(func(*observed) {})), no, "NotReady", "SimConfig status.initialization.dataSecretCreated is false"),
	Entry("no Ready, flag set by a data secret that was given", knowing(flags(true, false), dataSecret, configIs(func(*observed) {})), yes, "Ready", ""),
	Entry("the conditions are invalid", knowing(configIs(func(p *observed) { p.readyErr = errors.New("status must be set") })), unknown, "InvalidConditionReported", "status must be set"),
	Entry("the conditions are invalid, of an object that was fine once", knowing(flags(true, false), configIs(func(p *observed) { p.readyErr = errors.New("status must be set") })),
		unknown, "InvalidConditionReported", "status must be set"),
	// Cluster API says "Please check controller logs for errors" in this and the next entry.
	Entry("on purpose unlike Cluster API: a read error is shown", knowing(configIs(problem(errors.New("forbidden")))), unknown, "InternalError", "SimConfig: forbidden"),
	Entry("on purpose unlike Cluster API: a name that is missing is a breach of the contract", knowing(configIs(both(done, problem(errFields)))),
		unknown, "ContractViolated", "SimConfig: "+fieldErrorText),
	Entry("missing, new", knowing(configIs(missing)), no, "ObjectDoesNotExist", "SimConfig does not exist"),
	Entry("missing, and the Machine has its data: does not exist, as it was no longer needed", knowing(flags(true, false), configIs(missing)), no, "ObjectDoesNotExist", "SimConfig does not exist"),
	Entry("missing, deleting, flag set", knowing(deletingSince(time.Minute), flags(true, false), configIs(missing)), no, "ObjectDeleted", "SimConfig has been deleted"),
	Entry("missing, deleting, flag not set", knowing(deletingSince(time.Minute), configIs(missing)), no, "ObjectDoesNotExist", "SimConfig does not exist"),
	Entry("says that it is done, but is being deleted, so that nothing is taken over", knowing(configIs(done)), no, "NotReady", "SimConfig: it is being deleted"),
)

var _ = DescribeTable("InfrastructureReady", func(s *scope, conditionStatus metav1.ConditionStatus, reason, message string) {
	condition := infrastructureReady(s)
	condition.LastTransitionTime = metav1.Time{}
	Expect(condition).To(Equal(about("InfrastructureReady", conditionStatus, reason, message)))
},
	Entry("mirrored True", knowing(infraIs(reported(yes, "Running", "up"))), yes, "Running", "up"),
	Entry("mirrored False", knowing(infraIs(reported(no, "Creating", "booting"))), no, "Creating", "booting"),
	Entry("mirrored False after it was provisioned", knowing(flags(false, true), infraIs(reported(no, "Stopped", "by hand"))), no, "Stopped", "by hand"),
	Entry("no Ready, flag set", knowing(flags(false, true), infraIs(done)), yes, "Ready", ""),
	Entry("no Ready, flag set, and the object takes it back: a machine that was provisioned stays so", knowing(flags(false, true), infraIs(func(*observed) {})), yes, "Ready", ""),
	Entry("no Ready, flag not set", knowing(infraIs(func(*observed) {})), no, "NotReady", "SimMachine status.initialization.provisioned is false"),
	Entry("the conditions are invalid", knowing(infraIs(func(p *observed) { p.readyErr = errors.New("status must be set") })), unknown, "InvalidConditionReported", "status must be set"),
	Entry("missing, new", knowing(infraIs(missing)), no, "ObjectDoesNotExist", "SimMachine does not exist"),
	Entry("missing, but it was provisioned", knowing(flags(false, true), infraIs(missing)), no, "ObjectDeleted", "SimMachine has been deleted while the Machine still exists"),
	Entry("missing, deleting, flag set", knowing(deletingSince(time.Minute), flags(false, true), infraIs(missing)), no, "ObjectDeleted", "SimMachine has been deleted"),
	Entry("missing, deleting, flag not set", knowing(deletingSince(time.Minute), infraIs(missing)), no, "ObjectDoesNotExist", "SimMachine does not exist"),
	Entry("done, without a provider ID", knowing(infraIs(both(done, waiting("; it is provisioned but does not report spec.providerID yet")))),
		no, "NotReady", "SimMachine: it is provisioned but does not report spec.providerID yet"),
	Entry("mirrored, done, without a provider ID", knowing(infraIs(both(reported(yes, "Running", "up"), done, waiting("; no spec.providerID yet")))), no, "NotReady", "SimMachine: no spec.providerID yet"),
	Entry("mirrored as not ready, done, without a provider ID", knowing(infraIs(both(reported(no, "Starting", "soon"), done, waiting("; no spec.providerID yet")))), no, "Starting", "soon; no spec.providerID yet"),
	Entry("mirrored as not ready without a message", knowing(infraIs(both(reported(no, "Starting", ""), done, waiting("; no spec.providerID yet")))), no, "Starting", "no spec.providerID yet"),
	Entry("a field at the path of another contract version", knowing(infraIs(waiting("; .status.ready is set instead"))),
		no, "NotReady", "SimMachine status.initialization.provisioned is false; .status.ready is set instead"),
	Entry("what was waited for is forgotten once it is provisioned", knowing(flags(false, true), infraIs(both(reported(yes, "Running", "up"), waiting("; odd")))), yes, "Running", "up"),
)

var _ = DescribeTable("the reason of a problem", func(err error, reason string) {
	s := knowing(infraIs(both(problem(err), reported(yes, "Running", "up"))), flags(true, true))
	Expect(infrastructureReady(s)).To(Equal(about("InfrastructureReady", unknown, reason, "SimMachine: "+err.Error())))
	Expect(infrastructureReady(knowing(infraIs(problem(fmt.Errorf("wrapped: %w", err)))))).To(HaveField("Reason", reason))
},
	Entry("no CustomResourceDefinition", &external.KindError{Problem: external.CRDMissing, Message: "install it"}, "CustomResourceDefinitionMissing"),
	Entry("no contract version", &external.KindError{Problem: external.ContractUnknown, Message: "label it"}, "ContractVersionUnknown"),
	Entry("not listed yet", &external.KindError{Problem: external.NotSynced, Message: "wait"}, "KindNotSynced"),
	Entry("somebody else's object", &external.OwnedError{Kind: "SimMachine", Key: types.NamespacedName{Namespace: "ns", Name: "m"}, Owner: "Machine other"}, "AlreadyOwned"),
	Entry("fields that break the contract", errFields, "ContractViolated"),
	Entry("one field that breaks the contract", errFields[0], "ContractViolated"),
	Entry("no Cluster", clusterMissingError{types.NamespacedName{Namespace: "ns", Name: "c"}}, "ClusterDoesNotExist"),
	Entry("anything else", errors.New("timeout"), "InternalError"),
)

var _ = DescribeTable("Deleting", func(s *scope, conditionStatus metav1.ConditionStatus, reason, message string) {
	Expect(deleting(s)).To(Equal(about("Deleting", conditionStatus, reason, message)))
},
	Entry("not asked for", knowing(), no, "NotDeleting", ""),
	Entry("not asked for, whatever a stage says", knowing(func(s *scope) { s.deleting = stage{"DeletingNode", "text"} }), no, "NotDeleting", ""),
	Entry("at its stage", knowing(deletingSince(time.Hour), func(s *scope) {
		s.deleting = stage{"WaitingForInfrastructureDeletion", "Waiting for SimMachine to be deleted"}
	}),
		yes, "WaitingForInfrastructureDeletion", "Waiting for SimMachine to be deleted"),
)

var _ = DescribeTable("Updating", func(s *scope, conditionStatus metav1.ConditionStatus, reason, message string) {
	Expect(updating(s.machine)).To(Equal(about("Updating", conditionStatus, reason, message)))
},
	Entry("no annotations", knowing(), no, "NotUpdating", ""),
	Entry("in progress", knowing(annotated(clusterv1.UpdateInProgressAnnotation, "")), yes, "InPlaceUpdating", "In-place update in progress"),
	Entry("in progress, hook pending", knowing(annotated(clusterv1.UpdateInProgressAnnotation, ""), annotated(clusterv1.PendingHooksAnnotation, "UpdateMachine")),
		yes, "InPlaceUpdating", "In-place update in progress"),
	Entry("hook still pending", knowing(annotated(clusterv1.PendingHooksAnnotation, "AfterSomething,UpdateMachine")), yes, "InPlaceUpdating", "In-place update in progress"),
	Entry("another hook pending", knowing(annotated(clusterv1.PendingHooksAnnotation, "AfterSomething")), no, "NotUpdating", ""),
	Entry("a hook pending whose name is only longer", knowing(annotated(clusterv1.PendingHooksAnnotation, "UpdateMachineSet,CanUpdateMachine")), no, "NotUpdating", ""),
	Entry("no hook pending", knowing(annotated(clusterv1.PendingHooksAnnotation, "")), no, "NotUpdating", ""),
)

var _ = DescribeTable("Paused", func(s *scope, conditionStatus metav1.ConditionStatus, reason, message string) {
	because := pausedBecause(s)
	Expect(because).To(Equal(message))
	setPaused(s, because)
	Expect(status.Get(s.machine, "Paused")).To(HaveValue(Equal(metav1.Condition{
		Type: "Paused", Status: conditionStatus, Reason: reason, Message: message, LastTransitionTime: ago(0), ObservedGeneration: 4,
	})))
},
	Entry("not", knowing(), no, "NotPaused", ""),
	Entry("the Cluster says explicitly not", knowing(cluster(func(c *clusterv1.Cluster) { c.Spec.Paused = new(false) })), no, "NotPaused", ""),
	Entry("the Cluster", knowing(cluster(func(c *clusterv1.Cluster) { c.Spec.Paused = new(true) })), yes, "Paused", "Cluster spec.paused is set to true"),
	Entry("the annotation, with any value", knowing(annotated("cluster.x-k8s.io/paused", "false")), yes, "Paused", "Machine has the cluster.x-k8s.io/paused annotation"),
	Entry("both", knowing(annotated("cluster.x-k8s.io/paused", ""), cluster(func(c *clusterv1.Cluster) { c.Spec.Paused = new(true) })),
		yes, "Paused", "Cluster spec.paused is set to true, Machine has the cluster.x-k8s.io/paused annotation"),
	Entry("no Cluster", knowing(noCluster), no, "NotPaused", ""),
	Entry("no Cluster, but the annotation", knowing(noCluster, annotated("cluster.x-k8s.io/paused", "")), yes, "Paused", "Machine has the cluster.x-k8s.io/paused annotation"),
)

var _ = DescribeTable("The annotation that pauses a Machine with the value of its watch filter", func(s *scope, because string, theirs bool) {
	Expect(pausedBecause(s)).To(Equal(because))
	setPaused(s, because)
	Expect(status.Get(s.machine, "Paused") == nil).To(Equal(theirs), "whether the condition is left to others")
},
	Entry("does not pause it", knowing(watched("machinist"), annotated("cluster.x-k8s.io/paused", "machinist")), "", true),
	Entry("lets its Cluster pause it", knowing(watched("machinist"), annotated("cluster.x-k8s.io/paused", "machinist"), cluster(func(c *clusterv1.Cluster) { c.Spec.Paused = new(true) })),
		"Cluster spec.paused is set to true", true),
	Entry("pauses it with any other value", knowing(watched("machinist"), annotated("cluster.x-k8s.io/paused", "yes")), "Machine has the cluster.x-k8s.io/paused annotation", false),
	Entry("pauses it if both are empty", knowing(watched(""), annotated("cluster.x-k8s.io/paused", "")), "Machine has the cluster.x-k8s.io/paused annotation", false),
	Entry("pauses it for a manager without a filter", knowing(watched("machinist"), annotated("cluster.x-k8s.io/paused", "machinist"), func(s *scope) { s.watchFilter = "" }),
		"Machine has the cluster.x-k8s.io/paused annotation", false),
	Entry("pauses it without the label", knowing(annotated("cluster.x-k8s.io/paused", "machinist")), "Machine has the cluster.x-k8s.io/paused annotation", false),
)

// watched is a Machine of a manager with that filter.
func watched(by string) fact {
	return func(s *scope) { s.watchFilter, s.machine.Labels = by, map[string]string{clusterv1.WatchLabel: by} }
}

var _ = Describe("Available", func() {
	ready := func(conditionStatus metav1.ConditionStatus, since time.Duration) fact {
		return stored(metav1.Condition{Type: "Ready", Status: conditionStatus, Reason: "Any", LastTransitionTime: ago(since)})
	}
	minReady := func(seconds int32) fact { return func(s *scope) { s.machine.Spec.MinReadySeconds = new(seconds) } }
	DescribeTable("follows Ready", func(s *scope, conditionStatus metav1.ConditionStatus, reason string, wakeAfter time.Duration) {
		Expect(available(s)).To(Equal(about("Available", conditionStatus, reason, "")))
		Expect(s.requeueAfter).To(Equal(wakeAfter))
	},
		Entry("Ready missing, which doesn't happen", knowing(), no, "NotReady", time.Duration(0)),
		Entry("not Ready", knowing(ready(no, time.Hour)), no, "NotReady", time.Duration(0)),
		Entry("not known to be Ready", knowing(ready(unknown, time.Hour), minReady(10)), no, "NotReady", time.Duration(0)),
		Entry("Ready, and nothing asked for", knowing(ready(yes, 0)), yes, "Available", time.Duration(0)),
		Entry("Ready, and no seconds asked for", knowing(ready(yes, 0), minReady(0)), yes, "Available", time.Duration(0)),
		Entry("Ready, too short", knowing(ready(yes, 4*time.Second), minReady(10)), no, "WaitingForMinReadySeconds", now.Truncate(time.Second).Add(6*time.Second).Sub(now)),
		Entry("Ready, long enough", knowing(ready(yes, 10*time.Second), minReady(10)), yes, "Available", time.Duration(0)),
		Entry("an earlier wish to be woken stays", knowing(ready(yes, 0), minReady(10), func(s *scope) { s.requeueAfter = time.Second }), no, "WaitingForMinReadySeconds", time.Second),
		Entry("a later wish doesn't", knowing(ready(yes, 0), minReady(1), func(s *scope) { s.requeueAfter = time.Hour }),
			no, "WaitingForMinReadySeconds", now.Truncate(time.Second).Add(time.Second).Sub(now)),
	)
})

var isUpdating = stored(about("Updating", yes, "InPlaceUpdating", ""))

var _ = Describe("the phase", func() {
	stale := func(phase clusterv1.MachinePhase) fact {
		return func(s *scope) {
			s.machine.Status.Phase, s.machine.Status.LastUpdated = string(phase), ago(time.Hour)
		}
	}
	DescribeTable("is that of the last rule that applies", func(s *scope, phase string) {
		setPhase(s)
		Expect(s.machine.Status.Phase).To(Equal(phase))
		Expect(s.machine.Status.LastUpdated).To(Equal(ago(0)), "whole seconds")
	},
		Entry("new", knowing(), "Pending"),
		Entry("bootstrap data there, infrastructure not", knowing(flags(true, false)), "Provisioning"),
		// Cluster API leaves the flag unset for a data secret that was given, and its phase skips Provisioning.
		Entry("a given data secret sets the flag, so that it is provisioned visibly", knowing(noConfigRef, dataSecret, flags(true, false)), "Provisioning"),
		Entry("infrastructure there first", knowing(flags(false, true)), "Pending"),
		Entry("provider ID", knowing(flags(true, true), providerID("sim:///1")), "Provisioned"),
		Entry("provider ID before the flag", knowing(flags(true, false), providerID("sim:///1")), "Provisioned"),
		Entry("Node", knowing(flags(true, true), providerID("sim:///1"), nodeRef("n")), "Running"),
		Entry("Node, but the infrastructure was never provisioned", knowing(flags(true, false), providerID("sim:///1"), nodeRef("n")), "Provisioned"),
		Entry("updating", knowing(flags(true, true), providerID("sim:///1"), nodeRef("n"), isUpdating), "Updating"),
		Entry("deleting", knowing(flags(true, true), providerID("sim:///1"), nodeRef("n"), isUpdating, deletingSince(0)), "Deleting"),
		Entry("deleting before anything was there", knowing(deletingSince(0)), "Deleting"),
		Entry("back to Running after an update", knowing(flags(true, true), providerID("sim:///1"), nodeRef("n"), stale("Updating")), "Running"),
	)
	DescribeTable("stays, with its time", func(s *scope) {
		before := s.machine.DeepCopy()
		setPhase(s)
		Expect(s.machine).To(Equal(before))
	},
		Entry("Pending", knowing(stale("Pending"))),
		Entry("Running", knowing(stale("Running"), flags(true, true), nodeRef("n"))),
		Entry("Provisioned, although the provider ID has gone: it never falls back by itself", knowing(stale("Provisioned"), flags(true, true))),
	)
})
