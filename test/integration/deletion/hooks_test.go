// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/environment/suite"
	"github.com/machinist-dev/machinist/test/simulator"
)

const (
	backup   = clusterv1.PreDrainDeleteHookAnnotationPrefix + "/backup"
	migrate  = clusterv1.PreDrainDeleteHookAnnotationPrefix + "/migrate"
	etcd     = clusterv1.PreTerminateDeleteHookAnnotationPrefix + "/etcd"
	snapshot = clusterv1.PreTerminateDeleteHookAnnotationPrefix + "/snapshot"
)

// step is the v1beta1 condition of a step as status, and reason if it has one.
func step(m *clusterv1.Machine, conditionType clusterv1.ConditionType) string {
	for _, c := range m.GetV1Beta1Conditions() {
		if c.Type == conditionType {
			return string(c.Status) + " " + c.Reason
		}
	}
	return "none"
}

// expectUntouched makes sure that nothing has happened to the Machine's machine.
func (w *world) expectUntouched(ctx context.Context, name string) {
	GinkgoHelper()
	infra := w.object(simulator.SimMachine, name)
	Expect(k8s.Get(ctx, client.ObjectKeyFromObject(infra), infra)).To(Succeed())
	Expect(infra.GetDeletionTimestamp()).To(BeNil())
}

var _ = It("Hooks hold a deletion before the drain, and between drain and infrastructure", func(ctx SpecContext) {
	w := newWorld(ctx)
	w.run(ctx, "m", annotated(migrate), annotated(backup), annotated(snapshot), annotated(etcd))

	By("the pre-drain hooks, one after the other")
	w.delete(ctx, "m")
	w.eventuallyWaits(ctx, "m", "WaitingForPreDrainHook", "Waiting for pre-drain hooks to succeed (hooks: "+backup+","+migrate+")")
	w.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) {
		g.Expect(m.Status.Deletion.WaitForPreDrainHookStartTime.IsZero()).To(BeFalse())
		g.Expect(m.Status.Deletion.NodeDrainStartTime.IsZero()).To(BeTrue())
		g.Expect(step(m, "PreDrainDeleteHookSucceeded")).To(Equal("False WaitingExternalHook"))
	})
	w.annotate(ctx, "m", backup, nil)
	w.eventuallyWaits(ctx, "m", "WaitingForPreDrainHook", "Waiting for pre-drain hooks to succeed (hooks: "+migrate+")")
	Expect(w.node("m").Spec.Unschedulable).To(BeFalse())

	By("then the drain, then the pre-terminate hooks")
	w.annotate(ctx, "m", migrate, nil)
	w.eventuallyWaits(ctx, "m", "WaitingForPreTerminateHook", "Waiting for pre-terminate hooks to succeed (hooks: "+etcd+","+snapshot+")")
	Expect(w.node("m").Spec.Unschedulable).To(BeTrue())
	w.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) {
		g.Expect(m.Status.Deletion.NodeDrainStartTime.IsZero()).To(BeFalse())
		g.Expect(m.Status.Deletion.WaitForNodeVolumeDetachStartTime.IsZero()).To(BeFalse())
		g.Expect(m.Status.Deletion.WaitForPreTerminateHookStartTime.IsZero()).To(BeFalse())
		g.Expect(step(m, "PreDrainDeleteHookSucceeded")).To(Equal("True "))
		g.Expect(step(m, "DrainingSucceeded")).To(Equal("True "))
		g.Expect(step(m, "VolumeDetachSucceeded")).To(Equal("True "))
		g.Expect(step(m, "PreTerminateDeleteHookSucceeded")).To(Equal("False WaitingExternalHook"))
	})
	w.expectUntouched(ctx, "m")

	By("and from then on the Node is left alone")
	asked := w.asked("list", "pods")
	w.pod("m", "web")
	w.annotate(ctx, "m", etcd, nil)
	w.eventuallyWaits(ctx, "m", "WaitingForPreTerminateHook", "Waiting for pre-terminate hooks to succeed (hooks: "+snapshot+")")
	Expect(w.asked("list", "pods")).To(Equal(asked))
	w.expectUntouched(ctx, "m")
	w.annotate(ctx, "m", snapshot, nil)
	w.eventuallyGone(ctx, suite.EventuallyTimeout, "m")
	Expect(w.workload.Count(&corev1.Pod{})).To(Equal(1))
	Expect(w.workload.Count(&corev1.Node{})).To(Equal(1), "only the keeper's")
	Eventually(w.events).WithContext(ctx).WithArguments("m").Should(Equal(map[string]int{"SuccessfulDrainNode": 1, "NodeVolumesDetached": 1}))
})

