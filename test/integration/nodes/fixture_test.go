// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers"
	"github.com/machinist-dev/machinist/test/builder"
	"github.com/machinist-dev/machinist/test/environment/suite"
	"github.com/machinist-dev/machinist/test/manager"
	"github.com/machinist-dev/machinist/test/simulator"
	"github.com/machinist-dev/machinist/test/simulator/workload"
)

type (
	object = map[string]any
	kv     = map[string]string
)

// name is that of the one Machine of a place, of its provider objects and of its Node.
const name = "blue-worker-0"

// place is a namespace with one Cluster, its workload cluster and one Machine.
type place struct {
	namespace string
	workload  *workload.Cluster
}

// newPlace returns when the Machine has a Node and says so.
func newPlace(ctx context.Context, change func(m *clusterv1.Machine)) *place {
	GinkgoHelper()
	p := newEmptyPlace(ctx)
	p.add(ctx, change)
	p.running(ctx)
	return p
}

func newEmptyPlace(ctx context.Context) *place {
	GinkgoHelper()
	p := &place{namespace: suite.Namespace(ctx, env)}
	Expect(k8s.Create(ctx, builder.Cluster(p.namespace, "blue").Build())).To(Succeed())
	Eventually(func() bool {
		var found bool
		p.workload, found = sim.Workload().Cluster(types.NamespacedName{Namespace: p.namespace, Name: "blue"})
		return found
	}).WithContext(ctx).Should(BeTrue())
	return p
}

// add creates the Machine with its provider objects.
func (p *place) add(ctx context.Context, change func(m *clusterv1.Machine)) {
	GinkgoHelper()
	objects := simulator.Machines(builder.Cluster(p.namespace, "blue").Build(), 0, 1, simulator.Shape{PayloadSize: -1})
	change(objects[2].(*clusterv1.Machine))
	Expect(simulator.Create(ctx, k8s, 1, objects...)).To(Succeed())
}

// addWithoutNode creates a Machine whose server never becomes a Node.
func (p *place) addWithoutNode(ctx context.Context) {
	GinkgoHelper()
	shape := simulator.Shape{PayloadSize: -1, Annotations: kv{simulator.FaultAnnotation: string(simulator.NeverJoins)}}
	Expect(simulator.Create(ctx, k8s, 1, simulator.Machines(builder.Cluster(p.namespace, "blue").Build(), 0, 1, shape)...)).To(Succeed())
}

func (p *place) running(ctx context.Context) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		machine := p.machine(ctx)
		g.Expect(machine.Status.Phase).To(Equal("Running"))
		g.Expect(machine.Status.Conditions).To(ContainElement(And(HaveField("Type", "Available"), HaveField("Status", BeEquivalentTo("True")))))
	}).WithContext(ctx).Should(Succeed())
}

func (p *place) machine(ctx context.Context) *clusterv1.Machine {
	GinkgoHelper()
	machine := &clusterv1.Machine{}
	Expect(k8s.Get(ctx, types.NamespacedName{Namespace: p.namespace, Name: name}, machine)).To(Succeed())
	return machine
}

// patch changes the Machine.
func (p *place) patch(ctx context.Context, content object) {
	GinkgoHelper()
	Expect(k8s.Patch(ctx, builder.Machine(p.namespace, name).Build(), merge(content))).To(Succeed())
}

// reportInterruptible makes the provider say whether the server may be taken away.
func (p *place) reportInterruptible(ctx context.Context, interruptible bool) {
	GinkgoHelper()
	infra := &unstructured.Unstructured{}
	infra.SetGroupVersionKind(simulator.SimMachine.WithVersion(simulator.NewAPIVersion))
	infra.SetNamespace(p.namespace)
	infra.SetName(name)
	Expect(k8s.Status().Patch(ctx, infra, merge(object{"status": object{"interruptible": interruptible}}))).To(Succeed())
}

func merge(content object) client.Patch {
	GinkgoHelper()
	data, err := json.Marshal(content)
	Expect(err).NotTo(HaveOccurred())
	return client.RawPatch(types.MergePatchType, data)
}

func (p *place) node() *corev1.Node {
	GinkgoHelper()
	node := &corev1.Node{}
	Expect(p.workload.Get(types.NamespacedName{Name: name}, node)).To(Succeed())
	return node
}

// change is what somebody in the workload cluster does to the Node.
func (p *place) change(change func(node *corev1.Node)) {
	GinkgoHelper()
	Expect(workload.Update(p.workload, types.NamespacedName{Name: name}, change)).To(Succeed())
}

// patches are those that the manager has sent to the Nodes of the workload cluster; nothing else of its requests may write.
func (p *place) patches() int {
	GinkgoHelper()
	count := 0
	for request, n := range p.workload.Requests() {
		if request.UserAgent != controllers.UserAgent {
			continue
		}
		Expect(request.Verb).To(BeElementOf("get", "list", "watch", "patch"))
		if request.Verb == "patch" {
			Expect(request.Resource).To(Equal("nodes"))
			count += n
		}
	}
	return count
}

// expectOnePatch does something and waits for what has to come of it, by one patch and no more.
func (p *place) expectOnePatch(ctx context.Context, do func(), then func(g Gomega, node *corev1.Node)) {
	GinkgoHelper()
	before := p.patches()
	do()
	Eventually(func(g Gomega) { then(g, p.node()) }).WithContext(ctx).Should(Succeed())
	Consistently(p.patches).WithContext(ctx).Should(Equal(before + 1))
	then(Default, p.node())
}

// expectQuiet does something that must not make the manager reconcile any Machine.
func expectQuiet(ctx context.Context, do func()) {
	GinkgoHelper()
	var before int
	Eventually(func(g Gomega) { // what went before has ended
		before = manager.Reconciles()
		g.Consistently(manager.Reconciles).WithContext(ctx).Should(Equal(before))
	}).WithContext(ctx).Should(Succeed())
	do()
	Consistently(manager.Reconciles).WithContext(ctx).Should(Equal(before))
}

// notes returns what the events with the reason say about the Machine.
func (p *place) notes(ctx context.Context, reason string) []string {
	GinkgoHelper()
	events := &eventsv1.EventList{}
	Expect(k8s.List(ctx, events, client.InNamespace(p.namespace))).To(Succeed())
	var notes []string
	for _, event := range events.Items {
		if event.Reason == reason && event.Regarding.Name == name {
			notes = append(notes, event.Note)
		}
	}
	return notes
}
