// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/builder"
	"github.com/machinist-dev/machinist/test/environment/suite"
	simulator "github.com/machinist-dev/machinist/test/simulator/workload"
)

// world is a workload cluster with one Node, which belongs to a Machine that is being deleted.
type world struct {
	client.Client
	config  *rest.Config
	drainer Drainer
	subject Subject
	// namespace is the Machine's in the management cluster, and that of the Pods in the workload cluster.
	namespace string
	// simulated is nil in a real cluster.
	simulated *simulator.Cluster
}

// clusters are what specs run in: whatever a drain asks for, the simulated clusters have to answer like a real one.
var clusters = map[string]func(ctx context.Context) *world{
	"real": func(ctx context.Context) *world {
		return newWorld(ctx, suite.Namespace(ctx, env), env.ConfigFor("drain"))
	},
	"simulated": func(ctx context.Context) *world {
		namespace := suite.Namespace(ctx, env)
		cluster, err := workloads.AddCluster(types.NamespacedName{Namespace: namespace, Name: "cluster"})
		Expect(err).NotTo(HaveOccurred())
		kubeconfig, err := cluster.Kubeconfig()
		Expect(err).NotTo(HaveOccurred())
		config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
		Expect(err).NotTo(HaveOccurred())
		Expect(cluster.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
		w := newWorld(ctx, namespace, config)
		w.simulated = cluster
		return w
	},
}

func newWorld(ctx context.Context, namespace string, config *rest.Config) *world {
	GinkgoHelper()
	config.QPS, config.Burst = -1, -1
	w := &world{Client: newClient(config), config: config, namespace: namespace}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-" + namespace}}
	Expect(w.Create(ctx, node)).To(Succeed())
	w.drainer = Drainer{Rules: management, Client: w.Client, CoreV1: newCoreV1(config)}
	w.subject = Subject{Now: time.Now(), Machine: builder.Machine(namespace, "machine").With(func(m *clusterv1.Machine) {
		m.Status.NodeRef.Name = node.Name
		m.Status.Deletion = &clusterv1.MachineDeletionStatus{
			NodeDrainStartTime:               metav1.NewTime(started),
			WaitForNodeVolumeDetachStartTime: metav1.NewTime(started),
		}
	}).Build()}
	return w
}

func newClient(config *rest.Config) client.Client {
	GinkgoHelper()
	Expect(clusterv1.AddToScheme(scheme.Scheme)).To(Succeed())
	c, err := client.New(config, client.Options{Scheme: scheme.Scheme})
	Expect(err).NotTo(HaveOccurred())
	return c
}

func newCoreV1(config *rest.Config) rest.Interface {
	GinkgoHelper()
	c, err := corev1client.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())
	return c.RESTClient()
}

// drain drains the Node once and returns the message.
func (w *world) drain(ctx context.Context) string {
	GinkgoHelper()
	result, err := w.drainer.Drain(ctx, w.subject)
	Expect(err).NotTo(HaveOccurred())
	return result.Message
}

func (w *world) volumes(ctx context.Context) string {
	GinkgoHelper()
	result, err := w.drainer.Volumes(ctx, w.subject)
	Expect(err).NotTo(HaveOccurred())
	return result.Message
}

// cost is what a simulated cluster is asked meanwhile, but for discovery: the specs' client learns the kinds, that of a
// connection knows them.
func (w *world) cost(of func()) []string {
	before := w.simulated.Requests()
	of()
	var cost []string
	for request, count := range w.simulated.Requests() {
		if count -= before[request]; count > 0 && !strings.HasPrefix(request.Resource, "/") {
			cost = append(cost, fmt.Sprintf("%d %s %s", count, request.Verb, request.Resource))
		}
	}
	return cost
}

func (w *world) node(ctx context.Context) *corev1.Node {
	GinkgoHelper()
	node := &corev1.Node{}
	Expect(w.Get(ctx, client.ObjectKey{Name: w.subject.nodeName()}, node)).To(Succeed())
	return node
}

// hold is a finalizer by which a Pod takes its time to go, as it does on a Node that runs it.
const hold = "example.com/hold"

// run makes a Pod that runs on the Node, is ready, and takes its time to go.
func (w *world) run(ctx context.Context, name string, changes ...change) *corev1.Pod {
	GinkgoHelper()
	pod := aPod(name, changes...)
	pod.Namespace, pod.Spec.NodeName, pod.Finalizers = w.namespace, w.subject.nodeName(), []string{hold}
	status := pod.Status
	status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	Expect(w.Create(ctx, pod)).To(Succeed())
	pod.Status = status
	Expect(w.Status().Update(ctx, pod)).To(Succeed())
	return pod
}

// end is what a kubelet does when the Pod has stopped.
func (w *world) end(ctx context.Context, pod *corev1.Pod) {
	GinkgoHelper()
	key := client.ObjectKeyFromObject(pod)
	Expect(client.IgnoreNotFound(w.Delete(ctx, pod, client.GracePeriodSeconds(0)))).To(Succeed())
	Expect(w.Get(ctx, key, pod)).To(Succeed())
	before := pod.DeepCopy()
	controllerutil.RemoveFinalizer(pod, hold)
	Expect(w.Patch(ctx, pod, client.MergeFrom(before))).To(Succeed())
}

func (w *world) isDeleting(ctx context.Context, pod *corev1.Pod) bool {
	GinkgoHelper()
	now := &corev1.Pod{}
	Expect(w.Get(ctx, client.ObjectKeyFromObject(pod), now)).To(Succeed())
	return now.DeletionTimestamp != nil
}

// budget makes a PodDisruptionBudget for the app that allows no disruption.
func (w *world) budget(ctx context.Context, app string, changes ...func(*policyv1.PodDisruptionBudget)) *policyv1.PodDisruptionBudget {
	GinkgoHelper()
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: app},
		Spec: policyv1.PodDisruptionBudgetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
		},
	}
	for _, change := range changes {
		change(budget)
	}
	Expect(w.Create(ctx, budget)).To(Succeed())
	w.allow(ctx, budget, 0)
	return budget
}

func (w *world) allow(ctx context.Context, budget *policyv1.PodDisruptionBudget, disruptions int32) {
	GinkgoHelper()
	budget.Status = policyv1.PodDisruptionBudgetStatus{
		ObservedGeneration: budget.Generation, DisruptionsAllowed: disruptions, DesiredHealthy: 2, CurrentHealthy: 2 + disruptions,
	}
	Expect(w.Status().Update(ctx, budget)).To(Succeed())
}

// rule makes a MachineDrainRule for the Pods of an app.
func (w *world) rule(ctx context.Context, app string, behavior clusterv1.MachineDrainRuleDrainBehavior, order *int32) {
	GinkgoHelper()
	Expect(management.Create(ctx, &clusterv1.MachineDrainRule{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: app},
		Spec: clusterv1.MachineDrainRuleSpec{
			Drain: clusterv1.MachineDrainRuleDrainConfig{Behavior: behavior, Order: order},
			Pods: []clusterv1.MachineDrainRulePodSelector{{
				Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
				NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
					{Key: "nobody-has-this", Operator: metav1.LabelSelectorOpDoesNotExist},
				}},
			}},
		},
	})).To(Succeed())
}

// loseKubelet makes the Node one that nobody has heard from.
func (w *world) loseKubelet(ctx context.Context) {
	GinkgoHelper()
	node := w.node(ctx)
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
	Expect(w.Status().Update(ctx, node)).To(Succeed())
}

func ofApp(name string) change { return labelled("app", name) }
