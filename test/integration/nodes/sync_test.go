// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

const (
	role          = "node-role.kubernetes.io/worker"
	pool          = "node.cluster.x-k8s.io/pool"
	interruptible = "cluster.x-k8s.io/interruptible"

	labelsFrom      = "cluster.x-k8s.io/labels-from-machine"
	annotationsFrom = "cluster.x-k8s.io/annotations-from-machine"
	taintsFrom      = "cluster.x-k8s.io/taints-from-machine"
)

func taint(key, value string, effect corev1.TaintEffect, propagation clusterv1.MachineTaintPropagation) clusterv1.MachineTaint {
	return clusterv1.MachineTaint{Key: key, Value: value, Effect: effect, Propagation: propagation}
}

// ask makes a Machine ask for something of everything.
func ask(m *clusterv1.Machine) {
	metav1.SetMetaDataLabel(&m.ObjectMeta, role, "")
	metav1.SetMetaDataLabel(&m.ObjectMeta, pool, "blue")
	metav1.SetMetaDataLabel(&m.ObjectMeta, "eu.node-restriction.kubernetes.io/team", "a")
	metav1.SetMetaDataLabel(&m.ObjectMeta, "example.net/size", "xl")
	metav1.SetMetaDataLabel(&m.ObjectMeta, "example.com/size", "xl")
	metav1.SetMetaDataAnnotation(&m.ObjectMeta, "node.cluster.x-k8s.io/note", "n")
	metav1.SetMetaDataAnnotation(&m.ObjectMeta, "example.org/rack", "r")
	metav1.SetMetaDataAnnotation(&m.ObjectMeta, "example.com/rack", "r")
	m.OwnerReferences = []metav1.OwnerReference{{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "MachineSet", Name: "blue", UID: "1", Controller: new(true)}}
	m.Spec.Taints = []clusterv1.MachineTaint{
		taint("dedicated", "gpu", corev1.TaintEffectNoSchedule, clusterv1.MachineTaintPropagationAlways),
		taint("warming-up", "", corev1.TaintEffectNoExecute, clusterv1.MachineTaintPropagationOnInitialization),
	}
}

var _ = It("A Node gets all that its Machine asks for, and loses the taint of uninitialized Nodes, in one patch", func(ctx SpecContext) {
	p := newPlace(ctx, ask)
	Expect(p.patches()).To(Equal(1))
	node := p.node()
	Expect(node.Labels).To(SatisfyAll(
		HaveKeyWithValue(role, ""), HaveKeyWithValue(pool, "blue"), HaveKeyWithValue("eu.node-restriction.kubernetes.io/team", "a"),
		HaveKeyWithValue("example.net/size", "xl"), Not(HaveKey("example.com/size")), Not(HaveKey(clusterv1.ClusterNameLabel)),
		HaveKeyWithValue(corev1.LabelHostname, name), // the kubelet's
	))
	Expect(node.Annotations).To(SatisfyAll(
		HaveKeyWithValue("node.cluster.x-k8s.io/note", "n"), HaveKeyWithValue("example.org/rack", "r"), Not(HaveKey("example.com/rack")),
		HaveKeyWithValue("cluster.x-k8s.io/cluster-name", "blue"), HaveKeyWithValue("cluster.x-k8s.io/cluster-namespace", p.namespace),
		HaveKeyWithValue("cluster.x-k8s.io/machine", name),
		HaveKeyWithValue("cluster.x-k8s.io/owner-kind", "MachineSet"), HaveKeyWithValue("cluster.x-k8s.io/owner-name", "blue"),
		HaveKeyWithValue(labelsFrom, "eu.node-restriction.kubernetes.io/team,example.net/size,"+role+","+pool),
		HaveKeyWithValue(annotationsFrom, "example.org/rack,node.cluster.x-k8s.io/note"),
		HaveKeyWithValue(taintsFrom, "dedicated:NoSchedule"),
		HaveKeyWithValue("node.alpha.kubernetes.io/ttl", "0"), // somebody's
	))
	Expect(node.Spec.Taints).To(ConsistOf(
		corev1.Taint{Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectNoSchedule},
		corev1.Taint{Key: "warming-up", Effect: corev1.TaintEffectNoExecute},
	))
	Expect(node.Status.Images).NotTo(BeEmpty(), "what the cache doesn't hold is still there")
})

