// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/builder"
	"github.com/machinist-dev/machinist/test/simulator"
	"github.com/machinist-dev/machinist/test/simulator/workload"
)

const (
	// coexist is the flavour beside Cluster API.
	coexist = "overlays/coexist"
	// ours is the value of the watch-filter label of the Machines that are ours, and of the annotation that holds Cluster
	// API's manager off them.
	ours = "machinist"
	// workers is the name of the MachineDeployment.
	workers = "workers"
)

// The names by which the two managers write, as they don't apply what they say about a Machine.
const (
	ourWriter   = "machinist-manager"
	theirWriter = "manager"
)

// What Cluster API asks of the providers besides: the kinds that it makes Machines' objects from, and one for the Cluster.
var (
	simCluster         = schema.GroupKind{Group: simMachine.Group, Kind: "SimCluster"}
	simMachineTemplate = schema.GroupKind{Group: simMachine.Group, Kind: simMachine.Kind + "Template"}
	simConfigTemplate  = schema.GroupKind{Group: simulator.SimConfig.Group, Kind: simulator.SimConfig.Kind + "Template"}
)

// Cluster API's core manager is the real one. It was there first, has Machines, and keeps the one of the control plane.
var _ = Describe("Machinist beside Cluster API", Ordered, func() {
	var (
		core      *clusterAPI
		machinist *installation
		mixed     *fleet
		before    map[string]string
		machines  map[string]string
	)

	BeforeAll(func(ctx SpecContext) {
		core = installClusterAPI(ctx)
		installProviders(ctx)
		installMoreKinds()
		mixed = &fleet{sim: startSimulator(ctx, true), infra: simMachine}
		mixed.createCluster(ctx, newNamespace(ctx))
		mixed.create(ctx, "control-plane", 1, 0)
		mixed.createDeployment(ctx, 2)
		mixed.eventuallyRunning(ctx, 3)
		before, machines = core.content(ctx), mixed.identities(ctx)
		machinist = deploy(ctx, coexist)
	}, NodeTimeout(2*deployTimeout))

	It("takes no Machine, and leaves Cluster API's installation as it is", func(ctx SpecContext) {
		Expect(core.content(ctx)).To(Equal(before))
		Expect(mixed.identities(ctx)).To(Equal(machines))
		for _, machine := range mixed.machines(ctx, Default) {
			expectWriter(&machine, theirWriter)
			Expect(machine.Annotations).NotTo(HaveKey(clusterv1.PausedAnnotation))
		}
	})

	It("has only its own rights, and those that providers bring", func(ctx SpecContext) {
		Expect(mayManager(ctx, mixed.cluster.Namespace, "list", metalMachine.Group, "metalmachines")).To(BeTrue())
		Expect(mayManager(ctx, mixed.cluster.Namespace, "list", "", "secrets")).To(BeFalse())
	})

	It("is not installed in a flavour that would replace Cluster API's definitions", func(ctx SpecContext) {
		for _, name := range []string{"deploy", "uninstall"} {
			command := exec.CommandContext(ctx, "make", "-C", root, name, "IMG="+target.first)
			command.Env = append(command.Environ(), append(noAssets, "KUBECONFIG="+target.kubeconfig)...)
			output, err := command.CombinedOutput()
			Expect(err).To(HaveOccurred())
			Expect(string(output)).To(ContainSubstring("has the CRDs of Cluster API"))
		}
	})

	It("takes Machines over by the label in their template, without replacing any", func(ctx SpecContext) {
		mixed.label(ctx, `"`+ours+`"`)
		mixed.eventuallyOurs(ctx, 2)
		mixed.eventuallyRunning(ctx, 3)
		Expect(mixed.identities(ctx)).To(Equal(machines))
		mixed.expectPeace(ctx)
		shown := target.kubectl(ctx, "get", "machines", "--all-namespaces", "--output=wide", "--label-columns", clusterv1.WatchLabel)
		for _, line := range strings.Split(shown, "\n")[1:] {
			Expect(line).To(ContainSubstring("Running"))
			if strings.Contains(line, workers) {
				Expect(line).To(HaveSuffix(ours))
			}
		}
	}, NodeTimeout(2*eventuallyTimeout))

	It("brings Machines to Running that Cluster API makes with the label, alone", func(ctx SpecContext) {
		mixed.scale(ctx, 4)
		mixed.eventuallyRunning(ctx, 5)
		mixed.eventuallyOurs(ctx, 4)
		mixed.expectOneNodeEach(ctx)
		for name, machine := range mixed.workers(ctx, Default) {
			if machines[name] == "" {
				expectWriter(machine, ourWriter)
			}
		}
		mixed.expectPeace(ctx)
	}, NodeTimeout(2*eventuallyTimeout))

	It("drains a Machine that is deleted, and Cluster API replaces it", func(ctx SpecContext) {
		mixed.deleteOne(ctx, true)
		mixed.eventuallyRunning(ctx, 5)
		mixed.eventuallyOurs(ctx, 4)
	}, NodeTimeout(2*eventuallyTimeout))

	It("leaves the conversion to Cluster API", func(ctx SpecContext) {
		mixed.expectOldVersion(ctx)
	})

	It("hands Machines back by the label, without replacing any, and Cluster API goes on", func(ctx SpecContext) {
		machines = mixed.identities(ctx)
		mixed.label(ctx, "null")
		mixed.eventuallyTheirs(ctx)
		Expect(mixed.identities(ctx)).To(Equal(machines))
		mixed.scale(ctx, 5)
		mixed.eventuallyRunning(ctx, 6)
		for name, machine := range mixed.workers(ctx, Default) {
			if machines[name] == "" {
				expectWriter(machine, theirWriter)
			}
		}
		mixed.deleteOne(ctx, false)
		mixed.eventuallyRunning(ctx, 6)
		mixed.expectPeace(ctx)
	}, NodeTimeout(3*eventuallyTimeout))

	It("has asked for nothing that its roles don't allow", func(ctx SpecContext) {
		Expect(restarts(ctx)).To(BeZero())
		machinist.expectNothingForbidden()
	})

	It("is undeployed without a trace, and Cluster API goes on to the end", func(ctx SpecContext) {
		machines = mixed.identities(ctx)
		machinist.undeploy(ctx)
		Eventually(func() []string { return inventory(ctx) }).WithContext(ctx).Should(ConsistOf(machinist.before))
		Expect(core.content(ctx)).To(Equal(before))
		Expect(mixed.identities(ctx)).To(Equal(machines))
		mixed.expectOldVersion(ctx)
		mixed.scale(ctx, 6)
		mixed.eventuallyRunning(ctx, 7)
		mixed.delete(ctx)
		Expect(restarts(ctx)).To(BeZero())
	}, NodeTimeout(deployTimeout))
})

