// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package references

import (
	"errors"
	"unicode/utf8"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers/external"
)

// scenario is a request that one rule finds something about, and no other.
type scenario struct {
	rule string
	// world changes newWorld, now changes machine(), and before what it is an update of; without before it is a CREATE.
	world       func(*world)
	now, before func(*clusterv1.Machine)
	// field and text are those of the finding; denied is whether mode enforce denies.
	field, text string
	denied      bool
	// pure is a rule that looks nothing up.
	pure bool
}

func (s scenario) request(changes ...func(*clusterv1.Machine)) admission.Request {
	now := machine()
	for _, change := range append([]func(*clusterv1.Machine){s.now}, changes...) {
		if change != nil {
			change(now)
		}
	}
	if s.before == nil {
		return create(now)
	}
	before := machine()
	s.before(before)
	return update(before, now)
}

// unchanged is an update of something else.
func (s scenario) unchanged() admission.Request {
	now := machine()
	if s.now != nil {
		s.now(now)
	}
	before := now.DeepCopy()
	now.Labels["example.org/new"] = ""
	if s.before != nil {
		s.before(before)
		before.Spec = now.Spec
	}
	return update(before, now)
}

func (s scenario) in(mode Mode) trial {
	w := newWorld()
	if s.world != nil {
		s.world(w)
	}
	return w.try(mode)
}

func (s scenario) failing(mode Mode) trial {
	w := newWorld()
	if s.world != nil {
		s.world(w)
	}
	w.err = errors.New("a secret of the API server")
	return w.try(mode)
}

// allowSilently matches a response that says nothing.
var allowSilently = SatisfyAll(HaveField("Allowed", BeTrue()), HaveField("Warnings", BeEmpty()))

func annotated(value string) func(*clusterv1.Machine) {
	return func(m *clusterv1.Machine) {
		m.Annotations = map[string]string{clusterv1.SkipReferenceValidationAnnotation: value}
	}
}

func deleting(m *clusterv1.Machine) {
	m.DeletionTimestamp, m.Finalizers = new(metav1.Now()), []string{"example.org/hold"}
}

func judged(ctx SpecContext, s scenario) {
	warning := s.field + ": " + s.text + " (" + s.rule + ")"
	Expect(utf8.RuneCountInString(warning)).To(BeNumerically("<=", maxWarning), "texts are made to be read whole")

	By("warning in mode warn")
	t := s.in(Warn)
	warns := t.Handle(ctx, s.request())
	Expect(warns.Allowed).To(BeTrue())
	Expect(warns.Warnings).To(ConsistOf(warning))
	Expect(t.counts(s.rule)).To(HaveKeyWithValue("warn", 1.0))

	By("denying in mode enforce, if the rule does")
	t = s.in(Enforce)
	enforces := t.Handle(ctx, s.request())
	Expect(enforces.Allowed).To(Equal(!s.denied))
	if s.denied {
		Expect(enforces.Result.Reason).To(Equal(metav1.StatusReasonInvalid))
		Expect(enforces.Result.Details.Causes).To(ConsistOf(SatisfyAll(
			HaveField("Field", s.field), HaveField("Message", HaveSuffix(s.text+" ("+s.rule+")")))))
		Expect(enforces.Warnings).To(BeEmpty())
		Expect(t.counts(s.rule)).To(HaveKeyWithValue("deny", 1.0))
	} else {
		Expect(enforces.Warnings).To(ConsistOf(warning))
	}

	By("answering a dry run in the same way")
	dry := s.request()
	dry.DryRun = new(true)
	Expect(s.in(Warn).Handle(ctx, dry)).To(Equal(warns))
	Expect(s.in(Enforce).Handle(ctx, dry)).To(Equal(enforces))

	By("saying nothing in mode off, to the manager, about a Machine that is deleted, and about an update of something else")
	own := s.request()
	own.UserInfo.Username = managerName
	for _, mode := range []Mode{Warn, Enforce} {
		Expect(s.in(Off).Handle(ctx, s.request())).To(allowSilently)
		Expect(s.in(mode).Handle(ctx, own)).To(allowSilently)
		Expect(s.in(mode).Handle(ctx, s.request(deleting))).To(allowSilently)
		Expect(s.in(mode).Handle(ctx, s.unchanged())).To(allowSilently)
	}

	By("exempting by annotation, and counting that")
	for _, exempt := range []string{s.rule, "R0, " + s.rule, "all"} {
		t := s.in(Enforce)
		Expect(t.Handle(ctx, s.request(annotated(exempt)))).To(allowSilently)
		Expect(t.counts(s.rule)).To(SatisfyAll(HaveLen(1), HaveKeyWithValue("skipped", BeNumerically(">=", 1))))
	}
	Expect(s.in(Enforce).Handle(ctx, s.request(annotated("R0")))).To(Equal(enforces))

	if s.pure {
		return
	}
	By("allowing what can't be looked up")
	t = s.failing(Enforce)
	Expect(t.Handle(ctx, s.request())).To(allowSilently)
	Expect(t.counts(s.rule)).To(HaveKeyWithValue("error", BeNumerically(">=", 1)))
	fails := s.failing(Warn).Handle(ctx, s.request())
	Expect(fails.Allowed).To(BeTrue())
	Expect(fails.Warnings).To(ContainElement(HaveSuffix(": could not be checked: the lookup failed; see the manager's log")))
	Expect(fails.Warnings).NotTo(ContainElement(ContainSubstring("secret")))
}

