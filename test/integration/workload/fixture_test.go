// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers"
	"github.com/machinist-dev/machinist/controllers/workload"
	"github.com/machinist-dev/machinist/test/builder"
	"github.com/machinist-dev/machinist/test/environment/suite"
	"github.com/machinist-dev/machinist/test/manager"
	"github.com/machinist-dev/machinist/test/simulator"
	simulated "github.com/machinist-dev/machinist/test/simulator/workload"
)

// brisk is a timing with which a lost connection is noticed after a second, or after six if nothing answers.
var brisk = workload.Timing{ProbeInterval: 200 * time.Millisecond, ProbeTimeout: time.Second}

// world is a namespace.
type world struct{ namespace string }

func newWorld(ctx context.Context) world {
	GinkgoHelper()
	return world{suite.Namespace(ctx, env)}
}

// run runs a manager of the namespace until the end of the node that calls it.
func (w world) run(changes ...func(*controllers.Options)) {
	GinkgoHelper()
	options := manager.Options()
	options.Namespace = w.namespace
	options.WorkloadTiming = brisk
	for _, change := range changes {
		change(&options)
	}
	manager.Run(env.Config, options)
}

// cluster creates a Cluster, waits until its workload cluster is served, and returns that.
func (w world) cluster(ctx context.Context, name string) *simulated.Cluster {
	GinkgoHelper()
	Expect(k8s.Create(ctx, builder.Cluster(w.namespace, name).Build())).To(Succeed())
	var served *simulated.Cluster
	Eventually(func() (found bool) {
		served, found = providers.Workload().Cluster(w.key(name))
		return found
	}).WithContext(ctx).Should(BeTrue())
	return served
}

// workers creates Machines of a Cluster, with their objects.
func (w world) workers(ctx context.Context, cluster string, count int) {
	GinkgoHelper()
	objects := simulator.Machines(builder.Cluster(w.namespace, cluster).Build(), 0, count, simulator.Shape{PayloadSize: -1})
	Expect(simulator.Create(ctx, k8s, 8, objects...)).To(Succeed())
}

// machineObjects are a Machine with a label, and its objects.
func (w world) machineObjects(cluster, name, round string) []client.Object {
	objects := simulator.Machines(builder.Cluster(w.namespace, cluster).Build(), 0, 1, simulator.Shape{PayloadSize: -1, Prefix: name})
	for _, object := range objects {
		labels := object.GetLabels()
		labels["round"] = round
		object.SetLabels(labels)
	}
	return objects
}

func worker(cluster string, i int) string { return fmt.Sprintf("%s-worker-%d", cluster, i) }

func (w world) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: w.namespace, Name: name}
}

func (w world) machine(ctx context.Context, g Gomega, name string) *clusterv1.Machine {
	machine := &clusterv1.Machine{}
	g.Expect(k8s.Get(ctx, w.key(name), machine)).To(Succeed())
	return machine
}

func (w world) isGone(ctx context.Context, name string) bool {
	return apierrors.IsNotFound(k8s.Get(ctx, w.key(name), &clusterv1.Machine{}))
}

// eventually polls the Machine until the assertions hold.
func (w world) eventually(ctx context.Context, name string, assert func(g Gomega, m *clusterv1.Machine)) {
	GinkgoHelper()
	Eventually(func(g Gomega) { assert(g, w.machine(ctx, g, name)) }).WithContext(ctx).Should(Succeed())
}

// eventuallyRunning waits until the first so many Machines of the Cluster are Running and Ready.
func (w world) eventuallyRunning(ctx context.Context, cluster string, count int) {
	GinkgoHelper()
	for i := range count {
		w.eventually(ctx, worker(cluster, i), func(g Gomega, m *clusterv1.Machine) {
			g.Expect(m.Status.Phase).To(Equal("Running"))
			g.Expect(m.Status.Conditions).To(haveCondition(clusterv1.MachineReadyCondition, metav1.ConditionTrue, Not(BeEmpty())))
		})
	}
}

// settled waits until nothing is written to the Machine any more, and returns it.
func (w world) settled(ctx context.Context, name string) *clusterv1.Machine {
	GinkgoHelper()
	var machine *clusterv1.Machine
	Eventually(func(g Gomega) {
		machine = w.machine(ctx, g, name)
		g.Consistently(func(g Gomega) string { return w.machine(ctx, g, name).ResourceVersion }).WithContext(ctx).Should(Equal(machine.ResourceVersion))
	}).WithContext(ctx).Should(Succeed())
	return machine
}

// haveCondition matches a list that has a condition of the type with the status, and a reason that matches.
func haveCondition(conditionType string, status metav1.ConditionStatus, reason gomegatypes.GomegaMatcher) gomegatypes.GomegaMatcher {
	return ContainElement(And(HaveField("Type", conditionType), HaveField("Status", status), HaveField("Reason", reason)))
}

// nodeReady makes the Node of a Machine say whether it is ready.
func nodeReady(cluster *simulated.Cluster, node string, status corev1.ConditionStatus) {
	GinkgoHelper()
	Expect(simulated.Update(cluster, types.NamespacedName{Name: node}, func(n *corev1.Node) {
		for i := range n.Status.Conditions {
			if n.Status.Conditions[i].Type == corev1.NodeReady {
				n.Status.Conditions[i].Status = status
			}
		}
	})).To(Succeed())
}

// eventuallyHears waits until the Machine says what its Node says, which is changed for the purpose.
func (w world) eventuallyHears(ctx context.Context, cluster *simulated.Cluster, name string) {
	GinkgoHelper()
	machine := w.machine(ctx, NewWithT(GinkgoT()), name)
	before := apimeta.FindStatusCondition(machine.Status.Conditions, clusterv1.MachineNodeReadyCondition)
	Expect(before).NotTo(BeNil())
	status := corev1.ConditionFalse
	if before.Status == metav1.ConditionFalse {
		status = corev1.ConditionTrue
	}
	nodeReady(cluster, machine.Status.NodeRef.Name, status)
	w.eventually(ctx, name, func(g Gomega, m *clusterv1.Machine) {
		g.Expect(m.Status.Conditions).To(haveCondition(clusterv1.MachineNodeReadyCondition, metav1.ConditionStatus(status), Not(BeEmpty())))
	})
}

// requests is the number of requests of managers to a workload cluster.
func requests(cluster *simulated.Cluster, verb, resource string) int {
	return cluster.Requests()[simulated.Request{UserAgent: controllers.UserAgent, Verb: verb, Resource: resource}]
}
