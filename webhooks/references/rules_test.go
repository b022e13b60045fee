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

const machineAPI = "cluster.x-k8s.io/v1beta1"

var _ = DescribeTable("Each rule", judged,
	Entry("R1", scenario{
		rule: "R1", world: problem("SimMachine", external.CRDMissing), denied: true,
		field: "spec.infrastructureRef.kind", text: "its kind is not installed: install the provider, or correct kind and apiGroup",
	}),
	Entry("R1 of a config", scenario{
		rule: "R1", world: problem("SimConfig", external.CRDMissing), denied: true,
		field: "spec.bootstrap.configRef.kind", text: "its kind is not installed: install the provider, or correct kind and apiGroup",
	}),
	Entry("R2", scenario{
		rule: "R2", world: problem("SimMachine", external.ContractUnknown), denied: true,
		field: "spec.infrastructureRef.kind", text: "its kind has no contract label: it is no kind of a provider",
	}),
	Entry("R4", scenario{
		rule: "R4", world: scoped("simconfigs", notServed),
		field: "spec.bootstrap.configRef.kind", text: "the API version in its kind's contract label is not served",
	}),
	Entry("R6", scenario{
		rule: "R6", denied: true,
		world: object("simmachines", func(o *metav1.PartialObjectMetadata) { o.Labels[clusterv1.ClusterNameLabel] = "red" }),
		field: "spec.infrastructureRef.name", text: "is labelled for another Cluster",
	}),
	Entry("R6, to somebody who may know", scenario{
		rule: "R6", denied: true,
		world: worlds(func(w *world) { w.readable = true }, object("simconfigs", func(o *metav1.PartialObjectMetadata) { o.Labels[clusterv1.ClusterNameLabel] = "red" })),
		field: "spec.bootstrap.configRef.name", text: "is labelled for another Cluster: red",
	}),
	Entry("R7", scenario{
		rule: "R7", world: worlds(object("simmachines", controlledBy(machineAPI, "Machine", "first")), exists("first")), denied: true,
		field: "spec.infrastructureRef.name", text: "is controlled by another Machine",
	}),
	Entry("R7 of a config, on an update, to somebody who may know", scenario{
		rule: "R7", denied: true, before: configOf("before"),
		world: worlds(object("simconfigs", controlledBy(machineAPI, "Machine", "first")), exists("first"), func(w *world) { w.readable = true }),
		field: "spec.bootstrap.configRef.name", text: "is controlled by another Machine: first",
	}),
	Entry("R7a", scenario{
		rule: "R7a", world: object("simmachines", controlledBy(machineAPI, "Machine", "first")),
		field: "spec.infrastructureRef.name", text: "is controlled by a Machine that is gone: remove its owner reference",
	}),
	Entry("R7d", scenario{
		rule: "R7d", world: object("simmachines", controlledBy("example.org/v1", "Fleet", "f")), denied: true,
		field: "spec.infrastructureRef.name", text: "is controlled by an object that does not give way to a Machine",
	}),
	Entry("R7d of a worker whose object belongs to the control plane, to somebody who may know", scenario{
		rule: "R7d", denied: true,
		world: worlds(object("simmachines", controlledBy("controlplane.cluster.x-k8s.io/v1", "SimControlPlane", "blue")), func(w *world) {
			w.readable = true
			w.cluster.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{APIGroup: "controlplane.cluster.x-k8s.io", Kind: "SimControlPlane", Name: "blue"}
		}),
		field: "spec.infrastructureRef.name", text: "is controlled by an object that does not give way to a Machine: SimControlPlane blue",
	}),
	Entry("R8", scenario{
		rule: "R8", world: others(other("z", infraOf("m")), other("first", infraOf("m"))), denied: true,
		field: "spec.infrastructureRef.name", text: "is referenced by another Machine",
	}),
	Entry("R8, to somebody who may know", scenario{
		rule: "R8", world: worlds(others(other("z", infraOf("m")), other("first", infraOf("m"))), func(w *world) { w.readable = true }), denied: true,
		field: "spec.infrastructureRef.name", text: "is referenced by another Machine: first",
	}),
	Entry("R8b", scenario{
		rule: "R8b", world: others(other("first", configOf("m"))),
		field: "spec.bootstrap.configRef.name", text: "is referenced by another Machine",
	}),
	Entry("R9", scenario{
		rule: "R9", before: machines(infraOf("before"), wasProvisioned), denied: true, pure: true,
		field: "spec.infrastructureRef", text: "is changed after provisioning: the object before, and its server, are left behind",
	}),
	Entry("R9a", scenario{
		rule: "R9a", before: infraOf("before"), pure: true,
		field: "spec.infrastructureRef", text: "is changed: the object before is left behind",
	}),
	Entry("R9b", scenario{
		rule: "R9b", before: machines(configOf("before"), data("d")), now: data("d"), pure: true,
		field: "spec.bootstrap.configRef", text: "is changed, but the bootstrap data is set already; the object before is left behind",
	}),
	Entry("R10b", scenario{
		rule: "R10b", now: machines(withoutConfig, data("")), pure: true,
		field: "spec.bootstrap.dataSecretName", text: "is empty, and there is no configRef: the machine would wait for ever",
	}),
	Entry("R10d", scenario{
		rule: "R10d", before: data("d"), now: machines(withoutConfig, data("d")), pure: true,
		field: "spec.bootstrap.configRef", text: "is removed: the object is left behind",
	}),
	Entry("R10e", scenario{
		rule: "R10e", before: data("d"), now: data("e"), pure: true,
		field: "spec.bootstrap.dataSecretName", text: "is changed, but the machine may have booted with the data before",
	}),
	Entry("R10e of a name that is removed", scenario{
		rule: "R10e", before: data("d"), pure: true,
		field: "spec.bootstrap.dataSecretName", text: "is changed, but the machine may have booted with the data before",
	}),
	Entry("R13", scenario{
		rule: "R13", now: func(m *clusterv1.Machine) { m.Spec.InfrastructureRef.APIGroup = "bootstrap.example.org" }, pure: true,
		field: "spec.infrastructureRef.apiGroup", text: "looks like a group of bootstrap providers: are the references swapped?",
	}),
	Entry("R13 of a config", scenario{
		rule: "R13", now: func(m *clusterv1.Machine) { m.Spec.Bootstrap.ConfigRef.APIGroup = "infrastructure.example.org" }, pure: true,
		field: "spec.bootstrap.configRef.apiGroup", text: "looks like a group of infrastructure providers: are the references swapped?",
	}),
	Entry("R13a", scenario{
		rule: "R13a", denied: true, pure: true,
		now: func(m *clusterv1.Machine) {
			m.Spec.InfrastructureRef.APIGroup = "example.org"
			m.Spec.Bootstrap.ConfigRef = m.Spec.InfrastructureRef
		},
		field: "spec.bootstrap.configRef", text: "is the same object as infrastructureRef",
	}),
	Entry("R14", scenario{
		rule: "R14", world: func(w *world) { w.missing = []string{"watch", "patch"} }, now: withoutConfigButData,
		field: "spec.infrastructureRef.kind", text: "the manager may not watch, patch it: a ClusterRole is missing",
	}),
	Entry("R15", scenario{
		rule: "R15", world: func(w *world) { w.cluster = nil },
		field: "spec.clusterName", text: "there is no such Cluster yet: the Machine waits for it",
	}),
	Entry("R15a", scenario{
		rule: "R15a", world: func(w *world) { w.cluster.DeletionTimestamp = new(metav1.Now()) },
		field: "spec.clusterName", text: "the Cluster is being deleted, and this Machine with it",
	}),
	Entry("R16", scenario{
		rule: "R16", now: inDomain, before: func(*clusterv1.Machine) {},
		world: func(w *world) { w.cluster.Status.FailureDomains = []clusterv1.FailureDomain{{Name: "b"}} },
		field: "spec.failureDomain", text: "is not in status.failureDomains of the Cluster",
	}),
	Entry("R17", scenario{
		rule: "R17", now: identified("sim:///1"), world: others(other("first", identified("sim:///1"))), denied: true,
		field: "spec.providerID", text: "is that of another Machine of the Cluster",
	}),
	Entry("R17 on an update", scenario{
		rule: "R17", now: identified("sim:///1"), before: func(*clusterv1.Machine) {}, world: others(other("first", identified("sim:///1"))),
		field: "spec.providerID", text: "is that of another Machine of the Cluster",
	}),
	Entry("R17a", scenario{
		rule: "R17a", now: identified("sim:///2"), before: machines(identified("sim:///1"), hasNode), pure: true,
		field: "spec.providerID", text: "is changed although the Machine has its Node: the controller sets it again",
	}),
	Entry("R17a of one that is removed", scenario{
		rule: "R17a", before: machines(identified("sim:///1"), hasNode), pure: true,
		field: "spec.providerID", text: "is changed although the Machine has its Node: the controller sets it again",
	}),
	Entry("R21", scenario{
		rule: "R21", world: scoped("simmachines", clusterScoped), denied: true,
		field: "spec.infrastructureRef.kind", text: "its kind is cluster-scoped: objects must be in the Machine's namespace",
	}),
	Entry("R22", scenario{
		rule: "R22", world: object("simconfigs", func(o *metav1.PartialObjectMetadata) { o.DeletionTimestamp = new(metav1.Now()) }),
		field: "spec.bootstrap.configRef.name", text: "is being deleted",
	}),
)

