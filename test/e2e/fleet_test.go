// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/builder"
	"github.com/machinist-dev/machinist/test/simulator"
	"github.com/machinist-dev/machinist/test/simulator/workload"
)

// providerLabel is how a provider brings its role to whoever manages Machines.
const providerLabel = "cluster.x-k8s.io/aggregate-to-manager"

// installProviders installs both providers' kinds, and the role of the one that needs one, for the container that it is
// called in.
func installProviders(ctx context.Context) {
	GinkgoHelper()
	crds := []*apiextensionsv1.CustomResourceDefinition{
		simulator.InfraMachineCRD(simulator.CRDOptions{GroupKind: simMachine}),
		simulator.InfraMachineCRD(simulator.CRDOptions{GroupKind: metalMachine}),
		simulator.BootstrapConfigCRD(simulator.CRDOptions{}),
	}
	installDefinitions(envtest.CRDInstallOptions{CRDs: crds})
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "metal-provider", Labels: map[string]string{providerLabel: "true"}},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{metalMachine.Group},
			Resources: []string{"metalmachines"},
			Verbs:     []string{"get", "list", "watch", "create", "update", "patch", "delete"},
		}},
	}
	Expect(k8s.Create(ctx, role)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) error { return client.IgnoreNotFound(k8s.Delete(ctx, role)) })
}

// installDefinitions installs kinds for the container that it is called in. After that they are really gone: one that is still
// going would take its successor with it.
func installDefinitions(options envtest.CRDInstallOptions) {
	GinkgoHelper()
	options.MaxTime = eventuallyTimeout
	crds, err := envtest.InstallCRDs(target.config, options)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) {
		Expect(envtest.UninstallCRDs(target.config, envtest.CRDInstallOptions{CRDs: crds})).To(Succeed())
		for _, crd := range crds {
			Eventually(func() error {
				return k8s.Get(ctx, client.ObjectKeyFromObject(crd), &apiextensionsv1.CustomResourceDefinition{})
			}).
				WithContext(ctx).Should(Satisfy(apierrors.IsNotFound), crd.Name)
		}
	})
}

// release takes all finalizers off the objects of all kinds that a fleet consists of.
func release(ctx context.Context) {
	GinkgoHelper()
	kinds := []schema.GroupVersionKind{
		clusterv1.GroupVersion.WithKind("MachineDeployment"), clusterv1.GroupVersion.WithKind("MachineSet"),
		clusterv1.GroupVersion.WithKind("Machine"), clusterv1.GroupVersion.WithKind(clusterv1.ClusterKind),
	}
	for _, kind := range []schema.GroupKind{simMachine, metalMachine, simulator.SimConfig} {
		kinds = append(kinds, kind.WithVersion(simulator.NewAPIVersion))
	}
	for _, kind := range kinds {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind)
		err := k8s.List(ctx, list)
		if apimeta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
			continue
		}
		Expect(err).NotTo(HaveOccurred())
		for i := range list.Items {
			patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
			Expect(client.IgnoreNotFound(k8s.Patch(ctx, &list.Items[i], patch))).To(Succeed())
		}
	}
}

// startSimulator plays both providers, the workload clusters, and Cluster API's Cluster controller unless that is there, until
// the end of the container that it is called in. The kinds must be installed.
func startSimulator(ctx context.Context, withClusterAPI bool) *simulator.Simulator {
	GinkgoHelper()
	sim, err := simulator.Start(ctx, target.config, simulator.Options{
		InfraMachines:   []schema.GroupKind{simMachine, metalMachine},
		WorkloadAddress: target.host + ":0",
		ProvisionDelay:  time.Second,
		NodeDelay:       500 * time.Millisecond,
		Jitter:          0.5,
		NoClusterStatus: withClusterAPI,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(sim.Stop)
	return sim
}

// fleet is a Cluster with its Machines.
type fleet struct {
	sim     *simulator.Simulator
	cluster *clusterv1.Cluster
	// infra is the kind of the InfraMachines.
	infra schema.GroupKind
	// labels are those of the Machines, besides what all have.
	labels map[string]string
}

// createFleet creates a Cluster with a number of Machines, the first of which is the control plane.
func createFleet(ctx context.Context, sim *simulator.Simulator, namespace, name string, infra schema.GroupKind, machines int) *fleet {
	GinkgoHelper()
	f := &fleet{sim: sim, cluster: builder.Cluster(namespace, name).Build(), infra: infra}
	Expect(k8s.Create(ctx, f.cluster)).To(Succeed())
	f.create(ctx, name, 1, machines-1)
	return f
}

// create adds Machines whose names start with a prefix.
func (f *fleet) create(ctx context.Context, prefix string, controlPlane, workers int) {
	GinkgoHelper()
	objects := simulator.Machines(f.cluster, controlPlane, workers, simulator.Shape{InfraMachine: f.infra, Prefix: prefix})
	for _, object := range objects {
		if machine, ok := object.(*clusterv1.Machine); ok {
			maps.Copy(machine.Labels, f.labels)
		}
	}
	Expect(simulator.Create(ctx, k8s, 8, objects...)).To(Succeed())
}

// createOne adds a worker that differs from the others.
func (f *fleet) createOne(ctx context.Context, name string, change func(builder.MachineBuilder) builder.MachineBuilder) {
	GinkgoHelper()
	machine := change(builder.Machine(f.cluster.Namespace, name).WithClusterName(f.cluster.Name)).Build()
	for _, kind := range []schema.GroupKind{simulator.SimConfig, simMachine} {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(kind.WithVersion(simulator.NewAPIVersion))
		object.SetNamespace(machine.Namespace)
		object.SetName(name)
		Expect(k8s.Create(ctx, object)).To(Succeed())
	}
	Expect(k8s.Create(ctx, machine)).To(Succeed())
}

func (f *fleet) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: f.cluster.Namespace, Name: name}
}