var _ = It("Each change of a Machine is one patch of its Node, which takes off only what the Machine had set", func(ctx SpecContext) {
	p := newPlace(ctx, ask)
	p.change(func(n *corev1.Node) {
		n.Labels["node.cluster.x-k8s.io/theirs"], n.Annotations["example.org/theirs"] = "x", "x"
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "theirs", Effect: corev1.TaintEffectNoSchedule})
	})

	By("a label less")
	p.expectOnePatch(ctx, func() { p.patch(ctx, object{"metadata": object{"labels": object{pool: nil}}}) }, func(g Gomega, n *corev1.Node) {
		g.Expect(n.Labels).To(SatisfyAll(Not(HaveKey(pool)), HaveKey(role), HaveKeyWithValue("node.cluster.x-k8s.io/theirs", "x"), HaveKey(corev1.LabelHostname)))
		g.Expect(n.Annotations[labelsFrom]).NotTo(ContainSubstring(pool))
		g.Expect(n.Spec.Taints).To(ContainElement(HaveField("Key", "theirs")))
	})

	By("an annotation with another value, a label more, a taint less, all at once")
	p.expectOnePatch(ctx, func() {
		p.patch(ctx, object{
			"metadata": object{"labels": object{"example.org/new": "1"}, "annotations": object{"example.org/rack": "s"}},
			"spec":     object{"taints": nil},
		})
	}, func(g Gomega, n *corev1.Node) {
		g.Expect(n.Labels).To(HaveKeyWithValue("example.org/new", "1"))
		g.Expect(n.Annotations).To(SatisfyAll(HaveKeyWithValue("example.org/rack", "s"), HaveKeyWithValue("example.org/theirs", "x"), HaveKeyWithValue(taintsFrom, "")))
		g.Expect(n.Spec.Taints).To(ConsistOf(HaveField("Key", "theirs"), HaveField("Key", "warming-up")))
	})

	By("a change that is none of the Node's business")
	before := p.patches()
	p.patch(ctx, object{"metadata": object{"labels": object{"example.com/size": "xxl"}, "annotations": object{"example.com/rack": nil}}})
	Consistently(p.patches).WithContext(ctx).Should(Equal(before))

	By("another controller, and none")
	p.expectOnePatch(ctx, func() { p.patch(ctx, object{"metadata": object{"ownerReferences": []any{}}}) }, func(g Gomega, n *corev1.Node) {
		g.Expect(n.Annotations).To(SatisfyAll(Not(HaveKey("cluster.x-k8s.io/owner-kind")), Not(HaveKey("cluster.x-k8s.io/owner-name")), HaveKey("cluster.x-k8s.io/machine")))
	})
})

var _ = It("What somebody takes off the Node comes back; what somebody else adds stays and wakes nobody, nor do heartbeats", func(ctx SpecContext) {
	p := newPlace(ctx, ask)

	By("taking things off")
	p.expectOnePatch(ctx, func() {
		p.change(func(n *corev1.Node) {
			n.Labels[pool] = "red"
			delete(n.Annotations, "cluster.x-k8s.io/machine")
			n.Spec.Taints = nil
		})
	}, func(g Gomega, n *corev1.Node) {
		g.Expect(n.Labels).To(HaveKeyWithValue(pool, "blue"))
		g.Expect(n.Annotations).To(HaveKeyWithValue("cluster.x-k8s.io/machine", name))
		g.Expect(n.Spec.Taints).To(ConsistOf(HaveField("Key", "dedicated")), "what is set at initialization only doesn't come back")
	})

	By("adding things")
	expectQuiet(ctx, func() {
		p.change(func(n *corev1.Node) { n.Labels["example.org/theirs"] = "x" })
		p.change(func(n *corev1.Node) { n.Annotations["example.org/theirs"] = "x" })
		p.change(func(n *corev1.Node) {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "node.kubernetes.io/unschedulable", Effect: corev1.TaintEffectNoSchedule})
			n.Spec.Unschedulable = true
		})
	})

	By("a heartbeat")
	expectQuiet(ctx, func() {
		p.change(func(n *corev1.Node) {
			for i := range n.Status.Conditions {
				n.Status.Conditions[i].LastHeartbeatTime = metav1.Now()
			}
			n.Status.Images = n.Status.Images[1:]
		})
	})
	Expect(p.node().Labels).To(HaveKey("example.org/theirs"))
})

var _ = It("The Node of a server that may be taken away is labelled so for as long as the provider says so", func(ctx SpecContext) {
	p := newPlace(ctx, func(*clusterv1.Machine) {})
	Expect(p.node().Labels).NotTo(HaveKey(interruptible))
	p.expectOnePatch(ctx, func() { p.reportInterruptible(ctx, true) }, func(g Gomega, n *corev1.Node) {
		g.Expect(n.Labels).To(HaveKeyWithValue(interruptible, ""))
		g.Expect(n.Annotations).To(HaveKeyWithValue(labelsFrom, interruptible))
	})
	Eventually(func() []string { return p.notes(ctx, "SuccessfulSetInterruptibleNodeLabel") }).WithContext(ctx).Should(HaveExactElements(name))
	p.expectOnePatch(ctx, func() { p.reportInterruptible(ctx, false) }, func(g Gomega, n *corev1.Node) {
		g.Expect(n.Labels).NotTo(HaveKey(interruptible))
		g.Expect(n.Annotations).To(HaveKeyWithValue(labelsFrom, ""))
	})
})

