// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package nodesync

import (
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

var _ = DescribeTable("The taint of uninitialized Nodes and that of outdated ones", func(have []string, isOutdated *bool, expected []string) {
	want := Rules{}.Want(newMachine())
	want.OutdatedRevision = isOutdated
	desired := applied(nodeWith(nil, synced(), have...), want)
	Expect(texts(desired.Spec.Taints)).To(Equal(expected))
	Expect(Desired(desired, want)).To(BeNil())
},
	Entry("F10: the first is removed, others stay", []string{"a=1:NoExecute", uninitialized, "b:NoSchedule"}, nil, []string{"a=1:NoExecute", "b:NoSchedule"}),
	Entry("as the last one, too", []string{uninitialized}, nil, []string{}),
	Entry("key and effect count, not the value", []string{"node.cluster.x-k8s.io/uninitialized=true:NoSchedule"}, nil, []string{}),
	Entry("another effect is another taint", []string{"node.cluster.x-k8s.io/uninitialized:NoExecute"}, nil, []string{"node.cluster.x-k8s.io/uninitialized:NoExecute"}),
	Entry("F12: the second is added", []string{"a:NoSchedule"}, new(true), []string{"a:NoSchedule", outdated}),
	Entry("it is there once", []string{outdated}, new(true), []string{outdated}),
	Entry("F13: and removed", []string{outdated, "a:NoSchedule"}, new(false), []string{"a:NoSchedule"}),
	Entry("and left alone while nobody knows", []string{outdated}, nil, []string{outdated}),
	Entry("F11: nor added then", []string{"a:NoSchedule"}, nil, []string{"a:NoSchedule"}),
)

const noRecord = "no record" // of taints on the Node

var _ = DescribeTable("Taints of the Machine", func(machine []clusterv1.MachineTaint, have []string, record string, expected []string, expectedRecord string) {
	annotations := synced()
	if record != noRecord {
		annotations[taintsFrom] = record
	}
	rules, err := NewRules(nil, nil, true)
	Expect(err).NotTo(HaveOccurred())
	want := rules.Want(newMachine(func(m *clusterv1.Machine) { m.Spec.Taints = machine }))
	if record == expectedRecord && slices.Equal(have, expected) {
		expectSync(nodeWith(kv{}, annotations, have...), want, nil)
		return
	}
	expectSync(nodeWith(kv{}, annotations, have...), want, nodeWith(kv{}, synced(kv{taintsFrom: expectedRecord}), expected...))
},
	Entry("G01: none: the empty record is written", nil, []string{}, noRecord, []string{}, ""),
	Entry("G02: none, and the record is there", nil, []string{}, "", []string{}, ""),
	Entry("G03: a record of a taint that is nowhere is cleaned", nil, []string{}, "a:NoSchedule", []string{}, ""),
	Entry("G04: Always is added and tracked", always("a=1:NoSchedule"), []string{}, noRecord, []string{"a=1:NoSchedule"}, "a:NoSchedule"),
	Entry("G05: also after the first time", always("b:NoSchedule", "a=1:NoSchedule"), []string{"b:NoSchedule"}, "b:NoSchedule",
		[]string{"b:NoSchedule", "a=1:NoSchedule"}, "a:NoSchedule,b:NoSchedule"),
	Entry("G06: it comes back when somebody removes it", always("a=1:NoSchedule"), []string{}, "a:NoSchedule", []string{"a=1:NoSchedule"}, "a:NoSchedule"),
	Entry("nothing to do", always("a=1:NoSchedule"), []string{"a=1:NoSchedule"}, "a:NoSchedule", []string{"a=1:NoSchedule"}, "a:NoSchedule"),
	Entry("G07: off the Machine, off the Node", nil, []string{"a:NoSchedule", "b:NoSchedule"}, "a:NoSchedule", []string{"b:NoSchedule"}, ""),
	Entry("G08: OnInitialization is added the first time, and not tracked", once("a=1:NoSchedule"), []string{}, noRecord, []string{"a=1:NoSchedule"}, ""),
	Entry("G09: and not added later, if the record is there, empty or not", once("a=1:NoSchedule"), []string{}, "", []string{}, ""),
	Entry("G10: it stays when it is off the Machine", nil, []string{"a:NoSchedule"}, "", []string{"a:NoSchedule"}, ""),
	Entry("G11: Always, now OnInitialization: stays, not tracked any more", once("a:NoSchedule"), []string{"a:NoSchedule"}, "a:NoSchedule", []string{"a:NoSchedule"}, ""),
	Entry("G12: OnInitialization, now Always: stays, tracked", always("a:NoSchedule"), []string{"a:NoSchedule"}, "", []string{"a:NoSchedule"}, "a:NoSchedule"),
	Entry("G13: another value", always("a=2:NoSchedule"), []string{"a=1:NoSchedule"}, "a:NoSchedule", []string{"a=2:NoSchedule"}, "a:NoSchedule"),
	Entry("G14: another effect", always("a:NoExecute"), []string{"a:NoSchedule"}, "a:NoSchedule", []string{"a:NoExecute"}, "a:NoExecute"),
	Entry("G15: the first sync keeps what is there", append(always("a:NoSchedule"), once("b:NoExecute")...), []string{"x:NoSchedule", uninitialized, "y:NoExecute"}, noRecord,
		[]string{"x:NoSchedule", "y:NoExecute", "a:NoSchedule", "b:NoExecute"}, "a:NoSchedule"),
	Entry("G16: an identical one is adopted", always("a=1:NoSchedule"), []string{"a=1:NoSchedule"}, noRecord, []string{"a=1:NoSchedule"}, "a:NoSchedule"),
	Entry("G17: empty entries of the record do no harm", always("a:NoSchedule"), []string{"a:NoSchedule"}, ",,a:NoSchedule,", []string{"a:NoSchedule"}, "a:NoSchedule"),
	Entry("the taints with a meaning of their own can't be asked for", always(uninitialized, outdated), []string{uninitialized}, noRecord, []string{}, ""),
)

var _ = Describe("A record of taints that can't be read", func() {
	It("leaves the taints of the Machine alone and keeps nothing else from being synced", func() {
		rules, err := NewRules(nil, nil, true)
		Expect(err).NotTo(HaveOccurred())
		want := rules.Want(newMachine(withLabels(kv{role: ""}), func(m *clusterv1.Machine) { m.Spec.Taints = always("a:NoSchedule") }))
		for _, entry := range []string{"a", "a:b:c"} {
			record := "ok:NoSchedule," + entry
			desired, err := Desired(nodeWith(nil, kv{taintsFrom: record}, uninitialized, "ok:NoSchedule"), want)
			Expect(err).To(MatchError(`invalid taint format: "` + entry + `" in annotation cluster.x-k8s.io/taints-from-machine of Node n, expected key:effect: correct it, or the Node keeps its taints as they are`))
			Expect(desired.Labels).To(HaveKey(role))
			Expect(desired.Annotations).To(HaveKeyWithValue(taintsFrom, record))
			Expect(desired.Spec.Taints).To(Equal(nodeTaints("ok:NoSchedule")))
			again, err := Desired(desired, want)
			Expect(again).To(BeNil())
			Expect(err).To(HaveOccurred())
		}
	})
})

var _ = It("Without the feature, taints of the Machine are no business of ours, nor is their record", func() {
	want := Rules{}.Want(newMachine(func(m *clusterv1.Machine) { m.Spec.Taints = always("a:NoSchedule") }))
	Expect(Desired(nodeWith(nil, synced(), "b:NoSchedule"), want)).To(BeNil())
	Expect(Desired(nodeWith(nil, synced(kv{taintsFrom: "b:NoSchedule,broken"}), "b:NoSchedule"), want)).To(BeNil())
})

var _ = It("A taint keeps the time at which it was added when its value changes", func() {
	since := metav1.Now()
	node := nodeWith(nil, synced(kv{taintsFrom: "a:NoExecute"}))
	node.Spec.Taints = []corev1.Taint{{Key: "a", Value: "1", Effect: corev1.TaintEffectNoExecute, TimeAdded: &since}}
	rules, err := NewRules(nil, nil, true)
	Expect(err).NotTo(HaveOccurred())
	desired := applied(node, rules.Want(newMachine(func(m *clusterv1.Machine) { m.Spec.Taints = always("a=2:NoExecute") })))
	Expect(desired.Spec.Taints).To(HaveExactElements(corev1.Taint{Key: "a", Value: "2", Effect: corev1.TaintEffectNoExecute, TimeAdded: &since}))
})
