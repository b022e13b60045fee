// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package references

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers/external"
)

const machineAPI = "cluster.x-k8s.io/v1beta1"

// tabled are the rules that the table below has an entry for.
var tabled = map[string]bool{}

// covered is an entry of it.
func covered(text string, s scenario) TableEntry {
	GinkgoHelper()
	tabled[s.rule] = true
	return Entry(text, s)
}

var _ = DescribeTable("Each rule", judged,
	covered("R1", scenario{
		rule: "R1", world: problem("SimMachine", external.CRDMissing), denied: true,
		field: "spec.infrastructureRef.kind", text: "its kind is not installed: install the provider, or correct kind and apiGroup",
	}),
	covered("R1 of a config", scenario{
		rule: "R1", world: problem("SimConfig", external.CRDMissing), denied: true,
		field: "spec.bootstrap.configRef.kind", text: "its kind is not installed: install the provider, or correct kind and apiGroup",
	}),
	covered("R2", scenario{
		rule: "R2", world: problem("SimMachine", external.ContractUnknown), denied: true,
		field: "spec.infrastructureRef.kind", text: "its kind has no contract label: it is no kind of a provider",
	}),
	covered("R4", scenario{
		rule: "R4", world: scoped("simconfigs", notServed),
		field: "spec.bootstrap.configRef.kind", text: "the API version in its kind's contract label is not served",
	}),
	covered("R6", scenario{
		rule: "R6", denied: true,
		world: object("simmachines", func(o *metav1.PartialObjectMetadata) { o.Labels[clusterv1.ClusterNameLabel] = "red" }),
		field: "spec.infrastructureRef.name", text: "is labelled for another Cluster",
	}),
	covered("R6, to somebody who may know", scenario{
		rule: "R6", denied: true,
		world: worlds(func(w *world) { w.readable = true }, object("simconfigs", func(o *metav1.PartialObjectMetadata) { o.Labels[clusterv1.ClusterNameLabel] = "red" })),
		field: "spec.bootstrap.configRef.name", text: "is labelled for another Cluster: red",
	}),
	covered("R7", scenario{
		rule: "R7", world: worlds(object("simmachines", controlledBy(machineAPI, "Machine", "first")), exists("first")), denied: true,
		field: "spec.infrastructureRef.name", text: "is controlled by another Machine",
	}),
	covered("R7 of a config, on an update, to somebody who may know", scenario{
		rule: "R7", denied: true, before: configOf("before"),
		world: worlds(object("simconfigs", controlledBy(machineAPI, "Machine", "first")), exists("first"), func(w *world) { w.readable = true }),
		field: "spec.bootstrap.configRef.name", text: "is controlled by another Machine: first",
	}),
	covered("R7a", scenario{
		rule: "R7a", world: object("simmachines", controlledBy(machineAPI, "Machine", "first")),
		field: "spec.infrastructureRef.name", text: "is controlled by a Machine that is gone: remove its owner reference",
	}),
	covered("R7d", scenario{
		rule: "R7d", world: object("simmachines", controlledBy("example.org/v1", "Fleet", "f")), denied: true,
		field: "spec.infrastructureRef.name", text: "is controlled by an object that does not give way to a Machine",
	}),
	covered("R7d of a worker whose object belongs to the control plane, to somebody who may know", scenario{
		rule: "R7d", denied: true,
		world: worlds(object("simmachines", controlledBy("controlplane.cluster.x-k8s.io/v1", "SimControlPlane", "blue")), func(w *world) {
			w.readable = true
			w.cluster.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{APIGroup: "controlplane.cluster.x-k8s.io", Kind: "SimControlPlane", Name: "blue"}
		}),
		field: "spec.infrastructureRef.name", text: "is controlled by an object that does not give way to a Machine: SimControlPlane blue",
	}),
	covered("R8", scenario{
		rule: "R8", world: others(other("z", infraOf("m")), other("first", infraOf("m"))), denied: true,
		field: "spec.infrastructureRef.name", text: "is referenced by another Machine",
	}),
	covered("R8, to somebody who may know", scenario{
		rule: "R8", world: worlds(others(other("z", infraOf("m")), other("first", infraOf("m"))), func(w *world) { w.readable = true }), denied: true,
		field: "spec.infrastructureRef.name", text: "is referenced by another Machine: first",
	}),
	covered("R8b", scenario{
		rule: "R8b", world: others(other("first", configOf("m"))),
		field: "spec.bootstrap.configRef.name", text: "is referenced by another Machine",
	}),
	covered("R9", scenario{
		rule: "R9", before: machines(infraOf("before"), wasProvisioned), denied: true, pure: true,
		field: "spec.infrastructureRef", text: "is changed after provisioning: the object before, and its server, are left behind",
	}),
	covered("R9a", scenario{
		rule: "R9a", before: infraOf("before"), pure: true,
		field: "spec.infrastructureRef", text: "is changed: the object before is left behind",
	}),
	covered("R9b", scenario{
		rule: "R9b", before: machines(configOf("before"), data("d")), now: data("d"), pure: true,
		field: "spec.bootstrap.configRef", text: "is changed, but the bootstrap data is set already; the object before is left behind",
	}),
	covered("R10b", scenario{
		rule: "R10b", now: machines(withoutConfig, data("")), pure: true,
		field: "spec.bootstrap.dataSecretName", text: "is empty, and there is no configRef: the machine would wait for ever",
	}),
	covered("R10d", scenario{
		rule: "R10d", before: data("d"), now: machines(withoutConfig, data("d")), pure: true,
		field: "spec.bootstrap.configRef", text: "is removed: the object is left behind",
	}),
	covered("R10e", scenario{
		rule: "R10e", before: data("d"), now: data("e"), pure: true,
		field: "spec.bootstrap.dataSecretName", text: "is changed, but the machine may have booted with the data before",
	}),
	covered("R10e of a name that is removed", scenario{
		rule: "R10e", before: data("d"), pure: true,
		field: "spec.bootstrap.dataSecretName", text: "is changed, but the machine may have booted with the data before",
	}),
	covered("R13", scenario{
		rule: "R13", now: func(m *clusterv1.Machine) { m.Spec.InfrastructureRef.APIGroup = "bootstrap.example.org" }, pure: true,
		field: "spec.infrastructureRef.apiGroup", text: "looks like a group of bootstrap providers: are the references swapped?",
	}),
	covered("R13 of a config", scenario{
		rule: "R13", now: func(m *clusterv1.Machine) { m.Spec.Bootstrap.ConfigRef.APIGroup = "infrastructure.example.org" }, pure: true,
		field: "spec.bootstrap.configRef.apiGroup", text: "looks like a group of infrastructure providers: are the references swapped?",
	}),
	covered("R13a", scenario{
		rule: "R13a", denied: true, pure: true,
		now: func(m *clusterv1.Machine) {
			m.Spec.InfrastructureRef.APIGroup = "example.org"
			m.Spec.Bootstrap.ConfigRef = m.Spec.InfrastructureRef
		},
		field: "spec.bootstrap.configRef", text: "is the same object as infrastructureRef",
	}),
	covered("R14", scenario{
		rule: "R14", world: func(w *world) { w.missing = []string{"watch", "patch"} }, now: withoutConfigButData,
		field: "spec.infrastructureRef.kind", text: "the manager may not watch, patch it: a ClusterRole is missing",
	}),
	covered("R15", scenario{
		rule: "R15", world: func(w *world) { w.cluster = nil },
		field: "spec.clusterName", text: "there is no such Cluster yet: the Machine waits for it",
	}),
	covered("R15a", scenario{
		rule: "R15a", world: func(w *world) { w.cluster.DeletionTimestamp = new(metav1.Now()) },
		field: "spec.clusterName", text: "the Cluster is being deleted, and this Machine with it",
	}),
	covered("R16", scenario{
		rule: "R16", now: inDomain, before: func(*clusterv1.Machine) {},
		world: func(w *world) { w.cluster.Status.FailureDomains = []clusterv1.FailureDomain{{Name: "b"}} },
		field: "spec.failureDomain", text: "is not in status.failureDomains of the Cluster",
	}),
	covered("R17", scenario{
		rule: "R17", now: identified("sim:///1"), world: others(other("first", identified("sim:///1"))), denied: true,
		field: "spec.providerID", text: "is that of another Machine of the Cluster",
	}),
	covered("R17 on an update", scenario{
		rule: "R17", now: identified("sim:///1"), before: func(*clusterv1.Machine) {}, world: others(other("first", identified("sim:///1"))),
		field: "spec.providerID", text: "is that of another Machine of the Cluster",
	}),
	covered("R17a", scenario{
		rule: "R17a", now: identified("sim:///2"), before: machines(identified("sim:///1"), hasNode), pure: true,
		field: "spec.providerID", text: "is changed although the Machine has its Node: the controller sets it again",
	}),
	covered("R17a of one that is removed", scenario{
		rule: "R17a", before: machines(identified("sim:///1"), hasNode), pure: true,
		field: "spec.providerID", text: "is changed although the Machine has its Node: the controller sets it again",
	}),
	covered("R21", scenario{
		rule: "R21", world: scoped("simmachines", clusterScoped), denied: true,
		field: "spec.infrastructureRef.kind", text: "its kind is cluster-scoped: objects must be in the Machine's namespace",
	}),
	covered("R22", scenario{
		rule: "R22", world: object("simconfigs", func(o *metav1.PartialObjectMetadata) { o.DeletionTimestamp = new(metav1.Now()) }),
		field: "spec.bootstrap.configRef.name", text: "is being deleted",
	}),
)

var _ = It("Each rule has its entry in that table", func() {
	for _, r := range rules {
		Expect(tabled).To(HaveKey(r.id))
	}
})

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