func withoutConfigButData(m *clusterv1.Machine) {
	withoutConfig(m)
	data("d")(m)
}

var _ = DescribeTable("No rule finds anything about",
	func(ctx SpecContext, s scenario) {
		for _, mode := range []Mode{Warn, Enforce} {
			Expect(s.in(mode).Handle(ctx, s.request())).To(allowSilently)
		}
	},
	Entry("a Machine whose objects come later (R5)", scenario{}),
	Entry("a Machine whose objects are free", scenario{world: worlds(object("simmachines"), object("simconfigs"))}),
	Entry("objects without the label of any Cluster", scenario{world: object("simmachines", func(o *metav1.PartialObjectMetadata) { o.Labels = nil })}),
	Entry("a Machine that was created again, or restored (R7b, R10)", scenario{
		now:   machines(identified("sim:///m"), data("d")),
		world: worlds(object("simmachines", controlledBy(machineAPI, "Machine", "m")), object("simconfigs", controlledBy(machineAPI, "Machine", "m"))),
	}),
	Entry("objects that a MachineSet has made (R7c)", scenario{
		world: worlds(object("simmachines", controlledBy(machineAPI, "MachineSet", "set")), object("simconfigs", controlledBy(machineAPI, "MachineSet", "set"))),
	}),
	Entry("objects that the control plane has made (R7c)", scenario{
		now: controlPlane,
		world: worlds(object("simmachines", controlledBy("controlplane.cluster.x-k8s.io/v1", "SimControlPlane", "blue")), func(w *world) {
			w.cluster.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{APIGroup: "controlplane.cluster.x-k8s.io", Kind: "SimControlPlane", Name: "blue"}
		}),
	}),
	Entry("objects that a Machine shares with one that is being deleted", scenario{
		now: identified("sim:///1"), world: others(other("first", infraOf("m"), configOf("m"), identified("sim:///1"), deleting)),
	}),
	Entry("a providerID that exists in another Cluster", scenario{
		now:   identified("sim:///1"),
		world: others(other("first", identified("sim:///1"), func(m *clusterv1.Machine) { m.Spec.ClusterName = "red" })),
	}),
	Entry("a failure domain while the Cluster has none", scenario{now: inDomain}),
	Entry("a failure domain that the Cluster has", scenario{
		now: inDomain, world: func(w *world) { w.cluster.Status.FailureDomains = []clusterv1.FailureDomain{{Name: "b"}, {Name: "a"}} },
	}),
	Entry("a Machine of a MachinePool by its label", scenario{now: machines(withoutConfig, data(""), ofPool)}),
	Entry("a Machine of a MachinePool by its owner", scenario{now: machines(withoutConfig, data(""), func(m *clusterv1.Machine) {
		m.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.org/v1", Kind: "MachinePool", Name: "pool", UID: "pool"}}
	})}),
	Entry("a dataSecretName that is set", scenario{now: data("d"), before: func(*clusterv1.Machine) {}}),
	Entry("a configRef that is changed while there is no data", scenario{before: configOf("before")}),
	Entry("a providerID that is changed before there is a Node", scenario{now: identified("sim:///2"), before: identified("sim:///1")}),
)

var _ = It("A Machine that may be of the control plane of a Cluster that does not exist yet is not suspected", func(ctx SpecContext) {
	s := scenario{now: controlPlane, world: worlds(object("simmachines", controlledBy("controlplane.cluster.x-k8s.io/v1", "SimControlPlane", "blue")), func(w *world) { w.cluster = nil })}
	Expect(s.in(Enforce).Handle(ctx, s.request()).Warnings).To(ConsistOf(HaveSuffix("(R15)")))
})