// installMoreKinds installs them for the container that it is called in.
func installMoreKinds() {
	GinkgoHelper()
	installDefinitions(envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{
		simulator.InfraMachineCRD(simulator.CRDOptions{GroupKind: simCluster, AnyContent: true}),
		simulator.InfraMachineCRD(simulator.CRDOptions{GroupKind: simMachineTemplate, AnyContent: true}),
		simulator.BootstrapConfigCRD(simulator.CRDOptions{GroupKind: simConfigTemplate, AnyContent: true}),
	}})
}

// createCluster creates the Cluster, with the object of a provider that has nothing left to do.
func (f *fleet) createCluster(ctx context.Context, namespace string) {
	GinkgoHelper()
	f.cluster = builder.Cluster(namespace, "mixed").With(func(c *clusterv1.Cluster) {
		c.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: simCluster.Group, Kind: simCluster.Kind, Name: c.Name}
	}).Build()
	infra := f.createObject(ctx, simCluster.WithVersion(simulator.NewAPIVersion), f.cluster.Name, map[string]any{})
	infra.Object["status"] = map[string]any{"initialization": map[string]any{"provisioned": true}}
	Expect(k8s.Status().Update(ctx, infra)).To(Succeed())
	Expect(k8s.Create(ctx, f.cluster)).To(Succeed())
}