// machines are those of the Cluster.
func (f *fleet) machines(ctx context.Context, g Gomega) []clusterv1.Machine {
	list := &clusterv1.MachineList{}
	g.Expect(k8s.List(ctx, list, client.InNamespace(f.cluster.Namespace),
		client.MatchingLabels{clusterv1.ClusterNameLabel: f.cluster.Name})).To(Succeed())
	return list.Items
}

// eventuallyRunning waits until that many Machines of the Cluster exist, and all are Running.
func (f *fleet) eventuallyRunning(ctx context.Context, count int) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		phases := map[string]int{}
		for _, machine := range f.machines(ctx, g) {
			phases[machine.Status.Phase]++
		}
		g.Expect(phases).To(Equal(map[string]int{"Running": count}), describePods(ctx))
	}).WithContext(ctx).Should(Succeed())
}

// expectOneNodeEach makes sure that nothing was provisioned twice: each Machine has one Node, with its provider ID, and
// there are no others.
func (f *fleet) expectOneNodeEach(ctx context.Context) {
	GinkgoHelper()
	machines := f.machines(ctx, Default)
	ids := map[string]bool{}
	for _, machine := range machines {
		node := &corev1.Node{}
		Expect(f.workload().Get(types.NamespacedName{Name: machine.Status.NodeRef.Name}, node)).To(Succeed())
		Expect(node.Spec.ProviderID).To(Equal(machine.Spec.ProviderID))
		ids[machine.Spec.ProviderID] = true
	}
	Expect(ids).To(HaveLen(len(machines)))
	Expect(f.workload().Count(&corev1.Node{})).To(Equal(len(machines)))
}

// identities are what must not change while others do: by the name of the Machine its UID and provider ID.
func (f *fleet) identities(ctx context.Context) map[string]string {
	GinkgoHelper()
	found := map[string]string{}
	for _, machine := range f.machines(ctx, Default) {
		found[machine.Name] = fmt.Sprintf("%s %s", machine.UID, machine.Spec.ProviderID)
	}
	return found
}

// workload is the simulated workload cluster.
func (f *fleet) workload() *workload.Cluster {
	GinkgoHelper()
	served, found := f.sim.Workload().Cluster(client.ObjectKeyFromObject(f.cluster))
	Expect(found).To(BeTrue(), "no workload cluster is served for Cluster %s", f.cluster.Name)
	return served
}

// annotate sets an annotation of a Machine, or takes it off if the value is nil.
func (f *fleet) annotate(ctx context.Context, name, key string, value any) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: value}}})
	if err != nil {
		return err
	}
	machine := builder.Machine(f.cluster.Namespace, name).Build()
	return k8s.Patch(ctx, machine, client.RawPatch(types.MergePatchType, patch))
}

// eventuallyDeleting waits until the deletion of a Machine is at a step.
func eventuallyDeleting(ctx context.Context, key types.NamespacedName, reason, message string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		machine := &clusterv1.Machine{}
		g.Expect(k8s.Get(ctx, key, machine)).To(Succeed())
		for _, condition := range machine.Status.Conditions {
			if condition.Type == clusterv1.MachineDeletingCondition {
				g.Expect(condition.Reason).To(Equal(reason))
				g.Expect(condition.Message).To(ContainSubstring(message))
				return
			}
		}
		g.Expect(machine.Status.Conditions).To(BeEmpty(), "none of them is Deleting")
	}).WithContext(ctx).Should(Succeed())
}

// delete deletes the Cluster, and with it all its Machines, and waits until all are gone.
func (f *fleet) delete(ctx context.Context) {
	GinkgoHelper()
	Expect(client.IgnoreNotFound(k8s.Delete(ctx, f.cluster))).To(Succeed())
	Eventually(func(g Gomega) {
		g.Expect(f.machines(ctx, g)).To(BeEmpty())
		err := k8s.Get(ctx, client.ObjectKeyFromObject(f.cluster), &clusterv1.Cluster{})
		g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "the Cluster: %v", err)
	}).WithContext(ctx).Should(Succeed())
}

// newNamespace makes one that lasts until the end of the container that it is called in.
func newNamespace(ctx context.Context) string {
	GinkgoHelper()
	name := "e2e-" + rand.String(5)
	createNamespace(ctx, name)
	return name
}

// createNamespace makes a namespace of that name, which is deleted after the container that it is called in. What runs there
// has to be as restricted as it can be.
func createNamespace(ctx context.Context, name string) {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	Expect(k8s.Create(ctx, namespace)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) error { return client.IgnoreNotFound(k8s.Delete(ctx, namespace)) })
}
