// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package nodesync

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// Few keys, so that a Node, its records and its Machine often have the same.
var (
	anyKey = rapid.SampledFrom([]string{
		role, managed, restricted, spot, "sub." + managed, "example.org/a", "kubernetes.io/hostname", labelsFrom, annotationsFrom, taintsFrom,
		"cluster.x-k8s.io/machine", "cluster.x-k8s.io/owner-kind", "cluster.x-k8s.io/cluster-name",
	})
	anyMap    = rapid.MapOf(anyKey, rapid.SampledFrom([]string{"", "1", "2", role, managed + "," + spot}))
	anyTaint  = rapid.SampledFrom([]string{uninitialized, outdated, "a=1:NoSchedule", "a=2:NoSchedule", "a:NoExecute", "b:NoSchedule", "c:NoExecute"})
	anyTaints = rapid.SliceOfNDistinct(anyTaint, 0, 5, func(text string) string {
		taint := nodeTaints(text)[0]
		return taintID(taint.Key, taint.Effect)
	})
	anyRecord = rapid.Map(rapid.SliceOf(rapid.OneOf(anyKey, rapid.Just(""))), func(keys []string) string { return strings.Join(keys, ",") })
	// Taints are recorded without their values.
	anyTaintRecord = rapid.Map(rapid.SliceOf(rapid.SampledFrom([]string{"", uninitialized, outdated, "a:NoSchedule", "a:NoExecute", "b:NoSchedule", "broken"})),
		func(ids []string) string { return strings.Join(ids, ",") })

	anyNode = rapid.Custom(func(t *rapid.T) *corev1.Node {
		node := nodeWith(anyMap.Draw(t, "labels"), anyMap.Draw(t, "annotations"), anyTaints.Draw(t, "taints")...)
		for annotation, record := range map[string]*rapid.Generator[string]{labelsFrom: anyRecord, annotationsFrom: anyRecord, taintsFrom: anyTaintRecord} {
			delete(node.Annotations, annotation)
			if rapid.Bool().Draw(t, "has "+annotation) {
				node.Annotations[annotation] = record.Draw(t, annotation)
			}
		}
		return node
	})
	anyWant = rapid.Custom(func(t *rapid.T) Want {
		expressions := rapid.SliceOf(rapid.SampledFrom([]string{"example", "kubernetes", ".*"}))
		rules, err := NewRules(expressions.Draw(t, "label rules"), expressions.Draw(t, "annotation rules"), rapid.Bool().Draw(t, "taint rule"))
		if err != nil {
			t.Fatal(err)
		}
		machine := newMachine(withLabels(anyMap.Draw(t, "Machine labels")), withAnnotations(anyMap.Draw(t, "Machine annotations")))
		if rapid.Bool().Draw(t, "controlled") {
			controlled(machine)
		}
		machine.Spec.Taints = machineTaints(clusterv1.MachineTaintPropagationAlways, anyTaints.Draw(t, "Machine taints"))
		for i := range machine.Spec.Taints {
			if rapid.Bool().Draw(t, "once") {
				machine.Spec.Taints[i].Propagation = clusterv1.MachineTaintPropagationOnInitialization
			}
		}
		want := rules.Want(machine)
		flag := rapid.SampledFrom([]*bool{nil, new(true), new(false)})
		want.Interruptible, want.OutdatedRevision = flag.Draw(t, "interruptible"), flag.Draw(t, "outdated")
		return want
	})
)

// after is the Node when the patch has been applied.
func after(node *corev1.Node, want Want) *corev1.Node {
	if desired, _ := Desired(node, want); desired != nil { // a broken record is one of the cases
		return desired
	}
	return node
}

func ids(taints []corev1.Taint) []string {
	all := make([]string, 0, len(taints))
	for _, t := range taints {
		all = append(all, taintID(t.Key, t.Effect))
	}
	return all
}