// createObject creates an object of a kind that has no type here.
func (f *fleet) createObject(ctx context.Context, gvk schema.GroupVersionKind, name string, spec map[string]any) *unstructured.Unstructured {
	GinkgoHelper()
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetGroupVersionKind(gvk)
	object.SetNamespace(f.cluster.Namespace)
	object.SetName(name)
	Expect(k8s.Create(ctx, object)).To(Succeed())
	return object
}

// createDeployment creates a MachineDeployment with its templates.
func (f *fleet) createDeployment(ctx context.Context, replicas int64) {
	GinkgoHelper()
	reference := func(kind schema.GroupKind) map[string]any {
		return map[string]any{"apiGroup": kind.Group, "kind": kind.Kind, "name": workers}
	}
	for _, kind := range []schema.GroupKind{simMachineTemplate, simConfigTemplate} {
		f.createObject(ctx, kind.WithVersion(simulator.NewAPIVersion), workers, map[string]any{"template": map[string]any{"spec": map[string]any{}}})
	}
	f.createObject(ctx, clusterv1.GroupVersion.WithKind("MachineDeployment"), workers, map[string]any{
		"clusterName": f.cluster.Name,
		"replicas":    replicas,
		"selector":    map[string]any{},
		"template": map[string]any{"spec": map[string]any{
			"clusterName":       f.cluster.Name,
			"version":           workload.KubernetesVersion,
			"bootstrap":         map[string]any{"configRef": reference(simConfigTemplate)},
			"infrastructureRef": reference(simMachineTemplate),
		}},
	})
}

