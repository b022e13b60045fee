// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers/status"
	"github.com/machinist-dev/machinist/test/environment/suite"
	"github.com/machinist-dev/machinist/test/simulator"
	"github.com/machinist-dev/machinist/test/simulator/workload"
)

const (
	budgetMessage = "Drain not completed yet (started at %s):\n" +
		"* Pod apps/web: cannot evict pod as it would violate the pod's disruption budget. The disruption budget web needs 1 healthy pods and has 1 currently"
	// The annotations by which users leave a step out.
	noDrain  = clusterv1.ExcludeNodeDrainingAnnotation
	noDetach = clusterv1.ExcludeWaitForNodeVolumeDetachAnnotation
)

// All wait for the next look at the same time, each with a Node of its own.
var _ = Describe("What a Node waits for", Ordered, func() {
	var w *world

	BeforeAll(func(ctx SpecContext) {
		w = newWorld(ctx)
		Expect(k8s.Create(ctx, &clusterv1.MachineDrainRule{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "jobs"},
			Spec: clusterv1.MachineDrainRuleSpec{
				Drain: clusterv1.MachineDrainRuleDrainConfig{Behavior: clusterv1.MachineDrainRuleDrainBehaviorWaitCompleted},
				Pods:  []clusterv1.MachineDrainRulePodSelector{{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "job"}}}},
			},
		})).To(Succeed())
		for _, name := range []string{"budget", "job", "slow", "volume", "other"} {
			w.run(ctx, name)
		}
		w.pod("budget", "web")
		w.budget(0)
		w.pod("job", "job")
		w.pod("slow", "slow", held)
		attach(w, "volume")
		for _, name := range []string{"budget", "job", "slow", "volume"} {
			w.delete(ctx, name)
		}
	})

	It("is a budget: the condition says which and whose", func(ctx SpecContext) {
		w.eventually(ctx, "budget", func(g Gomega, m *clusterv1.Machine) {
			reason, message := deletingOf(m)
			g.Expect(reason).To(Equal("DrainingNode"))
			g.Expect(m.Status.Deletion).NotTo(BeNil())
			started := m.Status.Deletion.NodeDrainStartTime.UTC().Format("2006-01-02T15:04:05Z")
			g.Expect(message).To(Equal(fmt.Sprintf(budgetMessage, started)))
			g.Expect(step(m, "DrainingSucceeded")).To(Equal("False Draining"))
			g.Expect(m.Status.Deletion.WaitForNodeVolumeDetachStartTime.IsZero()).To(BeTrue())
		})
		Expect(w.node("budget").Spec.Unschedulable).To(BeTrue())
	})

	It("is a Pod that a MachineDrainRule lets complete", func(ctx SpecContext) {
		w.eventuallyWaits(ctx, "job", "DrainingNode", HaveSuffix("\n* Pod apps/job: waiting for completion"))
	})

	It("is a Pod that takes its time", func(ctx SpecContext) {
		w.eventuallyWaits(ctx, "slow", "DrainingNode", HaveSuffix("\n* Pod apps/slow: deletionTimestamp set, but still not removed from the Node"))
	})

	It("is a volume, after the drain", func(ctx SpecContext) {
		w.eventuallyWaits(ctx, "volume", "WaitingForVolumeDetach",
			HaveSuffix("\n* Node with .status.volumesAttached entries not matching a PersistentVolume: kubernetes.io/csi/disk.example.com^vol-1"))
		w.eventually(ctx, "volume", func(g Gomega, m *clusterv1.Machine) {
			g.Expect(step(m, "DrainingSucceeded")).To(Equal("True "))
			g.Expect(step(m, "VolumeDetachSucceeded")).To(Equal("False WaitingForVolumeDetach"))
			g.Expect(m.Status.Deletion.WaitForNodeVolumeDetachStartTime.IsZero()).To(BeFalse())
		})
	})

	It("holds up no other Machine, although one is reconciled at a time", func(ctx SpecContext) {
		w.delete(ctx, "other")
		w.eventuallyGone(ctx, suite.EventuallyTimeout, "other")
		for _, name := range []string{"budget", "job", "slow", "volume"} {
			w.expectUntouched(ctx, name)
		}
	})

	It("is not asked for again by whatever else wakes the Machine", func(ctx SpecContext) {
		asked := w.asked("list", "pods")
		w.annotate(ctx, "budget", "example.com/poke", "1")
		w.updateNode("budget", func(node *corev1.Node) { node.Status.Conditions[0].Message = "woken" })
		Consistently(func() int { return w.asked("list", "pods") }).WithContext(ctx).Should(Equal(asked))
	})

	It("ends with the next look", func(ctx SpecContext) {
		w.budget(1)
		Expect(workload.Update(w.workload, keyOf("job"), func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodSucceeded })).To(Succeed())
		Expect(workload.Update(w.workload, keyOf("slow"), func(pod *corev1.Pod) { pod.Finalizers = nil })).To(Succeed())
		w.updateNode("volume", func(node *corev1.Node) { node.Status.VolumesAttached = nil })
		w.eventuallyGone(ctx, nextLook, "job")
		w.eventuallyGone(ctx, nextLook, "slow")
		w.eventuallyGone(ctx, nextLook, "volume")
		// The Pod is evicted by one look and known to be gone by the next.
		w.eventuallyGone(ctx, 2*nextLook, "budget")
		Expect(w.workload.Count(&corev1.Node{})).To(Equal(1), "only the keeper's")
		Eventually(w.events).WithContext(ctx).WithArguments("budget").Should(Equal(map[string]int{"SuccessfulDrainNode": 1, "NodeVolumesDetached": 1}))
		Expect(w.events(ctx, "volume")).To(Equal(map[string]int{"SuccessfulDrainNode": 1, "NodeVolumesDetached": 1}))
	})
})

