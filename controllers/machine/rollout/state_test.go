// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/yaml"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

var (
	created = time.Date(2026, 8, 3, 12, 0, 0, 0, time.UTC)
	now     = created.Add(time.Hour)
)

func reference(kind, name string) clusterv1.ContractVersionedObjectReference {
	return clusterv1.ContractVersionedObjectReference{APIGroup: "group.example.org", Kind: kind, Name: name}
}

// same is a MachineDeployment whose template is that of the MachineSet.
func same() *State {
	template := Template{
		Version: "v1.36.0", Bootstrap: clusterv1.Bootstrap{ConfigRef: reference("SimConfigTemplate", "t")},
		InfrastructureRef: reference("SimMachineTemplate", "t"), FailureDomain: "a",
	}
	return &State{Current: template, Desired: template, Created: created}
}

// with changes it.
func with(changes ...func(s *State)) *State {
	s := same()
	for _, change := range changes {
		change(s)
	}
	return s
}

func newVersion(s *State) { s.Desired.Version = "v1.37.0" }

func secrets(current, desired *string) func(*State) {
	return func(s *State) {
		s.Current.Bootstrap = clusterv1.Bootstrap{DataSecretName: current}
		s.Desired.Bootstrap = clusterv1.Bootstrap{DataSecretName: desired}
	}
}

func after(t time.Time) func(*State) { return func(s *State) { s.After = t } }

var _ = DescribeTable("A MachineDeployment wants a Machine replaced because of", func(s *State, differences ...string) {
	Expect(s.Differences(now)).To(HaveExactElements(differences))
},
	Entry("nothing", with()),
	Entry("another version", with(newVersion), "Version v1.36.0, v1.37.0 required"),
	Entry("another bootstrap template", with(func(s *State) { s.Desired.Bootstrap.ConfigRef.Name = "u" }), "SimConfig is not up-to-date"),
	Entry("a data secret instead of a bootstrap template", with(func(s *State) { s.Desired.Bootstrap = clusterv1.Bootstrap{DataSecretName: new("d")} }), "SimConfig is not up-to-date"),
	Entry("a bootstrap template instead of a data secret", with(func(s *State) { s.Current.Bootstrap = clusterv1.Bootstrap{DataSecretName: new("d")} }), "spec.bootstrap.dataSecretName d, nil required"),
	Entry("another data secret", with(secrets(new("d"), new("e"))), "spec.bootstrap.dataSecretName d, e required"),
	Entry("a data secret at all", with(secrets(nil, new("e"))), "spec.bootstrap.dataSecretName nil, e required"),
	Entry("no data secret any more", with(secrets(new("d"), nil)), "spec.bootstrap.dataSecretName d, nil required"),
	Entry("nothing, with equal data secrets", with(secrets(new("d"), new("d")))),
	Entry("another infrastructure template", with(func(s *State) { s.Desired.InfrastructureRef.Name = "u" }), "SimMachine is not up-to-date"),
	Entry("an infrastructure template of another kind: that of the MachineSet is named", with(func(s *State) { s.Desired.InfrastructureRef.Kind = "OtherTemplate" }), "SimMachine is not up-to-date"),
	Entry("a kind that is called like no template", with(func(s *State) { s.Current.InfrastructureRef.Kind = "SimMachine" }), "SimMachine is not up-to-date"),
	Entry("another failure domain", with(func(s *State) { s.Desired.FailureDomain = "b" }), "Failure domain a, b required"),
	Entry("a time to come: not yet", with(after(now.Add(time.Second)))),
	Entry("a time that is now: not yet", with(after(now))),
	Entry("a time that has passed", with(after(now.Add(-time.Second))), "MachineDeployment spec.rolloutAfter expired"),
	Entry("a time at which the MachineSet was made: not", with(after(created))),
	Entry("a time before the MachineSet was made: not", with(after(created.Add(-time.Second)))),
	Entry("everything, in this order",
		with(newVersion, after(created.Add(time.Second)), func(s *State) {
			s.Desired.Bootstrap.ConfigRef.Name, s.Desired.InfrastructureRef.Name, s.Desired.FailureDomain = "u", "u", ""
		}),
		"Version v1.36.0, v1.37.0 required", "SimConfig is not up-to-date", "SimMachine is not up-to-date", "Failure domain a,  required", "MachineDeployment spec.rolloutAfter expired"),
)

var _ = DescribeTable("The next look is due", func(s *State, due time.Duration) {
	Expect(s.Due(now)).To(Equal(due))
	if due > 0 {
		Expect(s.Differences(now)).To(BeEmpty())
		Expect(s.Differences(now.Add(due))).NotTo(BeEmpty())
	}
},
	Entry("never", with(), time.Duration(0)),
	Entry("when the time has passed", with(after(now.Add(time.Minute))), time.Minute+time.Millisecond),
	Entry("at once, if it is now", with(after(now)), time.Millisecond),
	Entry("never, if it has passed", with(after(now.Add(-time.Minute))), time.Duration(0)),
	Entry("never, if the MachineSet is younger", with(after(created.Add(-time.Minute))), time.Duration(0)),
)

// sent is an object as the API server sends it.
func sent(text string) *unstructured.Unstructured {
	GinkgoHelper()
	u := &unstructured.Unstructured{}
	Expect(yaml.Unmarshal([]byte(text), &u.Object)).To(Succeed())
	return u
}

