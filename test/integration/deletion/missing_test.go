// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/builder"
	"github.com/machinist-dev/machinist/test/environment/suite"
	"github.com/machinist-dev/machinist/test/simulator"
)

// absent is what has gone by the time a Machine is deleted, a bit for each.
type absent uint

const (
	noCluster absent = 1 << iota
	noKubeconfig
	noInfraCRD
	noConfigCRD
	noInfraMachine
	noBootstrapConfig
	noOwner
	everything = iota

	// ofCluster are those by which Clusters differ; the Machines share them.
	ofCluster = noCluster | noKubeconfig
)

func (a absent) has(what absent) bool { return a&what != 0 }

// name is that of the Machine for which these are absent.
func (a absent) name() string { return fmt.Sprintf("without-%0*b", everything, a) }

// clusterName is that of its Cluster.
func (a absent) clusterName() string {
	return fmt.Sprintf("cluster-%02b", a&ofCluster)
}

// kinds are those of its objects; the definitions of some kinds are deleted.
func (a absent) kinds() (infra, config schema.GroupKind) {
	infra = schema.GroupKind{Group: simulator.SimMachine.Group, Kind: "StayingMachine"}
	config = schema.GroupKind{Group: simulator.SimConfig.Group, Kind: "StayingConfig"}
	if a.has(noInfraCRD) {
		infra.Kind = "LeavingMachine"
	}
	if a.has(noConfigCRD) {
		config.Kind = "LeavingConfig"
	}
	return infra, config
}

// Nobody plays a provider here: the simulator leaves paused Clusters alone, and the objects have no finalizers.
var _ = It("A Machine can be deleted whatever else has gone before", func(ctx SpecContext) {
	w := &world{namespace: suite.Namespace(ctx, env)}
	leaving := []*apiextensionsv1.CustomResourceDefinition{}
	for _, a := range []absent{0, noInfraCRD | noConfigCRD} {
		infra, config := a.kinds()
		crds := []*apiextensionsv1.CustomResourceDefinition{
			simulator.InfraMachineCRD(simulator.CRDOptions{GroupKind: infra}), simulator.BootstrapConfigCRD(simulator.CRDOptions{GroupKind: config}),
		}
		suite.InstallCRDs(env, crds...)
		leaving = crds // those of the last turn
	}
	for a := range ofCluster + 1 {
		w.createCluster(ctx, a)
	}
	for a := range absent(1 << everything) {
		w.createSettled(ctx, a)
	}
	for a := range absent(1 << everything) {
		w.eventually(ctx, a.name(), func(g Gomega, m *clusterv1.Machine) {
			g.Expect(m.Finalizers).To(ContainElement(clusterv1.MachineFinalizer))
			g.Expect(m.Status.ObservedGeneration).NotTo(BeZero())
		})
	}

	By("taking things away")
	for a := range absent(1 << everything) {
		w.takeObjects(ctx, a)
	}
	for _, crd := range leaving {
		Expect(k8s.Delete(ctx, crd)).To(Succeed())
		Eventually(func() bool { return apierrors.IsNotFound(k8s.Get(ctx, client.ObjectKeyFromObject(crd), crd)) }).WithContext(ctx).Should(BeTrue())
	}
	for a := range ofCluster + 1 {
		if a.has(noCluster) {
			Expect(k8s.Delete(ctx, builder.Cluster(w.namespace, a.clusterName()).Build())).To(Succeed())
		}
	}

	By("deleting the Machines")
	for a := range absent(1 << everything) {
		w.delete(ctx, a.name())
	}
	Eventually(func(g Gomega) {
		g.Expect(w.remaining(ctx, g)).To(BeEmpty())
	}).WithContext(ctx).WithTimeout(2 * suite.EventuallyTimeout).Should(Succeed())
})

// createCluster creates the Cluster of some Machines, and a control plane Machine that stays.
func (w *world) createCluster(ctx context.Context, a absent) {
	GinkgoHelper()
	cluster := builder.Cluster(w.namespace, a.clusterName()).WithAnnotation(clusterv1.PausedAnnotation, "for the simulator").
		WithInfrastructureProvisioned(true).WithControlPlaneInitialized(true).Build()
	status := cluster.Status
	Expect(k8s.Create(ctx, cluster)).To(Succeed())
	before := cluster.DeepCopy()
	cluster.Status = status
	Expect(k8s.Status().Patch(ctx, cluster, client.MergeFrom(before))).To(Succeed())
	if !a.has(noKubeconfig) { // a connection that is there would outlive its Secret
		remote, err := sim.Workload().AddCluster(client.ObjectKeyFromObject(cluster))
		Expect(err).NotTo(HaveOccurred())
		kubeconfig, err := remote.Kubeconfig()
		Expect(err).NotTo(HaveOccurred())
		Expect(k8s.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: simulator.KubeconfigSecretName(cluster.Name)},
			Data:       map[string][]byte{"value": kubeconfig},
		})).To(Succeed())
	}
	Expect(k8s.Create(ctx, builder.Machine(w.namespace, "keeper-"+a.clusterName()).WithClusterName(a.clusterName()).WithControlPlane().Build())).To(Succeed())
}

// createSettled creates a Machine as it is when it has its Node.
func (w *world) createSettled(ctx context.Context, a absent) {
	GinkgoHelper()
	infra, config := a.kinds()
	machine := builder.Machine(w.namespace, a.name()).WithLabel(clusterv1.WatchLabel, wide).WithClusterName(a.clusterName()).
		WithInfrastructureRef(infra, a.name()).WithBootstrapRef(config, a.name()).WithDataSecretName("data").WithProviderID("simulated:///" + a.name())
	if a.has(noOwner) {
		machine = machine.WithOwner(metav1.OwnerReference{
			APIVersion: clusterv1.GroupVersion.String(), Kind: "MachineSet", Name: "gone", UID: types.UID("gone"), Controller: new(true),
		})
	}
	for _, object := range []client.Object{w.object(infra, a.name()), w.object(config, a.name()), machine.Build()} {
		Expect(k8s.Create(ctx, object)).To(Succeed())
	}
	Expect(k8s.Status().Patch(ctx, w.machine(a.name()), merge(map[string]any{"status": map[string]any{
		"nodeRef": map[string]any{"name": a.name()},
	}}))).To(Succeed())
}

func (w *world) takeObjects(ctx context.Context, a absent) {
	GinkgoHelper()
	infra, config := a.kinds()
	if a.has(noInfraMachine) {
		Expect(k8s.Delete(ctx, w.object(infra, a.name()))).To(Succeed())
	}
	if a.has(noBootstrapConfig) {
		Expect(k8s.Delete(ctx, w.object(config, a.name()))).To(Succeed())
	}
}

// remaining says what the Machines that are left wait for.
func (w *world) remaining(ctx context.Context, g Gomega) []string {
	machines := &clusterv1.MachineList{}
	g.Expect(k8s.List(ctx, machines, client.InNamespace(w.namespace))).To(Succeed())
	var left []string
	for i := range machines.Items {
		if m := &machines.Items[i]; strings.HasPrefix(m.Name, "without-") {
			reason, message := deletingOf(m)
			left = append(left, m.Name+": "+reason+": "+message)
		}
	}
	return left
}
