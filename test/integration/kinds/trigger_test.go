// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/manager"
	"github.com/machinist-dev/machinist/test/simulator/workload"
)

// quiet returns the number of reconciles when the last ones are over.
func quiet(ctx context.Context) int {
	GinkgoHelper()
	count := -1
	Eventually(func() bool {
		last := count
		count = manager.Reconciles()
		return last == count
	}).WithContext(ctx).WithPolling(quietTime).Should(BeTrue())
	return count
}

// quietTime is without a reconcile when nothing is left to do: longer than a status on the way to Running is put off.
const quietTime = 1200 * time.Millisecond

var _ = Describe("A settled Machine", Ordered, func() {
	var p *place
	var of kind

	BeforeAll(func(ctx SpecContext) {
		p = newPlace(ctx)
		of = p.kind("settled")
		of.install()
		startManager(p.namespace)
		p.server(ctx, of, "m")
		p.machine(ctx, of, "m")
		p.eventually(ctx, "m", haveCondition(clusterv1.MachineAvailableCondition, metav1.ConditionTrue))
		quiet(ctx)
	})

	DescribeTable("is not reconciled",
		func(ctx SpecContext, happen func(ctx context.Context, p *place, of kind, turn int)) {
			before := manager.Reconciles()
			for turn := range 3 {
				happen(ctx, p, of, turn)
			}
			Consistently(manager.Reconciles).WithContext(ctx).Should(Equal(before))
		},
		Entry("for what its InfraMachine reports outside the contract", func(ctx context.Context, p *place, of kind, turn int) {
			of.patch(ctx, p.namespace, "m", object{"status": object{"heartbeat": turn}}, "status")
			of.patch(ctx, p.namespace, "m", object{"spec": object{"size": turn}})
		}),
		Entry("for metadata of its InfraMachine outside the contract", func(ctx context.Context, p *place, of kind, turn int) {
			of.patch(ctx, p.namespace, "m", object{"metadata": object{
				"labels": object{"example.org/turn": string(rune('a' + turn))}, "annotations": object{"example.org/turn": string(rune('a' + turn))},
				"finalizers": []string{"example.org/" + string(rune('a'+turn))},
			}})
		}),
		Entry("for the heartbeats of its Node", func(_ context.Context, p *place, _ kind, _ int) {
			p.updateNode("m", func(node *corev1.Node) {
				for i := range node.Status.Conditions {
					node.Status.Conditions[i].LastHeartbeatTime = metav1.Now()
				}
			})
		}),
		Entry("for what its Node reports about images and volumes", func(_ context.Context, p *place, _ kind, turn int) {
			p.updateNode("m", func(node *corev1.Node) {
				node.Status.Images = append(node.Status.Images, corev1.ContainerImage{SizeBytes: int64(turn)})
				node.Status.VolumesInUse = append(node.Status.VolumesInUse, "v")
			})
		}),
		Entry("for changes of its Cluster that no Machine acts on", func(ctx context.Context, p *place, _ kind, turn int) {
			merge(ctx, p.cluster, object{"metadata": object{"labels": object{"example.org/turn": string(rune('a' + turn))}}})
			patchStatus(ctx, p.cluster, object{"phase": "Provisioned", "observedGeneration": turn + 1})
		}),
		Entry("for changes of the CRD that leave its contract as it is", func(ctx context.Context, _ *place, of kind, turn int) {
			merge(ctx, of.crd(), object{"metadata": object{"labels": object{"example.org/turn": string(rune('a' + turn))}}})
		}),
	)

	// The event of what a reconcile writes may overtake the answer to the request, and is taken for somebody else's then.
	onceOrTwice := func(before int) OmegaMatcher { return BeElementOf(before+1, before+2) }

	DescribeTable("is reconciled, and that is all",
		func(ctx SpecContext, happen func(ctx context.Context, p *place, of kind), shows OmegaMatcher) {
			before := quiet(ctx)
			happen(ctx, p, of)
			p.eventually(ctx, "m", shows)
			Expect(quiet(ctx)).To(onceOrTwice(before))
		},
		Entry("for what its InfraMachine reports within the contract",
			func(ctx context.Context, p *place, of kind) {
				of.patch(ctx, p.namespace, "m", object{"status": object{"conditions": []object{{"type": "Ready", "status": "False", "reason": "Rebooting", "message": "back in a minute"}}}}, "status")
			}, haveInfrastructureReady(metav1.ConditionFalse, "Rebooting", "back in a minute")),
		Entry("for a condition of its Node",
			func(_ context.Context, p *place, _ kind) {
				p.updateNode("m", func(node *corev1.Node) {
					node.Status.Conditions[1].Status, node.Status.Conditions[1].Message = corev1.ConditionTrue, "too many tabs"
				})
			}, haveCondition(clusterv1.MachineNodeHealthyCondition, metav1.ConditionFalse)),
	)

	It("gets its InfraMachine back at once when somebody removes the owner reference", func(ctx SpecContext) {
		before := quiet(ctx)
		of.patch(ctx, p.namespace, "m", object{"metadata": object{"ownerReferences": nil}})
		Eventually(of.get(ctx, p.namespace, "m")).WithContext(ctx).Should(HaveField("GetOwnerReferences()", ConsistOf(SatisfyAll(
			HaveField("Kind", "Machine"), HaveField("Name", "m"), HaveField("Controller", HaveValue(BeTrue()))))))
		Expect(quiet(ctx)).To(onceOrTwice(before))
	})

	It("finds an InfraMachine that is created after it, though nothing points from that to it", func(ctx SpecContext) {
		p.machine(ctx, of, "late")
		p.eventually(ctx, "late", haveInfrastructureReady(metav1.ConditionFalse, "ObjectDoesNotExist", "TestMachine does not exist"))
		of.create(ctx, p.namespace, "late", object{"spec": object{}})
		p.eventually(ctx, "late", haveInfrastructureReady(metav1.ConditionFalse, "NotReady", "TestMachine status.initialization.provisioned is false"))
		Expect(of.get(ctx, p.namespace, "late")(Default).GetOwnerReferences()).To(HaveLen(1))
	})
})

func (p *place) updateNode(name string, mutate func(*corev1.Node)) {
	GinkgoHelper()
	Expect(workload.Update(p.workload, types.NamespacedName{Name: name}, mutate)).To(Succeed())
}