var _ = Describe("Whatever a Node, its records and its Machine hold", func() {
	It("one patch brings the Node there", func() {
		rapid.Check(GinkgoT(), func(t *rapid.T) {
			want := anyWant.Draw(t, "want")
			again, _ := Desired(after(anyNode.Draw(t, "node"), want), want)
			NewWithT(t).Expect(again).To(BeNil())
		})
	})

	It("nothing is removed that was not set here, and nothing changed that isn't asked for", func() {
		rapid.Check(GinkgoT(), func(t *rapid.T) {
			g := NewWithT(t)
			node, want := anyNode.Draw(t, "node"), anyWant.Draw(t, "want")
			now := after(node, want)
			wanted := maps.Clone(want.labels)
			if want.Interruptible != nil && *want.Interruptible {
				wanted[spot] = ""
			}
			unchanged(g, node.Labels, now.Labels, slices.Concat(listed(node, labelsFrom), slices.Collect(maps.Keys(wanted))))
			unchanged(g, node.Annotations, now.Annotations, slices.Concat(listed(node, annotationsFrom), bookkeeping, slices.Collect(maps.Keys(want.annotations))))
			free := slices.Concat(listed(node, taintsFrom), []string{uninitialized, outdated})
			if !want.propagateTaints {
				free = []string{uninitialized, outdated}
			}
			for _, taint := range want.taints {
				free = append(free, taintID(taint.Key, taint.Effect))
			}
			for _, taint := range node.Spec.Taints {
				if !slices.Contains(free, taintID(taint.Key, taint.Effect)) {
					g.Expect(now.Spec.Taints).To(ContainElement(taint))
				}
			}
			now.Labels, now.Annotations, now.Spec.Taints = node.Labels, node.Annotations, node.Spec.Taints
			g.Expect(now).To(Equal(node), "the rest of the Node")
		})
	})

	It("all that is asked for is there, under keys that are there once", func() {
		rapid.Check(GinkgoT(), func(t *rapid.T) {
			g := NewWithT(t)
			node, want := anyNode.Draw(t, "node"), anyWant.Draw(t, "want")
			now := after(node, want)
			for key, value := range want.labels {
				if key != spot {
					g.Expect(now.Labels).To(HaveKeyWithValue(key, value))
				}
				g.Expect(listed(now, labelsFrom)).To(ContainElement(key))
			}
			for key, value := range want.annotations {
				g.Expect(now.Annotations).To(HaveKeyWithValue(key, value))
			}
			g.Expect(ids(now.Spec.Taints)).NotTo(ContainElement(uninitialized))
			g.Expect(slices.Compact(slices.Sorted(slices.Values(ids(now.Spec.Taints))))).To(HaveLen(len(now.Spec.Taints)))
			g.Expect(listed(now, annotationsFrom)).NotTo(ContainElement(BeElementOf(bookkeeping)))
		})
	})

	It("a change that Same doesn't tell apart leaves a Node that was as desired so", func() {
		seen := 0
		rapid.Check(GinkgoT(), func(t *rapid.T) {
			want := anyWant.Draw(t, "want")
			settled := after(anyNode.Draw(t, "node"), want)
			changed := settled.DeepCopy()
			other := anyNode.Draw(t, "other")
			switch rapid.IntRange(0, 4).Draw(t, "change") {
			case 0:
				changed.Labels = other.Labels
			case 1:
				changed.Annotations = other.Annotations
			case 2:
				changed.Spec.Taints = other.Spec.Taints
			case 3:
				changed.Labels = merge(changed.Labels, other.Labels)
			default:
				key := anyKey.Draw(t, "key")
				changed.Labels = merge(changed.Labels, kv{key: "changed"})
			}
			if !Same(settled, changed) {
				return
			}
			seen++
			NewWithT(t).Expect(after(changed, want)).To(Equal(changed))
		})
		Expect(seen).To(BeNumerically(">", 0))
		AddReportEntry(fmt.Sprintf("%d changes were not told apart", seen))
	})
})

func merge(a, b kv) kv {
	all := maps.Clone(a)
	if all == nil {
		all = kv{}
	}
	maps.Copy(all, b)
	return all
}

// unchanged checks everything but some keys.
func unchanged(g Gomega, before, now kv, but []string) {
	ours := func(key, _ string) bool { return slices.Contains(but, key) }
	before, now = merge(before, nil), merge(now, nil)
	maps.DeleteFunc(before, ours)
	maps.DeleteFunc(now, ours)
	g.Expect(now).To(Equal(before))
}

var _ = DescribeTable("Changes of a Node that a Machine need know of", func(change func(*corev1.Node), same bool) {
	before := nodeWith(kv{role: "", "kubernetes.io/hostname": "n"},
		synced(kv{labelsFrom: role, annotationsFrom: managed, managed: "x", taintsFrom: "a:NoSchedule", "example.org/b": "1"}), "a=1:NoSchedule", "b:NoSchedule")
	now := before.DeepCopy()
	change(now)
	Expect(Same(before, now)).To(Equal(same))
	Expect(Same(now, before)).To(Equal(same))
},
	Entry("none", func(*corev1.Node) {}, true),
	Entry("a heartbeat", func(n *corev1.Node) { n.ResourceVersion = "2" }, true),
	Entry("somebody's label", func(n *corev1.Node) { n.Labels["kubernetes.io/hostname"] = "m" }, true),
	Entry("somebody's label, where the Machine could have one, too", func(n *corev1.Node) { n.Labels[restricted] = "m" }, true),
	Entry("somebody's annotation", func(n *corev1.Node) { n.Annotations["example.org/b"] = "2" }, true),
	Entry("somebody's taint", func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, nodeTaints("node.kubernetes.io/not-ready:NoExecute")...)
	}, true),
	Entry("somebody's taint is gone", func(n *corev1.Node) { n.Spec.Taints = n.Spec.Taints[:1] }, true),
	Entry("our label is gone", func(n *corev1.Node) { delete(n.Labels, role) }, false),
	Entry("our label has another value", func(n *corev1.Node) { n.Labels[role] = "x" }, false),
	Entry("our annotation is gone", func(n *corev1.Node) { delete(n.Annotations, managed) }, false),
	Entry("where it comes from is another place", func(n *corev1.Node) { n.Annotations["cluster.x-k8s.io/machine"] = "x" }, false),
	Entry("somebody claims an owner", func(n *corev1.Node) { n.Annotations["cluster.x-k8s.io/owner-kind"] = "x" }, false),
	Entry("a record has changed", func(n *corev1.Node) { n.Annotations[labelsFrom] = "" }, false),
	Entry("a record is gone", func(n *corev1.Node) { delete(n.Annotations, taintsFrom) }, false),
	Entry("our taint is gone", func(n *corev1.Node) { n.Spec.Taints = n.Spec.Taints[1:] }, false),
	Entry("our taint has another value", func(n *corev1.Node) { n.Spec.Taints[0].Value = "2" }, false),
	Entry("the Node is uninitialized again", func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, nodeTaints(uninitialized)...) }, false),
	Entry("the Node is outdated", func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, nodeTaints(outdated)...) }, false),
)
