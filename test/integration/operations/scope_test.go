// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"bytes"
	"runtime/pprof"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers"
	"github.com/machinist-dev/machinist/test/builder"
	"github.com/machinist-dev/machinist/test/environment"
	"github.com/machinist-dev/machinist/test/environment/suite"
	"github.com/machinist-dev/machinist/test/manager"
	"github.com/machinist-dev/machinist/test/simulator"
	"github.com/machinist-dev/machinist/test/simulator/workload"
)

// connectionsToWorkload is how many connections to workload clusters the managers of this process have.
func connectionsToWorkload() int {
	GinkgoHelper()
	var stacks bytes.Buffer
	Expect(pprof.Lookup("goroutine").WriteTo(&stacks, 2)).To(Succeed())
	return bytes.Count(stacks.Bytes(), []byte("workload.(*connection).run("))
}

// touching matches the writes that name an object.
func touching(name string) func(call) bool {
	return func(c call) bool { return isWrite(c) && strings.Contains(c.Path+"/", "/"+name+"/") }
}

var _ = Describe("Managers that look after some Machines only", func() {
	It("share a Cluster by the watch filter, and hand a Machine over with its label", func(ctx SpecContext) {
		w := newWorld(ctx)
		filter := func(value string) func(*controllers.Options) {
			return func(o *controllers.Options) { o.WatchFilter = value }
		}
		red, green := run(ctx, w.namespace, filter("red")), run(ctx, w.namespace, filter("green"))
		w.cluster(ctx, "red", 1, labelled("red"))
		w.cluster(ctx, "green", 1, labelled("green"))
		w.cluster(ctx, "other", 1, labelled("blue"))
		ofRed, ofGreen, ofOther := worker("red", 0), worker("green", 0), worker("other", 0)
		for _, name := range []string{ofRed, ofGreen} {
			Eventually(func(g Gomega) { g.Expect(*w.machine(ctx, g, name)).To(beRunning()) }).WithContext(ctx).Should(Succeed())
		}
		Expect(red.since(0, touching(ofGreen))).To(BeEmpty())
		Expect(green.since(0, touching(ofRed))).To(BeEmpty())

		By("leaving alone what neither is asked to look after")
		untouched := func(g Gomega) {
			m := w.machine(ctx, g, ofOther)
			g.Expect(m.Finalizers).To(BeEmpty())
			g.Expect(m.Status.Conditions).To(BeEmpty())
		}
		Consistently(untouched).WithContext(ctx).Should(Succeed())
		Expect(append(red.since(0, touching(ofOther)), green.since(0, touching(ofOther))...)).To(BeEmpty())

		By("not connecting to a Cluster that has none of its Machines")
		Expect(red.since(0, func(c call) bool { return strings.Contains(c.Path, "green-kubeconfig") })).To(BeEmpty())
		Expect(append(red.leases(), green.leases()...)).To(BeEmpty(), "nobody asked for an election")

		By("handing over")
		patch(ctx, builder.Machine(w.namespace, ofOther).Build(), metadata(map[string]any{"labels": map[string]any{clusterv1.WatchLabel: "red"}}))
		Eventually(func(g Gomega) { g.Expect(*w.machine(ctx, g, ofOther)).To(beRunning()) }).WithContext(ctx).Should(Succeed())
		patch(ctx, builder.Machine(w.namespace, ofOther).Build(), metadata(map[string]any{"labels": map[string]any{clusterv1.WatchLabel: "green"}}))
		mark := red.mark()
		Expect(k8s.Delete(ctx, builder.Machine(w.namespace, ofOther).Build())).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(apierrors.IsNotFound(k8s.Get(ctx, w.key(ofOther), &clusterv1.Machine{}))).To(BeTrue())
			g.Expect(green.since(0, touching(ofOther))).To(ContainElement(HaveField("Verb", "delete")))
		}).WithContext(ctx).Should(Succeed())
		Expect(red.since(mark, touching(ofOther))).To(BeEmpty())
	})

	It("keep nothing in memory of Machines that others look after, and let go of what is handed over", func(ctx SpecContext) {
		const ofRed, ofGreen = 7, 5
		w := newWorld(ctx)
		filter := func(value string) func(*controllers.Options) {
			return func(o *controllers.Options) { o.WatchFilter = value }
		}
		red, green := run(ctx, w.namespace, filter("red")), run(ctx, w.namespace, filter("green"))
		w.cluster(ctx, "red", ofRed, labelled("red"))
		w.cluster(ctx, "green", ofGreen, labelled("green"))
		w.cluster(ctx, "other", 3)
		cached := func(g Gomega, r *replica) int {
			list := &clusterv1.MachineList{}
			g.Expect(r.GetCache().List(ctx, list)).To(Succeed())
			return len(list.Items)
		}
		eventuallyRunningAndCached := func(inRed, inGreen int) {
			GinkgoHelper()
			Eventually(func(g Gomega) {
				for _, m := range w.machines(ctx, g) {
					if m.Spec.ClusterName != "other" {
						g.Expect(m).To(beRunning(), m.Name)
					}
				}
				g.Expect([]int{cached(g, red), cached(g, green)}).To(Equal([]int{inRed, inGreen}))
				g.Expect(connectionsToWorkload()).To(Equal(2), "one for each Cluster whose Machines are looked after")
			}).WithContext(ctx).Should(Succeed())
		}
		eventuallyRunningAndCached(ofRed, ofGreen)

		By("handing all over but one")
		w.settle(ctx)
		before, mark := w.machines(ctx, NewWithT(GinkgoT())), red.mark()
		handOver := func(name string) {
			GinkgoHelper()
			patch(ctx, builder.Machine(w.namespace, name).Build(), metadata(map[string]any{"labels": map[string]any{clusterv1.WatchLabel: "green"}}))
		}
		for i := range ofRed - 1 {
			handOver(worker("red", i))
		}
		Eventually(func(g Gomega) {
			g.Expect([]int{cached(g, red), cached(g, green)}).To(Equal([]int{1, ofGreen + ofRed - 1}))
			g.Expect(connectionsToWorkload()).To(Equal(3), "the Cluster red is looked after by both")
		}).WithContext(ctx).Should(Succeed())

		By("handing the last one over, and with it its Cluster")
		handOver(worker("red", ofRed-1))
		eventuallyRunningAndCached(0, ofGreen+ofRed)

		By("losing no Machine, and nothing of it")
		after := w.machines(ctx, NewWithT(GinkgoT()))
		Expect(after).To(HaveLen(len(before)))
		for i := range after {
			Expect(after[i].UID).To(Equal(before[i].UID))
			Expect(after[i].DeletionTimestamp).To(BeNil())
			Expect(after[i].Finalizers).To(Equal(before[i].Finalizers))
			Expect(after[i].Status.NodeRef).To(Equal(before[i].Status.NodeRef))
		}
		Consistently(func() []call { return red.since(mark, isWrite) }).WithContext(ctx).Should(BeEmpty())

		By("taking one back")
		patch(ctx, builder.Machine(w.namespace, worker("red", 0)).Build(), metadata(map[string]any{"labels": map[string]any{clusterv1.WatchLabel: "red"}}))
		Expect(k8s.Delete(ctx, builder.Machine(w.namespace, worker("red", 0)).Build())).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(w.machines(ctx, g)).To(HaveLen(len(before) - 1))
			g.Expect([]int{cached(g, red), cached(g, green)}).To(Equal([]int{0, ofGreen + ofRed - 1}))
		}).WithContext(ctx).Should(Succeed())
		Expect(red.since(mark, touching(worker("red", 0)))).To(ContainElement(HaveField("Verb", "delete")))
	})

	It("leave each other's objects alone, also if a Machine of theirs references one", func(ctx SpecContext) {
		w := newWorld(ctx)
		for _, value := range []string{"red", "green"} {
			run(ctx, w.namespace, func(o *controllers.Options) { o.WatchFilter = value })
		}
		w.cluster(ctx, "blue", 1, labelled("red"))
		w.eventuallyRunning(ctx, 1)
		first := w.machine(ctx, NewWithT(GinkgoT()), worker("blue", 0))
		thief := builder.Machine(w.namespace, "thief").WithClusterName("blue").WithoutBootstrapRef().WithDataSecretName("data").With(labelled("green")).
			With(func(m *clusterv1.Machine) { m.Spec.InfrastructureRef = first.Spec.InfrastructureRef }).Build()
		Expect(k8s.Create(ctx, thief)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(w.machine(ctx, g, "thief").Status.Conditions).To(ContainElement(And(
				HaveField("Type", clusterv1.MachineInfrastructureReadyCondition), HaveField("Reason", clusterv1.AlreadyOwnedReason),
				HaveField("Message", ContainSubstring("is already controlled by Machine "+first.Name)))))
		}).WithContext(ctx).Should(Succeed())
		Expect(k8s.Delete(ctx, thief)).To(Succeed())
		Eventually(func() error { return k8s.Get(ctx, w.key("thief"), thief) }).WithContext(ctx).Should(Satisfy(apierrors.IsNotFound))

		object := &metav1.PartialObjectMetadata{}
		object.SetGroupVersionKind(simulator.SimMachine.WithVersion(simulator.NewAPIVersion))
		Expect(k8s.Get(ctx, w.key(first.Spec.InfrastructureRef.Name), object)).To(Succeed())
		Expect(object.DeletionTimestamp).To(BeNil())
		Expect(metav1.GetControllerOf(object)).To(HaveValue(HaveField("UID", first.UID)))
		Expect(*w.machine(ctx, NewWithT(GinkgoT()), first.Name)).To(beRunning())
	})

	It("know of control plane Machines that others look after", func(ctx SpecContext) {
		w := newWorld(ctx)
		run(ctx, w.namespace, func(o *controllers.Options) { o.WatchFilter = "workers" })
		run(ctx, w.namespace, func(o *controllers.Options) { o.WatchFilter = "control-planes" })
		cluster := builder.Cluster(w.namespace, "blue").Build()
		objects := append([]client.Object{cluster}, simulator.Machines(cluster, 1, 2, simulator.Shape{PayloadSize: -1})...)
		for _, object := range objects {
			if machine, ok := object.(*clusterv1.Machine); ok {
				_, controlPlane := machine.Labels[clusterv1.MachineControlPlaneLabel]
				labelled(map[bool]string{true: "control-planes", false: "workers"}[controlPlane])(machine)
			}
		}
		Expect(simulator.Create(ctx, k8s, 4, objects...)).To(Succeed())
		w.eventuallyRunning(ctx, 3)
		served, ok := providers.Workload().Cluster(w.key("blue"))
		Expect(ok).To(BeTrue())
		remove := func(name string, left int) {
			GinkgoHelper()
			Expect(k8s.Delete(ctx, builder.Machine(w.namespace, name).Build())).To(Succeed())
			Eventually(func(g Gomega) { g.Expect(w.machines(ctx, g)).To(HaveLen(left)) }).WithContext(ctx).Should(Succeed())
		}
		deletedNodes := func() int {
			return served.Requests()[workload.Request{UserAgent: controllers.UserAgent, Verb: "delete", Resource: "nodes"}]
		}
		remove(worker("blue", 0), 2)
		Expect(deletedNodes()).To(Equal(1), "there is a control plane to miss the Node")
		remove("blue-control-plane-0", 1)
		remove(worker("blue", 1), 0)
		Expect(deletedNodes()).To(Equal(1), "there is none any more")
	})

	It("ask for nothing outside of their namespace but CustomResourceDefinitions", func(ctx SpecContext) {
		ours, theirs := newWorld(ctx), newWorld(ctx)
		r := run(ctx, ours.namespace)
		theirs.cluster(ctx, "blue", 2)
		ours.cluster(ctx, "blue", 2)
		ours.eventuallyRunning(ctx, 2)
		Consistently(func(g Gomega) {
			for _, m := range theirs.machines(ctx, g) {
				g.Expect(m.Finalizers).To(BeEmpty())
			}
		}).WithContext(ctx).Should(Succeed())
		Expect(r.since(0, every)).To(HaveEach(HaveField("Path", Or(
			ContainSubstring("/namespaces/"+ours.namespace+"/"),
			HavePrefix("/apis/apiextensions.k8s.io/v1/customresourcedefinitions"),
			MatchRegexp("^/apis?(/[^/]+(/[^/]+)?)?$"), // discovery
		))))
	})
})