var _ = Describe("A drain that users don't want to wait for", func() {
	It("ends with its timeout, and so does the wait for volumes", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.run(ctx, "m", limited(clusterv1.MachineDeletionSpec{NodeDrainTimeoutSeconds: new(int32(5)), NodeVolumeDetachTimeoutSeconds: new(int32(5))}))
		w.pod("m", "web")
		w.budget(0)
		attach(w, "m")
		w.delete(ctx, "m")
		w.eventuallyWaits(ctx, "m", "DrainingNode", ContainSubstring("* Pod apps/web: cannot evict pod"))
		w.eventuallyWaits(ctx, "m", "WaitingForVolumeDetach", ContainSubstring("vol-1"))
		w.eventuallyGone(ctx, suite.EventuallyTimeout, "m")
		Expect(w.workload.Count(&corev1.Pod{})).To(Equal(1))
	})

	It("ends at once with an annotation, which may come late", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.run(ctx, "m")
		w.pod("m", "web")
		w.budget(0)
		attach(w, "m")
		w.delete(ctx, "m")
		w.eventuallyWaits(ctx, "m", "DrainingNode", ContainSubstring("* Pod apps/web: cannot evict pod"))
		w.annotate(ctx, "m", noDrain, "")
		w.eventuallyWaits(ctx, "m", "WaitingForVolumeDetach", ContainSubstring("vol-1"))
		w.annotate(ctx, "m", noDetach, "")
		w.eventuallyGone(ctx, suite.EventuallyTimeout, "m")
		Expect(w.workload.Count(&corev1.Pod{})).To(Equal(1))
	})

	It("does not begin with an annotation that was there before", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.run(ctx, "m", annotated(noDrain), annotated(noDetach))
		w.pod("m", "web")
		attach(w, "m")
		w.delete(ctx, "m")
		w.eventuallyGone(ctx, suite.EventuallyTimeout, "m")
		Expect(w.workload.Count(&corev1.Pod{})).To(Equal(1))
		Expect(w.asked("list", "pods")).To(BeZero())
	})
})

var _ = It("Nobody waits for Pods and volumes of a Node whose kubelet is lost", func(ctx SpecContext) {
	w := newWorld(ctx)
	w.run(ctx, "m")
	w.pod("m", "gone", held)
	Expect(w.workload.Delete(keyOf("gone"), &corev1.Pod{})).To(Succeed())
	attach(w, "m")
	w.updateNode("m", func(node *corev1.Node) {
		for i := range node.Status.Conditions {
			node.Status.Conditions[i].Status = corev1.ConditionUnknown
		}
	})
	w.delete(ctx, "m")
	w.eventuallyGone(ctx, nextLook, "m")
})

var _ = It("A workload cluster that does not answer holds a deletion up to its timeouts", func(ctx SpecContext) {
	w := newWorld(ctx)
	w.run(ctx, "m", limited(clusterv1.MachineDeletionSpec{
		NodeDrainTimeoutSeconds: new(int32(5)), NodeVolumeDetachTimeoutSeconds: new(int32(5)), NodeDeletionTimeoutSeconds: new(int32(5)),
	}))
	w.workload.TakeDown(workload.Refused)
	w.delete(ctx, "m")
	w.eventuallyWaits(ctx, "m", "DrainingNode", ContainSubstring("The drain met an error and is tried again: failed to drain Node m: "))
	w.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) {
		g.Expect(step(m, "DrainingSucceeded")).To(Equal("False DrainingFailed"))
	})
	w.eventuallyWaits(ctx, "m", "WaitingForVolumeDetach", ContainSubstring("The wait for volumes met an error and is tried again: "))
	w.eventuallyGone(ctx, suite.EventuallyTimeout, "m")
	Eventually(w.events).WithContext(ctx).WithArguments("m").Should(And(HaveKey("FailedDrainNode"), HaveKey("FailedWaitForVolumeDetach"), HaveKey("FailedDeleteNode")))
	w.workload.BringUp()
	Expect(w.workload.Count(&corev1.Node{})).To(Equal(2), "nobody could delete it")
})