func problem(kind string, problem external.KindProblem) func(*world) {
	return func(w *world) { w.problems[kind] = problem }
}

func scoped(resource string, as scope) func(*world) {
	return func(w *world) { w.scopes[resource] = as }
}

// object lets an object exist.
func object(resource string, changes ...func(*metav1.PartialObjectMetadata)) func(*world) {
	return func(w *world) {
		o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m", Labels: map[string]string{clusterv1.ClusterNameLabel: "cluster"}}}
		for _, change := range changes {
			change(o)
		}
		w.objects[resource] = o
	}
}

func controlledBy(apiVersion, kind, name string) func(*metav1.PartialObjectMetadata) {
	return func(o *metav1.PartialObjectMetadata) {
		o.OwnerReferences = []metav1.OwnerReference{
			{APIVersion: "example.org/v1", Kind: "Backup", Name: "b"},
			{APIVersion: apiVersion, Kind: kind, Name: name, UID: "before", Controller: new(true)},
		}
	}
}

func worlds(changes ...func(*world)) func(*world) {
	return func(w *world) {
		for _, change := range changes {
			change(w)
		}
	}
}

func exists(names ...string) func(*world) { return func(w *world) { w.existing = names } }

func others(machines ...clusterv1.Machine) func(*world) {
	return func(w *world) { w.others = machines }
}

// other is a Machine that shares nothing with machine() but its Cluster.
func other(name string, changes ...func(*clusterv1.Machine)) clusterv1.Machine {
	m := machine()
	m.Name, m.UID, m.Spec.InfrastructureRef.Name, m.Spec.Bootstrap.ConfigRef.Name = name, "other", name, name
	for _, change := range changes {
		change(m)
	}
	return *m
}

func infraOf(name string) func(*clusterv1.Machine) {
	return func(m *clusterv1.Machine) { m.Spec.InfrastructureRef.Name = name }
}

func configOf(name string) func(*clusterv1.Machine) {
	return func(m *clusterv1.Machine) { m.Spec.Bootstrap.ConfigRef.Name = name }
}

func data(name string) func(*clusterv1.Machine) {
	return func(m *clusterv1.Machine) { m.Spec.Bootstrap.DataSecretName = &name }
}

func identified(id string) func(*clusterv1.Machine) {
	return func(m *clusterv1.Machine) { m.Spec.ProviderID = id }
}

func withoutConfig(m *clusterv1.Machine) {
	m.Spec.Bootstrap.ConfigRef = clusterv1.ContractVersionedObjectReference{}
}

func ofPool(m *clusterv1.Machine) { m.Labels[clusterv1.MachinePoolNameLabel] = "pool" }

func inDomain(m *clusterv1.Machine) { m.Spec.FailureDomain = "a" }

func controlPlane(m *clusterv1.Machine) { m.Labels[clusterv1.MachineControlPlaneLabel] = "" }

func wasProvisioned(m *clusterv1.Machine) {
	m.Status.Initialization.InfrastructureProvisioned = new(true)
}

func hasNode(m *clusterv1.Machine) { m.Status.NodeRef.Name = "node" }

func machines(changes ...func(*clusterv1.Machine)) func(*clusterv1.Machine) {
	return func(m *clusterv1.Machine) {
		for _, change := range changes {
			change(m)
		}
	}
}