var _ = It("A Machine that is being deleted still looks after its Node; a paused one does not", func(ctx SpecContext) {
	p := newPlace(ctx, func(m *clusterv1.Machine) { m.Finalizers = []string{"example.org/keep"} })
	p.patch(ctx, object{"metadata": object{"annotations": object{clusterv1.PausedAnnotation: ""}, "labels": object{role: ""}}})
	Consistently(p.patches).WithContext(ctx).Should(Equal(1))
	p.expectOnePatch(ctx, func() {
		p.patch(ctx, object{"metadata": object{"annotations": object{clusterv1.PausedAnnotation: nil}}})
	},
		func(g Gomega, n *corev1.Node) { g.Expect(n.Labels).To(HaveKey(role)) })
	Expect(k8s.Delete(ctx, p.machine(ctx))).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { p.patch(ctx, object{"metadata": object{"finalizers": nil}}) })
	p.expectOnePatch(ctx, func() { p.patch(ctx, object{"metadata": object{"labels": object{pool: "x"}}}) },
		func(g Gomega, n *corev1.Node) { g.Expect(n.Labels).To(HaveKeyWithValue(pool, "x")) })
})

var _ = It("A record of taints that can't be read is said in an event, and nothing else stands still", func(ctx SpecContext) {
	p := newPlace(ctx, ask)
	p.change(func(n *corev1.Node) { n.Annotations[taintsFrom] = "dedicated" })
	Eventually(func() []string { return p.notes(ctx, "FailedSyncNode") }).WithContext(ctx).Should(ContainElement(ContainSubstring(`invalid taint format: "dedicated"`)))
	p.expectOnePatch(ctx, func() {
		p.patch(ctx, object{"metadata": object{"labels": object{pool: "green"}}, "spec": object{"taints": nil}})
	},
		func(g Gomega, n *corev1.Node) {
			g.Expect(n.Labels).To(HaveKeyWithValue(pool, "green"))
			g.Expect(n.Spec.Taints).To(ContainElement(HaveField("Key", "dedicated")))
		})
	By("until somebody corrects it")
	p.expectOnePatch(ctx, func() { p.change(func(n *corev1.Node) { n.Annotations[taintsFrom] = "dedicated:NoSchedule" }) },
		func(g Gomega, n *corev1.Node) {
			g.Expect(n.Spec.Taints).NotTo(ContainElement(HaveField("Key", "dedicated")))
		})
})

var _ = It("A Machine names the Node that it can't take for its own because it has no provider ID", func(ctx SpecContext) {
	p := newEmptyPlace(ctx)
	text := func(message string) OmegaMatcher {
		return ContainElement(And(HaveField("Type", "NodeReady"), HaveField("Reason", "InspectionFailed"), HaveField("Message", message)))
	}
	conditions := func() []metav1.Condition { return p.machine(ctx).Status.Conditions }
	Expect(p.workload.Create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "of-somebody"}})).To(Succeed())
	p.addWithoutNode(ctx)
	Eventually(func() string { return p.machine(ctx).Spec.ProviderID }).WithContext(ctx).ShouldNot(BeEmpty())
	waiting := "Waiting for a Node with spec.providerID " + p.machine(ctx).Spec.ProviderID + " to exist"
	Eventually(conditions).WithContext(ctx).Should(text(waiting))
	Expect(p.workload.Create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})).To(Succeed())
	Eventually(conditions).WithContext(ctx).Should(text(waiting + "; Node " + name + " has no spec.providerID: kubelet or cloud provider has to set it"))
	p.expectOnePatch(ctx, func() { p.change(func(n *corev1.Node) { n.Spec.ProviderID = p.machine(ctx).Spec.ProviderID }) },
		func(g Gomega, n *corev1.Node) {
			g.Expect(n.Annotations).To(HaveKeyWithValue("cluster.x-k8s.io/machine", name))
		})
	Expect(p.machine(ctx).Status.NodeRef.Name).To(Equal(name))
})

var _ = It("Of two Nodes with one provider ID neither is touched, and the Machine names both", func(ctx SpecContext) {
	p := newPlace(ctx, ask)
	other := p.node()
	other.ObjectMeta = metav1.ObjectMeta{Name: "other"}
	before := p.patches()
	Expect(p.workload.Create(other)).To(Succeed())
	text := "unexpectedly found more than one Node matching the providerID " + other.Spec.ProviderID + ": " + name + " and other; delete the one that does not belong to the Machine"
	Eventually(func() []metav1.Condition { return p.machine(ctx).Status.Conditions }).WithContext(ctx).Should(ContainElement(SatisfyAll(
		HaveField("Type", "NodeReady"), HaveField("Status", metav1.ConditionUnknown), HaveField("Reason", "InternalError"), HaveField("Message", text))))
	Eventually(func() []string { return p.notes(ctx, "Failed to retrieve Node by ProviderID") }).WithContext(ctx).Should(HaveExactElements(text))
	p.patch(ctx, object{"metadata": object{"labels": object{pool: "green"}}})
	Consistently(p.patches).WithContext(ctx).Should(Equal(before))
	Expect(p.notes(ctx, "Failed to retrieve Node by ProviderID")).To(HaveLen(1))
	p.expectOnePatch(ctx, func() { Expect(p.workload.Delete(client.ObjectKey{Name: "other"}, other)).To(Succeed()) },
		func(g Gomega, n *corev1.Node) { g.Expect(n.Labels).To(HaveKeyWithValue(pool, "green")) })
})
