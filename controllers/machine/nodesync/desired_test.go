// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package nodesync

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

const (
	labelsFrom      = "cluster.x-k8s.io/labels-from-machine"
	annotationsFrom = "cluster.x-k8s.io/annotations-from-machine"
	taintsFrom      = "cluster.x-k8s.io/taints-from-machine"
)

// synced are the annotations of a Node that was synced; more overrides them.
func synced(more ...kv) kv {
	return and(append([]kv{{labelsFrom: "", annotationsFrom: ""}}, more...)...)
}

func nodeWith(labels, annotations kv, taints ...string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: labels, Annotations: annotations},
		Spec:       corev1.NodeSpec{ProviderID: "sim:///1", Taints: nodeTaints(taints...)},
	}
}

// expectSync checks what comes out, that the given Node was not touched, and that there is nothing to do the second time.
func expectSync(node *corev1.Node, want Want, expected *corev1.Node) {
	GinkgoHelper()
	before := node.DeepCopy()
	desired, err := Desired(node, want)
	Expect(err).NotTo(HaveOccurred())
	Expect(node).To(Equal(before), "the Node of the cache is shared")
	if expected == nil {
		Expect(desired).To(BeNil())
		return
	}
	Expect(desired).NotTo(BeNil(), "something had to change")
	Expect(desired.Labels).To(Equal(expected.Labels))
	Expect(desired.Annotations).To(Equal(expected.Annotations))
	Expect(texts(desired.Spec.Taints)).To(Equal(texts(expected.Spec.Taints)))
	again, err := Desired(desired, want)
	Expect(err).NotTo(HaveOccurred())
	Expect(again).To(BeNil(), "the second time")
}

var _ = DescribeTable("Labels and annotations of a Node", func(node *corev1.Node, machine *clusterv1.Machine, expected *corev1.Node) {
	rules, err := NewRules([]string{"^example.org/"}, []string{"^example.org/"}, false)
	Expect(err).NotTo(HaveOccurred())
	expectSync(node, rules.Want(machine), expected)
},
	Entry("F02: nothing from the Machine: what is there stays, and the empty records are written",
		nodeWith(kv{"a": "1"}, kv{"b": "2"}), newMachine(), nodeWith(kv{"a": "1"}, synced(kv{"b": "2"}))),
	Entry("the second time nothing is left to do, also without a controller",
		nodeWith(kv{"a": "1"}, synced(kv{"b": "2"})), newMachine(), nil),
	Entry("F03: a new label is added and tracked",
		nodeWith(kv{"a": "1"}, synced()), newMachine(withLabels(kv{role: "", managed: "x"})),
		nodeWith(kv{"a": "1", role: "", managed: "x"}, synced(kv{labelsFrom: role + "," + managed}))),
	Entry("F04: a new annotation is added and tracked",
		nodeWith(nil, synced(kv{"b": "2"})), newMachine(withAnnotations(kv{managed: "x"})),
		nodeWith(kv{}, synced(kv{"b": "2", managed: "x", annotationsFrom: managed}))),
	Entry("F05: a label that is there already is tracked from now on",
		nodeWith(kv{role: ""}, synced()), newMachine(withLabels(kv{role: ""})),
		nodeWith(kv{role: ""}, synced(kv{labelsFrom: role}))),
	Entry("E14: the value of somebody else is overwritten",
		nodeWith(kv{managed: "theirs"}, nil), newMachine(withLabels(kv{managed: "ours"})),
		nodeWith(kv{managed: "ours"}, synced(kv{labelsFrom: managed}))),
	Entry("F06: a tracked label gets its new value",
		nodeWith(kv{managed: "old"}, synced(kv{labelsFrom: managed})), newMachine(withLabels(kv{managed: "new"})),
		nodeWith(kv{managed: "new"}, synced(kv{labelsFrom: managed}))),
	Entry("F07: a tracked label that the Machine has no more is removed, and only that",
		nodeWith(kv{managed: "x", restricted: "not ours", role: ""}, synced(kv{labelsFrom: role + "," + managed})), newMachine(withLabels(kv{role: ""})),
		nodeWith(kv{restricted: "not ours", role: ""}, synced(kv{labelsFrom: role}))),
	Entry("F08: where somebody has removed it already, the record is cleaned",
		nodeWith(kv{"a": "1"}, synced(kv{labelsFrom: managed})), newMachine(), nodeWith(kv{"a": "1"}, synced())),
	Entry("a label that somebody has taken off the Node comes back",
		nodeWith(kv{}, synced(kv{labelsFrom: managed})), newMachine(withLabels(kv{managed: "x"})),
		nodeWith(kv{managed: "x"}, synced(kv{labelsFrom: managed}))),
	Entry("F09, F14: where a Node comes from is not listed",
		nodeWith(nil, nil), newMachine(controlled),
		nodeWith(kv{}, synced(kv{"cluster.x-k8s.io/owner-kind": "MachineSet", "cluster.x-k8s.io/owner-name": "set"}))),
	Entry("the owner is removed when the Machine loses its controller",
		nodeWith(nil, synced(kv{"cluster.x-k8s.io/owner-kind": "MachineSet", "cluster.x-k8s.io/owner-name": "set"})), newMachine(),
		nodeWith(kv{}, synced())),
	Entry("F15: what an expression has matched is removed later",
		nodeWith(kv{"example.org/a": "1"}, synced(kv{"example.org/b": "2", labelsFrom: "example.org/a", annotationsFrom: "example.org/b"})), newMachine(),
		nodeWith(kv{}, synced())),
	Entry("a record that differs from the truth is corrected, even if nothing else changes",
		nodeWith(kv{role: ""}, synced(kv{labelsFrom: ",," + role + ","})), newMachine(withLabels(kv{role: ""})),
		nodeWith(kv{role: ""}, synced(kv{labelsFrom: role}))),
	Entry("a record that lists the records doesn't remove them",
		nodeWith(nil, synced(kv{taintsFrom: "a:NoSchedule", annotationsFrom: labelsFrom + "," + taintsFrom})), newMachine(),
		nodeWith(kv{}, synced(kv{taintsFrom: "a:NoSchedule"}))),
)

const spot = "cluster.x-k8s.io/interruptible"

var _ = DescribeTable("The label of Nodes that may be taken away", func(node *corev1.Node, interruptible *bool, expected *corev1.Node) {
	want := Rules{}.Want(newMachine())
	want.Interruptible = interruptible
	expectSync(node, want, expected)
},
	Entry("E16: is set", nodeWith(nil, synced()), new(true), nodeWith(kv{spot: ""}, synced(kv{labelsFrom: spot}))),
	Entry("E16: is removed", nodeWith(kv{spot: ""}, synced(kv{labelsFrom: spot})), new(false), nodeWith(kv{}, synced())),
	Entry("stays while nobody knows", nodeWith(kv{spot: ""}, synced(kv{labelsFrom: spot})), nil, nil),
	Entry("of somebody else stays, too", nodeWith(kv{spot: "mine"}, synced()), new(false), nil),
	Entry("of somebody else isn't ours while nobody knows", nodeWith(kv{spot: "mine"}, synced()), nil, nil),
	Entry("isn't set while nobody knows", nodeWith(nil, synced()), nil, nil),
	Entry("is not waited for while nobody knows, if somebody has removed it", nodeWith(kv{}, synced(kv{labelsFrom: spot})), nil, nodeWith(kv{}, synced())),
)