const metadata = `
metadata:
  namespace: ns
  name: set
  uid: u
  resourceVersion: "7"
  creationTimestamp: "2026-08-03T12:00:00Z"
  labels: {cluster.x-k8s.io/deployment-name: d, a: b}
  annotations: {machinedeployment.clusters.x-k8s.io/revision: "3", c: d}
  managedFields: [{manager: m}]`

var _ = Describe("Of an object is kept", func() {
	kept := func(template *Template, after time.Time) *object {
		return &object{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "ns", Name: "set", UID: "u", ResourceVersion: "7", CreationTimestamp: metav1.NewTime(created),
				Labels: kv{clusterv1.MachineDeploymentNameLabel: "d"}, Annotations: kv{clusterv1.RevisionAnnotation: "3"},
			},
			template: template, after: after,
		}
	}
	DescribeTable("what is read here", func(text string, expected *object) {
		transformed, err := keep(sent(text))
		Expect(err).NotTo(HaveOccurred())
		got, ok := transformed.(*object)
		Expect(ok).To(BeTrue())
		Expect(got.says(expected)).To(BeTrue(), "%v", got)
		Expect(got.CreationTimestamp.Equal(&expected.CreationTimestamp)).To(BeTrue())
		got.CreationTimestamp = expected.CreationTimestamp
		Expect(got.ObjectMeta).To(Equal(expected.ObjectMeta))
	},
		Entry("metadata", metadata, kept(&Template{}, time.Time{})),
		Entry("what a template says about the Machine", metadata+`
spec:
  replicas: 3
  template:
    metadata: {labels: {a: b}}
    spec:
      clusterName: c
      version: v1.36.0
      bootstrap: {configRef: {apiGroup: group.example.org, kind: SimConfigTemplate, name: t}}
      infrastructureRef: {apiGroup: group.example.org, kind: SimMachineTemplate, name: t}
      failureDomain: a
      readinessGates: [{conditionType: T}]`, kept(&same().Current, time.Time{})),
		Entry("when Machines are to be replaced", metadata+`
spec: {rollout: {after: "2026-08-03T12:00:00Z"}}`, kept(&Template{}, created)),
		Entry("no template if it can't be understood", metadata+`
spec: {template: {spec: {version: 7}}}`, kept(nil, time.Time{})),
		Entry("no template if there is no object where one should be", metadata+`
spec: none`, kept(nil, time.Time{})),
	)

	It("what was kept before, and a tombstone", func() {
		again := kept(nil, time.Time{})
		Expect(keep(again)).To(BeIdenticalTo(again))
		tombstone := toolscache.DeletedFinalStateUnknown{Key: "ns/set"}
		Expect(keep(tombstone)).To(Equal(tombstone))
	})

	DescribeTable("what says something else about Machines", func(differs bool, change func(o *object)) {
		other := kept(&same().Current, created)
		change(other)
		Expect(kept(&same().Current, created).says(other)).To(Equal(!differs))
	},
		Entry("nothing", false, func(*object) {}),
		Entry("a version of the object", false, func(o *object) { o.ResourceVersion = "8" }),
		Entry("another object", true, func(o *object) { o.UID = "v" }),
		Entry("a revision", true, func(o *object) { o.Annotations = nil }),
		Entry("a MachineDeployment", true, func(o *object) { o.Labels = nil }),
		Entry("a template", true, func(o *object) { o.template.Version = "" }),
		Entry("no template", true, func(o *object) { o.template = nil }),
		Entry("a time", true, func(o *object) { o.after = time.Time{} }),
	)
})

var _ = DescribeTable("What the MachineDeployment thinks of a Machine is known", func(sets, deployments func() *kind, known bool) {
	r := &Revisions{sets: sets(), deployments: deployments()}
	machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", OwnerReferences: owned}}
	if known {
		Expect(r.State(machine)).To(HaveValue(Equal(State{Created: created, Current: Template{Version: "v1"}, Desired: Template{Version: "v2"}, After: now})))
	} else {
		Expect(r.State(machine)).To(BeNil())
	}
	machine.OwnerReferences = nil
	Expect(r.State(machine)).To(BeNil(), "a Machine without MachineSet")
},
	Entry("if both are there", bothSets, bothDeployments, true),
	Entry("not if MachineSets have not been listed", unlisted, bothDeployments, false),
	Entry("not if MachineDeployments are not installed", bothSets, absent, false),
	Entry("not if the MachineSet is gone", func() *kind { return listed() }, bothDeployments, false),
	Entry("not if the MachineDeployment is gone", bothSets, func() *kind { return listed() }, false),
	Entry("not if the MachineSet is on its own", func() *kind { return listed(metadataOf("set", nil, nil)) }, bothDeployments, false),
	Entry("not if a template can't be understood", func() *kind { return listed(&object{ObjectMeta: set("1").ObjectMeta}) }, bothDeployments, false),
)

func bothSets() *kind {
	s := set("1")
	s.CreationTimestamp, s.template = metav1.NewTime(created), &Template{Version: "v1"}
	return listed(s)
}

func bothDeployments() *kind {
	d := deployment("1")
	d.template, d.after = &Template{Version: "v2"}, now
	return listed(d)
}
