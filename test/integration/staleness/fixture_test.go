// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package staleness

import (
	"context"
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/apis/contract"
	"github.com/machinist-dev/machinist/controllers"
	"github.com/machinist-dev/machinist/generated/facadetest"
	"github.com/machinist-dev/machinist/test/builder"
	"github.com/machinist-dev/machinist/test/environment"
	"github.com/machinist-dev/machinist/test/environment/suite"
	"github.com/machinist-dev/machinist/test/simulator"
	"github.com/machinist-dev/machinist/test/simulator/workload"
)

// provider is a pair of kinds whose CRDs declare one contract version, and whose objects may hold anything.
type provider struct {
	contract  contract.Version
	infra     schema.GroupVersionKind
	bootstrap schema.GroupVersionKind
}

var (
	oldProvider = newProviderOf(contract.V1Beta1, simulator.OldAPIVersion, "Old")
	newProvider = newProviderOf(contract.V1Beta2, simulator.NewAPIVersion, "New")
)

func newProviderOf(version contract.Version, apiVersion, prefix string) provider {
	return provider{
		contract:  version,
		infra:     schema.GroupVersionKind{Group: "infrastructure.cluster.x-k8s.io", Version: apiVersion, Kind: prefix + "Machine"},
		bootstrap: schema.GroupVersionKind{Group: "bootstrap.cluster.x-k8s.io", Version: apiVersion, Kind: prefix + "Config"},
	}
}

func (p provider) crds() []*apiextensionsv1.CustomResourceDefinition {
	options := simulator.CRDOptions{Contracts: []contract.Version{p.contract}, AnyContent: true}
	options.GroupKind = p.infra.GroupKind()
	infra := simulator.InfraMachineCRD(options)
	options.GroupKind = p.bootstrap.GroupKind()
	return []*apiextensionsv1.CustomResourceDefinition{infra, simulator.BootstrapConfigCRD(options)}
}

func (p provider) infraMachine(namespace, name string) facadetest.InfraMachineBuilder {
	return facadetest.NewInfraMachine(p.contract).WithGroupVersionKind(p.infra).WithNamespace(namespace).WithName(name)
}

func (p provider) bootstrapConfig(namespace, name string) facadetest.BootstrapConfigBuilder {
	return facadetest.NewBootstrapConfig(p.contract).WithGroupVersionKind(p.bootstrap).WithNamespace(namespace).WithName(name)
}

// machine returns a Machine that references an InfraMachine and a BootstrapConfig of its own name.
func (p provider) machine(namespace, name string) *clusterv1.Machine {
	return builder.Machine(namespace, name).WithClusterName("blue").
		WithInfrastructureRef(p.infra.GroupKind(), name).WithBootstrapRef(p.bootstrap.GroupKind(), name).Build()
}

// world is a namespace with one Cluster, whose workload cluster answers.
type world struct {
	namespace string
	cluster   *clusterv1.Cluster
	workload  *workload.Cluster
}

func newWorld(ctx context.Context) *world {
	GinkgoHelper()
	w := &world{namespace: suite.Namespace(ctx, env)}
	w.cluster = builder.Cluster(w.namespace, "blue").Build()
	create(ctx, w.cluster)
	var err error
	w.workload, err = workloads.AddCluster(client.ObjectKeyFromObject(w.cluster))
	Expect(err).NotTo(HaveOccurred())
	kubeconfig, err := w.workload.Kubeconfig()
	Expect(err).NotTo(HaveOccurred())
	create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "blue-kubeconfig"},
		Data:       map[string][]byte{"value": kubeconfig},
	})
	w.setCluster(ctx, true, true)
	return w
}

// setCluster sets what a Machine waits for in the status of its Cluster.
func (w *world) setCluster(ctx context.Context, infrastructureProvisioned, controlPlaneInitialized bool) {
	GinkgoHelper()
	status := builder.Cluster(w.namespace, "blue").
		WithInfrastructureProvisioned(infrastructureProvisioned).WithControlPlaneInitialized(controlPlaneInitialized).Build().Status
	Expect(k8s.Status().Patch(ctx, builder.Cluster(w.namespace, "blue").Build(), merge(object{"status": status}))).To(Succeed())
}

func newNode(name, providerID string, ready corev1.ConditionStatus) *corev1.Node {
	conditions := []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, Reason: "Kubelet"}}
	for _, pressure := range []corev1.NodeConditionType{corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure} {
		conditions = append(conditions, corev1.NodeCondition{Type: pressure, Status: corev1.ConditionFalse, Reason: "Kubelet"})
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.NodeSpec{ProviderID: providerID},
		Status:     corev1.NodeStatus{Conditions: conditions, NodeInfo: corev1.NodeSystemInfo{KubeletVersion: "v1.37.2"}},
	}
}

// eventually polls the Machine until the assertions hold.
func (w *world) eventually(ctx context.Context, name string, assert func(g Gomega, m *clusterv1.Machine)) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		m := &clusterv1.Machine{}
		g.Expect(k8s.Get(ctx, w.key(name), m)).To(Succeed())
		assert(g, m)
	}).WithContext(ctx).Should(Succeed())
}

func (w *world) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: w.namespace, Name: name}
}

// requests returns what the managers of the world have asked the API server for, of one verb, by resource or any.
func (w *world) requests(ctx context.Context, verb string, resources ...string) environment.Requests {
	GinkgoHelper()
	all, err := env.Requests(ctx)
	Expect(err).NotTo(HaveOccurred())
	return all.From(controllers.UserAgent).Where(func(r environment.Request) bool {
		matches := len(resources) == 0
		for _, resource := range resources {
			matches = matches || r.Resource == resource
		}
		return r.Namespace == w.namespace && r.Verb == verb && matches
	})
}

type object = map[string]any

func merge(patch object) client.Patch {
	GinkgoHelper()
	data, err := json.Marshal(patch)
	Expect(err).NotTo(HaveOccurred())
	return client.RawPatch(types.MergePatchType, data)
}

// create creates objects; the status of an unstructured object is written, too.
func create(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		withStatus := o.DeepCopyObject()
		Expect(k8s.Create(ctx, o)).To(Succeed())
		if u, ok := withStatus.(*unstructured.Unstructured); ok && u.Object["status"] != nil {
			patchStatus(ctx, u, u.Object["status"])
		}
	}
}

// report makes a provider object say what the given one says in its status and in spec.providerID.
func report(ctx context.Context, o *unstructured.Unstructured) {
	GinkgoHelper()
	if id, ok, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "providerID"); ok {
		patch(ctx, o, object{"spec": object{"providerID": id}})
	}
	if o.Object["status"] != nil {
		patchStatus(ctx, o, o.Object["status"])
	}
}

func patchStatus(ctx context.Context, o client.Object, status any) {
	GinkgoHelper()
	Expect(k8s.Status().Patch(ctx, nameOnly(o), merge(object{"status": status}))).To(Succeed())
}

func patch(ctx context.Context, o client.Object, content object) {
	GinkgoHelper()
	Expect(k8s.Patch(ctx, nameOnly(o), merge(content))).To(Succeed())
}

// nameOnly returns an object to be patched, so that what comes back leaves the given one as it is.
func nameOnly(o client.Object) *unstructured.Unstructured {
	GinkgoHelper()
	u := &unstructured.Unstructured{}
	gvk, err := k8s.GroupVersionKindFor(o)
	Expect(err).NotTo(HaveOccurred())
	u.SetGroupVersionKind(gvk)
	u.SetNamespace(o.GetNamespace())
	u.SetName(o.GetName())
	return u
}
