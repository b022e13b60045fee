// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion

import (
	"context"
	"encoding/json"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/builder"
	"github.com/machinist-dev/machinist/test/environment/suite"
	"github.com/machinist-dev/machinist/test/simulator"
	"github.com/machinist-dev/machinist/test/simulator/workload"
)

// world is a Cluster in a namespace of its own, with one control plane Machine that stays, so that the Nodes of the others
// are worth draining and deleting.
type world struct {
	namespace string
	cluster   *clusterv1.Cluster
	workload  *workload.Cluster
}

// keeper is the name of the control plane Machine.
const keeper = "keeper"

func newWorld(ctx context.Context) *world {
	GinkgoHelper()
	w := &world{namespace: suite.Namespace(ctx, env)}
	w.cluster = builder.Cluster(w.namespace, "cluster").Build()
	Expect(k8s.Create(ctx, w.cluster)).To(Succeed())
	w.run(ctx, keeper, builder.MachineBuilder.WithControlPlane)
	var ok bool
	w.workload, ok = sim.Workload().Cluster(client.ObjectKeyFromObject(w.cluster))
	Expect(ok).To(BeTrue())
	return w
}

// change is something that a spec wants a Machine to have.
type change = func(builder.MachineBuilder) builder.MachineBuilder

func annotated(key string) change {
	return func(b builder.MachineBuilder) builder.MachineBuilder { return b.WithAnnotation(key, "") }
}

func limited(limits clusterv1.MachineDeletionSpec) change {
	return func(b builder.MachineBuilder) builder.MachineBuilder {
		return b.With(func(m *clusterv1.Machine) { m.Spec.Deletion = limits })
	}
}

// machine builds a Machine for the narrow manager.
func (w *world) machine(name string, changes ...change) *clusterv1.Machine {
	b := builder.Machine(w.namespace, name).WithLabel(clusterv1.WatchLabel, narrow)
	for _, change := range changes {
		b = change(b)
	}
	return b.Build()
}

// run creates a Machine with its objects, and returns when it has its Node, which has the Machine's name.
func (w *world) run(ctx context.Context, name string, changes ...change) {
	GinkgoHelper()
	for _, object := range []client.Object{w.object(simulator.SimConfig, name), w.object(simulator.SimMachine, name), w.machine(name, changes...)} {
		Expect(k8s.Create(ctx, object)).To(Succeed())
	}
	w.eventually(ctx, name, func(g Gomega, m *clusterv1.Machine) { g.Expect(m.Status.NodeRef.Name).To(Equal(name)) })
}

func (w *world) object(kind schema.GroupKind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind.WithVersion(simulator.NewAPIVersion))
	u.SetNamespace(w.namespace)
	u.SetName(name)
	return u
}

// get returns nil if there is no such Machine.
func (w *world) get(ctx context.Context, g Gomega, name string) *clusterv1.Machine {
	m := &clusterv1.Machine{}
	err := k8s.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: name}, m)
	if apierrors.IsNotFound(err) {
		return nil
	}
	g.Expect(err).NotTo(HaveOccurred())
	return m
}

// eventually polls the Machine until the assertions hold.
func (w *world) eventually(ctx context.Context, name string, assert func(g Gomega, m *clusterv1.Machine)) {
	GinkgoHelper()
	w.eventuallyWithin(ctx, suite.EventuallyTimeout, name, assert)
}

func (w *world) eventuallyWithin(ctx context.Context, timeout time.Duration, name string, assert func(g Gomega, m *clusterv1.Machine)) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		m := w.get(ctx, g, name)
		g.Expect(m).NotTo(BeNil(), "Machine %s is gone", name)
		assert(g, m)
	}).WithContext(ctx).WithTimeout(timeout).Should(Succeed())
}

// eventuallyWaits polls until the condition Deleting has the reason, and a message that matches.
func (w *world) eventuallyWaits(ctx context.Context, name, reason string, message any) {
	GinkgoHelper()
	w.eventually(ctx, name, func(g Gomega, m *clusterv1.Machine) {
		foundReason, foundMessage := deletingOf(m)
		g.Expect(foundReason).To(Equal(reason), foundMessage)
		if matcher, ok := message.(gomegatypes.GomegaMatcher); ok {
			g.Expect(foundMessage).To(matcher)
		} else {
			g.Expect(foundMessage).To(Equal(message))
		}
	})
}