var _ = It("One manager keeps Clusters and Machines of the same names in several namespaces apart", func(ctx SpecContext) {
	first, second := newWorld(ctx), newWorld(ctx)
	run(ctx, "")
	for _, w := range []world{first, second} {
		w.cluster(ctx, "blue", 2)
	}
	for _, w := range []world{first, second} {
		w.eventuallyRunning(ctx, 2)
	}
	By("hearing of a Node in the one only")
	before := second.machine(ctx, NewWithT(GinkgoT()), worker("blue", 0))
	workload, ok := providers.Workload().Cluster(first.key("blue"))
	Expect(ok).To(BeTrue())
	node := first.machine(ctx, NewWithT(GinkgoT()), worker("blue", 0)).Status.NodeRef.Name
	Expect(workload.Delete(client.ObjectKey{Name: node}, &corev1.Node{})).To(Succeed())
	Eventually(func(g Gomega) {
		g.Expect(first.machine(ctx, g, worker("blue", 0)).Status.Conditions).To(ContainElement(And(
			HaveField("Type", clusterv1.MachineNodeReadyCondition), HaveField("Reason", clusterv1.MachineNodeDeletedReason))))
	}).WithContext(ctx).Should(Succeed())
	Consistently(func(g Gomega) {
		g.Expect(second.machine(ctx, g, worker("blue", 0)).ResourceVersion).To(Equal(before.ResourceVersion))
	}).WithContext(ctx).Should(Succeed())

	By("deleting in the one only")
	Expect(k8s.Delete(ctx, builder.Cluster(first.namespace, "blue").Build())).To(Succeed())
	first.eventuallyEmpty(ctx)
	Consistently(func(g Gomega) {
		for _, m := range second.machines(ctx, g) {
			g.Expect(m).To(beRunning())
		}
	}).WithContext(ctx).Should(Succeed())
})

var _ = It("The resync reconciles every Machine and writes nothing", func(ctx SpecContext) {
	w := newWorld(ctx)
	w.cluster(ctx, "blue", 3)
	r := run(ctx, w.namespace, func(o *controllers.Options) { o.SyncPeriod = 200 * time.Millisecond })
	w.eventuallyRunning(ctx, 3)
	settled := 0
	Eventually(func(g Gomega) {
		settled = len(w.requests(ctx, func(environment.Request) bool { return true }))
		g.Consistently(func() int { return r.mark() }).WithContext(ctx).WithTimeout(2 * suite.ConsistentlyDuration).Should(Equal(r.mark()))
	}).WithContext(ctx).Should(Succeed())

	By("counting")
	before := manager.Reconciles()
	Eventually(manager.Reconciles).WithContext(ctx).Should(BeNumerically(">", before+3*5), "five rounds")
	Expect(w.requests(ctx, func(environment.Request) bool { return true })).To(HaveLen(settled))
})