var _ = It("While the Cluster is deleted only pre-terminate hooks hold its Machines, and no Node is touched", func(ctx SpecContext) {
	w := newWorld(ctx)
	w.run(ctx, "m", annotated(backup), annotated(etcd))
	w.run(ctx, "waiting", annotated(backup))
	w.pod("m", "web")
	w.delete(ctx, "waiting")
	w.eventuallyWaits(ctx, "waiting", "WaitingForPreDrainHook", ContainSubstring(backup))

	Expect(k8s.Delete(ctx, w.cluster)).To(Succeed()) // which deletes the Machines
	w.eventuallyGone(ctx, suite.EventuallyTimeout, "waiting")
	w.eventuallyGone(ctx, suite.EventuallyTimeout, keeper)
	w.eventuallyWaits(ctx, "m", "WaitingForPreTerminateHook", ContainSubstring(etcd))
	w.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) {
		g.Expect(m.Status.Deletion.NodeDrainStartTime.IsZero()).To(BeTrue())
	})
	w.expectUntouched(ctx, "m")
	Expect(w.node("m").Spec.Unschedulable).To(BeFalse())
	Expect(w.workload.Count(&corev1.Pod{})).To(Equal(1))
	Expect(w.workload.Count(&corev1.Node{})).To(Equal(3))
	w.annotate(ctx, "m", etcd, nil)
	w.eventuallyGone(ctx, suite.EventuallyTimeout, "m")
	Eventually(func() bool {
		return apierrors.IsNotFound(k8s.Get(ctx, client.ObjectKeyFromObject(w.cluster), w.cluster))
	}).WithContext(ctx).Should(BeTrue())
})

var _ = It("The last control plane Machine goes without a drain", func(ctx SpecContext) {
	w := newWorld(ctx)
	w.pod(keeper, "web")
	w.delete(ctx, keeper)
	w.eventuallyGone(ctx, suite.EventuallyTimeout, keeper)
	Expect(w.workload.Count(&corev1.Pod{})).To(Equal(1))
	Expect(w.asked("list", "pods")).To(BeZero())
	Expect(w.asked("delete", "nodes")).To(BeZero())
})

var _ = It("A hook that comes late holds what is left of the deletion", func(ctx SpecContext) {
	w := newWorld(ctx)
	w.run(ctx, "m")
	infra := w.object(simulator.SimMachine, "m")
	hold(ctx, infra)
	w.pod("m", "web")
	w.budget(0)

	By("a pre-drain hook: the drain that has begun")
	w.delete(ctx, "m")
	w.eventuallyWaits(ctx, "m", "DrainingNode", ContainSubstring("cannot evict pod"))
	w.annotate(ctx, "m", backup, "")
	w.eventuallyWaits(ctx, "m", "WaitingForPreDrainHook", ContainSubstring(backup))

	By("a pre-terminate hook: the machine, after the drain")
	w.annotate(ctx, "m", etcd, "")
	w.annotate(ctx, "m", noDrain, "")
	w.annotate(ctx, "m", backup, nil)
	w.eventuallyWaits(ctx, "m", "WaitingForPreTerminateHook", ContainSubstring(etcd))
	w.expectUntouched(ctx, "m")

	By("and the Machine, when its machine is going already")
	w.annotate(ctx, "m", etcd, nil)
	w.eventuallyWaits(ctx, "m", "WaitingForInfrastructureDeletion", Not(BeEmpty()))
	w.annotate(ctx, "m", snapshot, "")
	w.eventuallyWaits(ctx, "m", "WaitingForPreTerminateHook", ContainSubstring(snapshot))
	release(ctx, infra)
	Consistently(func(g Gomega) { g.Expect(w.get(ctx, g, "m").Finalizers).To(ContainElement(clusterv1.MachineFinalizer)) }).WithContext(ctx).Should(Succeed())
	w.annotate(ctx, "m", snapshot, nil)
	w.eventuallyGone(ctx, suite.EventuallyTimeout, "m")
})