// eventuallyGone polls until Machine, InfraMachine, BootstrapConfig and Node are gone.
func (w *world) eventuallyGone(ctx context.Context, timeout time.Duration, name string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		if m := w.get(ctx, g, name); m != nil {
			reason, message := deletingOf(m)
			g.Expect(m).To(BeNil(), "%s: %s", reason, message)
		}
	}).WithContext(ctx).WithTimeout(timeout).Should(Succeed())
	for _, kind := range []schema.GroupKind{simulator.SimMachine, simulator.SimConfig} {
		object := w.object(kind, name)
		Expect(apierrors.IsNotFound(k8s.Get(ctx, client.ObjectKeyFromObject(object), object))).To(BeTrue(), "%s is left behind", kind)
	}
}

func (w *world) delete(ctx context.Context, name string) {
	GinkgoHelper()
	Expect(k8s.Delete(ctx, w.machine(name))).To(Succeed())
}

// annotate sets an annotation of a Machine, or takes it off if the value is nil.
func (w *world) annotate(ctx context.Context, name, key string, value any) {
	GinkgoHelper()
	Expect(k8s.Patch(ctx, w.machine(name), merge(map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: value}}}))).To(Succeed())
}

func merge(content map[string]any) client.Patch {
	GinkgoHelper()
	data, err := json.Marshal(content)
	Expect(err).NotTo(HaveOccurred())
	return client.RawPatch(types.MergePatchType, data)
}

// events counts the events about a Machine by their reasons; those about its provisioning are left out.
func (w *world) events(ctx context.Context, name string) map[string]int {
	GinkgoHelper()
	list := &eventsv1.EventList{}
	Expect(k8s.List(ctx, list, client.InNamespace(w.namespace))).To(Succeed())
	counts := map[string]int{}
	for _, event := range list.Items {
		if event.Regarding.Name != name || event.Reason == "SuccessfulSetNodeRef" {
			continue
		}
		counts[event.Reason]++
		if event.Series != nil {
			counts[event.Reason] += int(event.Series.Count)
		}
	}
	return counts
}

// pod runs a Pod of an app in the namespace "apps" of the workload cluster.
func (w *world) pod(node, app string, changes ...func(*corev1.Pod)) {
	GinkgoHelper()
	changes = append(changes, func(pod *corev1.Pod) { pod.Labels = map[string]string{"app": app} })
	Expect(w.workload.RunPod(keyOf(app), node, changes...)).To(Succeed())
}

// patience is a finalizer of somebody else.
const patience = "example.com/patience"

// held makes a Pod take its time to go, as it does on a Node that runs it.
func held(pod *corev1.Pod) { pod.Finalizers = []string{patience} }

func keyOf(app string) types.NamespacedName {
	return types.NamespacedName{Namespace: "apps", Name: app}
}

// budget lets so many Pods of the app "web" be evicted.
func (w *world) budget(allowed int32) {
	GinkgoHelper()
	Expect(w.workload.SetBudget(keyOf("web"), map[string]string{"app": "web"}, allowed)).To(Succeed())
}

func (w *world) node(name string) *corev1.Node {
	GinkgoHelper()
	node := &corev1.Node{}
	Expect(w.workload.Get(types.NamespacedName{Name: name}, node)).To(Succeed())
	return node
}

func (w *world) updateNode(name string, mutate func(*corev1.Node)) {
	GinkgoHelper()
	Expect(workload.Update(w.workload, types.NamespacedName{Name: name}, mutate)).To(Succeed())
}

// asked counts the requests that the workload cluster got for a resource.
func (w *world) asked(verb, resource string) int {
	count := 0
	for request, n := range w.workload.Requests() {
		if request.Verb == verb && request.Resource == resource {
			count += n
		}
	}
	return count
}
