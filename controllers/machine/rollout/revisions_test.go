// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

func TestRollout(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Revisions")
}

type kv = map[string]string

func metadataOf(name string, labels, annotations kv) *object {
	return &object{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: labels, Annotations: annotations}, template: &Template{}}
}

func set(revision string) *object {
	return metadataOf("set", kv{clusterv1.MachineDeploymentNameLabel: "deployment"}, annotation(revision))
}

func deployment(revision string) *object {
	return metadataOf("deployment", nil, annotation(revision))
}

func annotation(revision string) kv {
	if revision == "" {
		return nil
	}
	return kv{clusterv1.RevisionAnnotation: revision}
}

// listed is a kind that has these objects; no argument is none, nil is a kind that is not installed.
func listed(objects ...*object) *kind {
	synced := make(chan struct{})
	close(synced)
	k := &kind{store: toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, indexers), synced: synced}
	for _, object := range objects {
		Expect(k.store.Add(object)).To(Succeed())
	}
	return k
}

func absent() *kind { return &kind{} }

// unlisted is a kind of which the list has not come yet; perhaps it never will.
func unlisted() *kind {
	return &kind{store: toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, indexers), synced: make(chan struct{})}
}

func owner(apiVersion, kind string) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: "set"}
}

var owned = []metav1.OwnerReference{owner("example.org/v1", "MachineSet"), owner("cluster.x-k8s.io/v1beta1", "MachineSet")}

var _ = DescribeTable("A Machine is outdated", func(owners []metav1.OwnerReference, sets, deployments func() *kind, expected *bool) {
	r := &Revisions{sets: sets(), deployments: deployments()}
	Expect(r.Outdated(&clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", OwnerReferences: owners}})).To(Equal(expected))
},
	Entry("F16: lower revision", owned, func() *kind { return listed(set("9")) }, func() *kind { return listed(deployment("10")) }, new(true)),
	Entry("F16: equal revisions", owned, func() *kind { return listed(set("10")) }, func() *kind { return listed(deployment("10")) }, new(false)),
	Entry("higher revision", owned, func() *kind { return listed(set("11")) }, func() *kind { return listed(deployment("10")) }, new(false)),
	Entry("no revision is 0: of the MachineSet", owned, func() *kind { return listed(set("")) }, func() *kind { return listed(deployment("1")) }, new(true)),
	Entry("no revision is 0: of the MachineDeployment", owned, func() *kind { return listed(set("1")) }, func() *kind { return listed(deployment("")) }, new(false)),
	Entry("F16: MachineSet gone", owned, func() *kind { return listed() }, func() *kind { return listed(deployment("1")) }, new(false)),
	Entry("MachineSet on its own", owned, func() *kind { return listed(metadataOf("set", nil, nil)) }, func() *kind { return listed(deployment("1")) }, new(false)),
	Entry("F16: MachineDeployment gone", owned, func() *kind { return listed(set("1")) }, func() *kind { return listed() }, new(false)),
	Entry("no owner", nil, absent, absent, new(false)),
	Entry("another owner", []metav1.OwnerReference{owner("example.org/v1", "MachineSet"), owner("cluster.x-k8s.io/v1beta2", "Cluster")}, absent, absent, new(false)),
	Entry("not known: MachineSets not installed", owned, absent, func() *kind { return listed(deployment("1")) }, nil),
	Entry("not known: MachineDeployments not installed", owned, func() *kind { return listed(set("1")) }, absent, nil),
	Entry("not known: MachineSets not listed", owned, unlisted, func() *kind { return listed(deployment("1")) }, nil),
	Entry("not known: MachineDeployments not listed", owned, func() *kind { return listed(set("1")) }, unlisted, nil),
)

var _ = DescribeTable("A revision that is no number is named", func(machineSet, above, object string) {
	r := &Revisions{sets: listed(set(machineSet)), deployments: listed(deployment(above))}
	outdated, err := r.Outdated(&clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", OwnerReferences: owned}})
	Expect(outdated).To(BeNil())
	Expect(err).To(MatchError("annotation machinedeployment.clusters.x-k8s.io/revision of " + object +
		` is "x", expected a decimal number: correct it, or the Node keeps or lacks the taint node.cluster.x-k8s.io/outdated-revision as it is`))
},
	Entry("of the MachineSet", "x", "1", "MachineSet ns/set"),
	Entry("of the MachineDeployment", "1", "x", "MachineDeployment ns/deployment"),
)

var _ = Describe("A kind", func() {
	var told []string
	watched := func(k *kind) *kind {
		k.changed = func(object metav1.Object) { told = append(told, object.GetName()) }
		return k
	}
	BeforeEach(func() { told = nil })

	It("tells of all objects when they have been listed, as nothing was known of them before", func(ctx SpecContext) {
		k := watched(listed(set("1"), metadataOf("other", nil, nil)))
		k.notifyOfAll(ctx, k.store, k.synced)
		Expect(told).To(ConsistOf("set", "other"))
	})

	It("tells of none when it ends before", func(ctx SpecContext) {
		k := watched(unlisted())
		Expect(k.store.Add(set("1"))).To(Succeed())
		ended, cancel := context.WithCancel(ctx)
		cancel()
		k.notifyOfAll(ended, k.store, k.synced)
		Expect(told).To(BeEmpty())
	})

	It("knows its objects by the MachineDeployment above them, and nothing once it is not installed any more", func() {
		k := listed(set("1"), metadataOf("other", kv{clusterv1.MachineDeploymentNameLabel: "another"}, nil), metadataOf("alone", nil, nil))
		Expect(k.labelled("ns", "deployment")).To(HaveExactElements(HaveField("Name", "set")))
		Expect(k.labelled("elsewhere", "deployment")).To(BeEmpty())
		k.stop()
		Expect(k.labelled("ns", "deployment")).To(BeEmpty())
		_, known := k.get("ns", "set")
		Expect(known).To(BeFalse())
	})
})