// label sets the label in the template of the MachineDeployment to a value in JSON, as docs/install.md says.
func (f *fleet) label(ctx context.Context, value string) {
	GinkgoHelper()
	patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"labels":{%q:%s}}}}}`, clusterv1.WatchLabel, value)
	target.kubectl(ctx, "--namespace", f.cluster.Namespace, "patch", "machinedeployment", workers, "--type=merge", "--patch", patch)
}

func (f *fleet) scale(ctx context.Context, replicas int) {
	GinkgoHelper()
	target.kubectl(ctx, "--namespace", f.cluster.Namespace, "scale", "machinedeployment", workers, fmt.Sprintf("--replicas=%d", replicas))
}

// workers are the Machines of the MachineDeployment that are not going, by name.
func (f *fleet) workers(ctx context.Context, g Gomega) map[string]*clusterv1.Machine {
	found := map[string]*clusterv1.Machine{}
	for _, machine := range f.machines(ctx, g) {
		if strings.HasPrefix(machine.Name, workers+"-") && machine.DeletionTimestamp.IsZero() {
			found[machine.Name] = &machine
		}
	}
	return found
}

// eventuallyOurs waits until all workers, so many of them, have the label and the annotation, and Cluster API says that they are
// paused for it.
func (f *fleet) eventuallyOurs(ctx context.Context, count int) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		found := f.workers(ctx, g)
		g.Expect(found).To(HaveLen(count))
		for _, machine := range found {
			g.Expect(machine.Labels).To(HaveKeyWithValue(clusterv1.WatchLabel, ours))
			g.Expect(machine.Annotations).To(HaveKeyWithValue(clusterv1.PausedAnnotation, ours))
			g.Expect(machine.Status.Conditions).To(ContainElement(havePaused(metav1.ConditionTrue)))
		}
	}).WithContext(ctx).Should(Succeed())
}

// eventuallyTheirs waits until no worker has the label or the annotation, and Cluster API says that they are not paused.
func (f *fleet) eventuallyTheirs(ctx context.Context) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		for _, machine := range f.workers(ctx, g) {
			g.Expect(machine.Labels).NotTo(HaveKey(clusterv1.WatchLabel))
			g.Expect(machine.Annotations).NotTo(HaveKey(clusterv1.PausedAnnotation))
			g.Expect(machine.Status.Conditions).To(ContainElement(havePaused(metav1.ConditionFalse)))
		}
	}).WithContext(ctx).Should(Succeed())
}

func havePaused(status metav1.ConditionStatus) OmegaMatcher {
	return And(HaveField("Type", clusterv1.PausedCondition), HaveField("Status", status))
}

// expectPeace makes sure that the managers don't write back what the other has written.
func (f *fleet) expectPeace(ctx context.Context) {
	GinkgoHelper()
	versions := func(g Gomega) map[string]string {
		found := map[string]string{}
		for _, machine := range f.machines(ctx, g) {
			found[machine.Name] = machine.ResourceVersion
		}
		return found
	}
	last := versions(Default)
	Eventually(func(g Gomega) {
		previous := last
		last = versions(g)
		g.Expect(last).To(Equal(previous))
	}).WithContext(ctx).MustPassRepeatedly(12).Should(Succeed(), "three seconds without a write")
}

// deleteOne deletes a worker on whose Node a Pod runs, and waits until Machine, Pod and Node are gone.
func (f *fleet) deleteOne(ctx context.Context, labelled bool) {
	GinkgoHelper()
	name := slices.Sorted(maps.Keys(f.workers(ctx, Default)))[0]
	machine := f.workers(ctx, Default)[name]
	Expect(machine.Labels[clusterv1.WatchLabel] == ours).To(Equal(labelled))
	node := types.NamespacedName{Name: machine.Status.NodeRef.Name}
	pod := types.NamespacedName{Namespace: "apps", Name: name}
	Expect(f.workload().RunPod(pod, node.Name)).To(Succeed())
	Expect(k8s.Delete(ctx, machine)).To(Succeed())
	Eventually(func() error { return k8s.Get(ctx, f.key(name), &clusterv1.Machine{}) }).WithContext(ctx).
		Should(Satisfy(apierrors.IsNotFound))
	Expect(f.workload().Get(pod, &corev1.Pod{})).To(Satisfy(apierrors.IsNotFound))
	Expect(f.workload().Get(node, &corev1.Node{})).To(Satisfy(apierrors.IsNotFound))
}

// expectOldVersion reads the Machines in the version that Cluster API's manager converts.
func (f *fleet) expectOldVersion(ctx context.Context) {
	GinkgoHelper()
	gv := schema.GroupVersion{Group: clusterv1.GroupVersion.Group, Version: "v1beta1"}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gv.WithKind("MachineList"))
	Expect(k8s.List(ctx, list, client.InNamespace(f.cluster.Namespace))).To(Succeed())
	Expect(list.Items).To(HaveLen(len(f.machines(ctx, Default))))
	for _, item := range list.Items {
		machine := &unstructured.Unstructured{}
		machine.SetGroupVersionKind(gv.WithKind("Machine"))
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(&item), machine)).To(Succeed())
		phase, _, err := unstructured.NestedString(machine.Object, "status", "phase")
		Expect(err).NotTo(HaveOccurred())
		Expect(phase).To(Equal("Running"))
		// What v1beta2 doesn't have, and only the conversion knows.
		version, _, err := unstructured.NestedString(machine.Object, "spec", "infrastructureRef", "apiVersion")
		Expect(err).NotTo(HaveOccurred())
		Expect(version).To(HavePrefix(simMachine.Group + "/"))
	}
}

// expectWriter makes sure that all which only the one who runs a Machine says about it has been said by one manager.
func expectWriter(machine *clusterv1.Machine, manager string) {
	GinkgoHelper()
	for _, field := range []string{"phase", "nodeRef", "nodeInfo", "addresses", "initialization"} {
		Expect(writers(machine, "f:status", "f:"+field)).To(Equal([]string{manager}), "%s of Machine %s", field, machine.Name)
	}
	Expect(writers(machine, "f:spec", "f:providerID")).To(Equal([]string{manager}), machine.Name)
}

// writers are the managers that own a field of an object.
func writers(object client.Object, path ...string) []string {
	GinkgoHelper()
	var names []string
	for _, entry := range object.GetManagedFields() {
		fields := map[string]any{}
		Expect(json.Unmarshal(entry.FieldsV1.Raw, &fields)).To(Succeed())
		if _, found, err := unstructured.NestedFieldNoCopy(fields, path...); err == nil && found {
			names = append(names, entry.Manager)
		}
	}
	return names
}
