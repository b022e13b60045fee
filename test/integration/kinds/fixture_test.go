// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/builder"
	"github.com/machinist-dev/machinist/test/environment/suite"
	"github.com/machinist-dev/machinist/test/simulator/workload"
)

const clusterName = "blue"

type object = map[string]any

// place is a namespace with a Cluster that is ready for Machines, and its workload cluster.
type place struct {
	namespace string
	cluster   *clusterv1.Cluster
	workload  *workload.Cluster
}

func newPlace(ctx context.Context) *place {
	GinkgoHelper()
	p := &place{namespace: suite.Namespace(ctx, env)}
	p.cluster = builder.Cluster(p.namespace, clusterName).
		With(func(c *clusterv1.Cluster) {
			c.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "127.0.0.1", Port: 6443}
		}).Build()
	Expect(k8s.Create(ctx, p.cluster)).To(Succeed())
	var err error
	p.workload, err = workloads.AddCluster(client.ObjectKeyFromObject(p.cluster))
	Expect(err).NotTo(HaveOccurred())
	kubeconfig, err := p.workload.Kubeconfig()
	Expect(err).NotTo(HaveOccurred())
	Expect(k8s.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: clusterName + "-kubeconfig", Labels: map[string]string{clusterv1.ClusterNameLabel: clusterName}},
		Type:       "cluster.x-k8s.io/secret",
		Data:       map[string][]byte{"value": kubeconfig},
	})).To(Succeed())
	patchStatus(ctx, p.cluster, object{
		"initialization": object{"infrastructureProvisioned": true},
		"conditions": []any{object{
			"type": clusterv1.ClusterControlPlaneInitializedCondition, "status": "True", "reason": "Initialized", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
		}},
	})
	return p
}

// machine creates a Machine of the kind, whose bootstrap data is given.
func (p *place) machine(ctx context.Context, of kind, name string) {
	GinkgoHelper()
	Expect(k8s.Create(ctx, builder.Machine(p.namespace, name).WithClusterName(clusterName).WithoutBootstrapRef().WithDataSecretName("data").
		WithInfrastructureRef(of.GroupKind, name).Build())).To(Succeed())
}

// server creates what a provider would: a provisioned InfraMachine and, when it has started, its Node.
func (p *place) server(ctx context.Context, of kind, name string) {
	GinkgoHelper()
	of.create(ctx, p.namespace, name, object{"spec": object{"providerID": "sim:///" + name}, "status": provisioned})
	p.node(name)
}

func (p *place) node(name string) {
	GinkgoHelper()
	condition := func(t corev1.NodeConditionType, s corev1.ConditionStatus) corev1.NodeCondition {
		return corev1.NodeCondition{Type: t, Status: s, Reason: "Kubelet", LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now()}
	}
	Expect(p.workload.Create(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.NodeSpec{ProviderID: "sim:///" + name},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			condition(corev1.NodeReady, corev1.ConditionTrue),
			condition(corev1.NodeMemoryPressure, corev1.ConditionFalse),
			condition(corev1.NodeDiskPressure, corev1.ConditionFalse),
			condition(corev1.NodePIDPressure, corev1.ConditionFalse),
		}},
	})).To(Succeed())
}

// get returns the Machine.
func (p *place) get(ctx context.Context, name string) func(g Gomega) *clusterv1.Machine {
	return func(g Gomega) *clusterv1.Machine {
		m := &clusterv1.Machine{}
		g.Expect(k8s.Get(ctx, types.NamespacedName{Namespace: p.namespace, Name: name}, m)).To(Succeed())
		return m
	}
}

// eventually polls the Machine until it matches.
func (p *place) eventually(ctx context.Context, name string, matcher OmegaMatcher) {
	GinkgoHelper()
	Eventually(p.get(ctx, name)).WithContext(ctx).Should(matcher)
}

// haveCondition matches a Machine whose condition has the status.
func haveCondition(conditionType string, status metav1.ConditionStatus) OmegaMatcher {
	return HaveField("Status.Conditions", ContainElement(SatisfyAll(HaveField("Type", conditionType), HaveField("Status", status))))
}

// haveInfrastructureReady matches a Machine with that condition.
func haveInfrastructureReady(status metav1.ConditionStatus, reason string, message any) OmegaMatcher {
	return HaveField("Status.Conditions", ContainElement(SatisfyAll(
		HaveField("Type", clusterv1.MachineInfrastructureReadyCondition), HaveField("Status", status), HaveField("Reason", reason), HaveField("Message", message),
	)))
}

// warnings returns the Warning events about the Machine.
func (p *place) warnings(ctx context.Context, name string) func(g Gomega) []string {
	return func(g Gomega) []string {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion("events.k8s.io/v1")
		list.SetKind("EventList")
		g.Expect(k8s.List(ctx, list, client.InNamespace(p.namespace))).To(Succeed())
		var texts []string
		for _, event := range list.Items {
			regarding, _, _ := unstructured.NestedString(event.Object, "regarding", "name")
			kind, _, _ := unstructured.NestedString(event.Object, "type")
			if regarding == name && kind == corev1.EventTypeWarning {
				texts = append(texts, event.Object["reason"].(string)+": "+event.Object["note"].(string))
			}
		}
		return texts
	}
}

// warning matches what warnings returns.
func warning(reason string, note OmegaMatcher) OmegaMatcher {
	return SatisfyAll(HavePrefix(reason+": "), WithTransform(func(text string) string { return strings.TrimPrefix(text, reason+": ") }, note))
}

// merge sends a JSON merge patch.
func merge(ctx context.Context, target client.Object, patch object) {
	GinkgoHelper()
	Expect(k8s.Patch(ctx, target, mergePatch(patch))).To(Succeed())
}

func patchStatus(ctx context.Context, target client.Object, status object) {
	GinkgoHelper()
	Expect(k8s.Status().Patch(ctx, target, mergePatch(object{"status": status}))).To(Succeed())
}

func mergePatch(patch object) client.Patch {
	GinkgoHelper()
	data, err := json.Marshal(patch)
	Expect(err).NotTo(HaveOccurred())
	return client.RawPatch(types.MergePatchType, data)
}

// shuffle changes the order at random, by the seed of the run.
func shuffle(objects []client.Object) {
	random := rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 0)) //nolint:gosec // repeatable on purpose
	random.Shuffle(len(objects), func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
}