var _ = It("A Node that can't be deleted is tried again until the time for that is over, and for ever without one", func(ctx SpecContext) {
	w := newWorld(ctx)
	w.run(ctx, "patient", limited(clusterv1.MachineDeletionSpec{NodeDeletionTimeoutSeconds: new(int32(0))}))
	w.run(ctx, "hasty", limited(clusterv1.MachineDeletionSpec{NodeDeletionTimeoutSeconds: new(int32(3))}))
	w.workload.Forbid(func(r workload.Request) bool { return r.Verb == "delete" && r.Resource == "nodes" })
	w.delete(ctx, "patient")
	w.eventuallyWaits(ctx, "patient", "DeletingNode", HavePrefix("Error deleting Node patient: "))
	w.delete(ctx, "hasty")
	w.eventuallyGone(ctx, suite.EventuallyTimeout, "hasty")
	w.eventuallyWaits(ctx, "patient", "DeletingNode", HavePrefix("Error deleting Node patient: "))
	w.workload.Forbid(nil)
	w.eventuallyGone(ctx, suite.EventuallyTimeout, "patient")
	Expect(w.workload.Count(&corev1.Node{})).To(Equal(2), "the keeper's, and the one that was given up")
})

var _ = It("A Node that was never recorded is drained and deleted if it has the provider ID", func(ctx SpecContext) {
	w := newWorld(ctx)
	w.run(ctx, "m")
	w.pod("m", "web")
	w.annotate(ctx, "m", clusterv1.PausedAnnotation, "")
	w.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) {
		g.Expect(status.IsTrue(m.Status.Conditions, clusterv1.PausedCondition)).To(BeTrue())
	})
	Expect(k8s.Status().Patch(ctx, w.machine("m"), merge(map[string]any{"status": map[string]any{"nodeRef": nil}}))).To(Succeed())
	w.delete(ctx, "m")
	w.annotate(ctx, "m", clusterv1.PausedAnnotation, nil)
	// The Pod is evicted by one look and known to be gone by the next.
	w.eventuallyGone(ctx, 2*nextLook, "m")
	Expect(w.workload.Count(&corev1.Pod{})).To(BeZero())
	Expect(w.workload.Count(&corev1.Node{})).To(Equal(1), "only the keeper's")
})

var _ = It("The finalizer goes when the InfraMachine and then the BootstrapConfig are really gone", func(ctx SpecContext) {
	w := newWorld(ctx)
	w.run(ctx, "m")
	infra, config := w.object(simulator.SimMachine, "m"), w.object(simulator.SimConfig, "m")
	for _, object := range []*unstructured.Unstructured{infra, config} {
		hold(ctx, object)
	}
	w.delete(ctx, "m")
	w.eventuallyWaits(ctx, "m", "WaitingForInfrastructureDeletion", "Waiting for SimMachine to be deleted")
	Consistently(func(g Gomega) { g.Expect(w.get(ctx, g, "m").Finalizers).To(ContainElement(clusterv1.MachineFinalizer)) }).WithContext(ctx).Should(Succeed())
	Expect(read(ctx, config).GetDeletionTimestamp()).To(BeNil())
	release(ctx, infra)
	w.eventuallyWaits(ctx, "m", "WaitingForBootstrapDeletion", "Waiting for SimConfig to be deleted")
	Consistently(func(g Gomega) { g.Expect(w.get(ctx, g, "m").Finalizers).To(ContainElement(clusterv1.MachineFinalizer)) }).WithContext(ctx).Should(Succeed())
	Expect(w.workload.Count(&corev1.Node{})).To(Equal(2))
	release(ctx, config)
	w.eventuallyGone(ctx, suite.EventuallyTimeout, "m")
	Expect(w.workload.Count(&corev1.Node{})).To(Equal(1))
})

// hold gives an object a finalizer beside that of the simulator.
func hold(ctx context.Context, object *unstructured.Unstructured) {
	GinkgoHelper()
	object = read(ctx, object)
	Expect(k8s.Patch(ctx, object, merge(map[string]any{"metadata": map[string]any{"finalizers": append(object.GetFinalizers(), patience)}}))).To(Succeed())
}

func release(ctx context.Context, object *unstructured.Unstructured) {
	GinkgoHelper()
	Eventually(func() []string { return read(ctx, object).GetFinalizers() }).WithContext(ctx).Should(Equal([]string{patience}))
	Expect(k8s.Patch(ctx, object, merge(map[string]any{"metadata": map[string]any{"finalizers": nil}}))).To(Succeed())
}

func read(ctx context.Context, object *unstructured.Unstructured) *unstructured.Unstructured {
	GinkgoHelper()
	Expect(k8s.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
	return object
}

func attach(w *world, node string) {
	GinkgoHelper()
	w.updateNode(node, func(node *corev1.Node) {
		node.Status.VolumesAttached = []corev1.AttachedVolume{{Name: "kubernetes.io/csi/disk.example.com^vol-1"}}
	})
}
