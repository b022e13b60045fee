// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

const (
	// coexist is the flavour beside Cluster API.
	coexist = "overlays/coexist"
	// ours is the value of the watch-filter label of the Machines that are ours, and of the annotation that holds Cluster
	// API's manager off them.
	ours = "machinist"
)

// The names by which the two managers write, as they don't apply what they say about a Machine.
const (
	ourWriter   = "machinist-manager"
	theirWriter = "manager"
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
		mixed.create(ctx, "mixed", 1, 0)
		mixed.createDeployment(ctx, 2)
		mixed.eventuallyRunning(ctx, 3)
		before, machines = core.content(ctx), mixed.identities(ctx)
		machinist = deploy(ctx, coexist)
	}, NodeTimeout(2*deployTimeout))

	It("takes no Machine, and leaves Cluster API's installation as it is", func(ctx SpecContext) {
		target.kubectl(ctx, "get", "mutatingadmissionpolicybindings", "machinist-pause", "machinist-resume")
		Eventually(core.content).WithArguments(ctx).WithContext(ctx).Should(Equal(before))
		Expect(mixed.identities(ctx)).To(Equal(machines))
		for _, machine := range mixed.machines(ctx, Default) {
			expectRunBy(&machine, theirWriter)
			Expect(machine.Annotations).NotTo(HaveKey(clusterv1.PausedAnnotation))
		}
	})

	It("has only its own rights, and those that providers bring", func(ctx SpecContext) {
		Expect(machinist.may(ctx, mixed.cluster.Namespace, "list", metalMachine.Group, "metalmachines")).To(BeTrue())
		Expect(machinist.may(ctx, mixed.cluster.Namespace, "list", "", "secrets")).To(BeFalse())
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
		Expect(mixed.identities(ctx)).To(Equal(machines))
		mixed.expectPeace(ctx)
		shown := target.kubectl(ctx, "get", "machines", "--all-namespaces", "--output=wide", "--label-columns", clusterv1.WatchLabel)
		header, lines, _ := strings.Cut(shown, "\n")
		Expect(header).To(ContainSubstring("PAUSED"))
		for line := range strings.SplitSeq(lines, "\n") {
			Expect(line).To(ContainSubstring("Running"))
			paused := strings.Fields(line[strings.Index(header, "PAUSED"):])[0]
			if strings.Contains(line, workers) {
				Expect(paused).To(Equal("True"))
				Expect(line).To(HaveSuffix(ours))
			} else {
				Expect(paused).To(Equal("False"))
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
				expectRunBy(machine, ourWriter)
			}
		}
		mixed.expectPeace(ctx)
	}, NodeTimeout(2*eventuallyTimeout))

	It("drains a Machine that is deleted, and Cluster API replaces it", func(ctx SpecContext) {
		name, pod := anyOf(machines), types.NamespacedName{Namespace: "apps", Name: "web"}
		Expect(mixed.workload().RunPod(pod, mixed.workers(ctx, Default)[name].Status.NodeRef.Name)).To(Succeed())
		mixed.deleteOne(ctx, name, ourWriter)
		Expect(mixed.workload().Get(pod, &corev1.Pod{})).To(Satisfy(apierrors.IsNotFound))
		mixed.eventuallyRunning(ctx, 5)
		mixed.eventuallyOurs(ctx, 4)
	}, NodeTimeout(2*eventuallyTimeout))

	It("leaves the conversion to Cluster API", func(ctx SpecContext) {
		mixed.expectOldVersion(ctx)
	})

	It("hands Machines back by the label, without replacing any, and Cluster API goes on", func(ctx SpecContext) {
		machines = mixed.identities(ctx)
		mixed.label(ctx, "null")
		mixed.eventuallyTheirs(ctx, 4)
		Expect(mixed.identities(ctx)).To(Equal(machines))
		mixed.scale(ctx, 5)
		mixed.eventuallyRunning(ctx, 6)
		for name, machine := range mixed.workers(ctx, Default) {
			if machines[name] == "" {
				expectRunBy(machine, theirWriter)
			}
		}
		mixed.deleteOne(ctx, anyOf(machines), theirWriter)
		mixed.eventuallyRunning(ctx, 6)
		mixed.expectPeace(ctx)
	}, NodeTimeout(3*eventuallyTimeout))

	It("has asked for nothing that its roles don't allow", func(ctx SpecContext) {
		Expect(restarts(ctx)).To(BeZero(), describePods(ctx))
		machinist.expectNothingForbidden()
	})

	It("is undeployed without a trace, and Cluster API goes on to the end", func(ctx SpecContext) {
		Expect(target.kubectl(ctx, "get", "machines", "--all-namespaces", "--selector", clusterv1.WatchLabel+"="+ours)).To(BeEmpty())
		machines = mixed.identities(ctx)
		machinist.undeployLeaving(ctx)
		Eventually(core.content).WithArguments(ctx).WithContext(ctx).Should(Equal(before))
		Expect(mixed.identities(ctx)).To(Equal(machines))
		mixed.expectOldVersion(ctx)
		mixed.scale(ctx, 6)
		mixed.eventuallyRunning(ctx, 7)
		mixed.delete(ctx)
		Expect(restarts(ctx)).To(BeZero(), describePods(ctx))
	}, NodeTimeout(deployTimeout))
})

// eventuallyOurs waits until all workers, so many of them, have the label and the annotation, and Cluster API says that they are
// paused for it.
func (f *fleet) eventuallyOurs(ctx context.Context, count int) {
	GinkgoHelper()
	f.eventuallyAll(ctx, count, And(
		HaveField("Labels", HaveKeyWithValue(clusterv1.WatchLabel, ours)),
		HaveField("Annotations", HaveKeyWithValue(clusterv1.PausedAnnotation, ours)),
		havePaused(metav1.ConditionTrue)))
}

// eventuallyTheirs waits until no worker, of so many, has the label or the annotation, and Cluster API says that they are not
// paused.
func (f *fleet) eventuallyTheirs(ctx context.Context, count int) {
	GinkgoHelper()
	f.eventuallyAll(ctx, count, And(
		HaveField("Labels", Not(HaveKey(clusterv1.WatchLabel))),
		HaveField("Annotations", Not(HaveKey(clusterv1.PausedAnnotation))),
		havePaused(metav1.ConditionFalse)))
}

func havePaused(status metav1.ConditionStatus) OmegaMatcher {
	return HaveField("Status.Conditions", ContainElement(And(HaveField("Type", clusterv1.PausedCondition), HaveField("Status", status))))
}

// eventuallyAll waits until all workers, so many of them, match. They are Running, and have to stay so.
func (f *fleet) eventuallyAll(ctx context.Context, count int, match OmegaMatcher) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		found := f.workers(ctx, g)
		for name, machine := range found {
			if phase := machine.Status.Phase; phase != "Running" {
				StopTrying(fmt.Sprintf("Machine %s is %s, and was Running", name, phase)).Now()
			}
		}
		g.Expect(found).To(And(HaveLen(count), HaveEach(match)))
	}).WithContext(ctx).Should(Succeed())
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

// deleteOne deletes a worker, which one of the managers must see to, and waits until it is gone with its Node.
func (f *fleet) deleteOne(ctx context.Context, name, manager string) {
	GinkgoHelper()
	machine := f.workers(ctx, Default)[name]
	Expect(machine).NotTo(BeNil())
	node := types.NamespacedName{Name: machine.Status.NodeRef.Name}
	Expect(f.annotate(ctx, name, backupHook, "")).To(Succeed())
	Expect(k8s.Delete(ctx, machine)).To(Succeed())
	eventuallyDeleting(ctx, f.key(name), "WaitingForPreDrainHook", backupHook)
	Eventually(func(g Gomega) { // Cluster API's manager writes the conditions first
		g.Expect(k8s.Get(ctx, f.key(name), machine)).To(Succeed())
		g.Expect(fields(machine, manager)).To(ContainElement("/f:status/f:phase"))
	}).WithContext(ctx).Should(Succeed())
	Expect(f.annotate(ctx, name, backupHook, nil)).To(Succeed())
	Eventually(func() error { return k8s.Get(ctx, f.key(name), &clusterv1.Machine{}) }).WithContext(ctx).
		Should(Satisfy(apierrors.IsNotFound))
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

// expectRunBy makes sure that one manager has said all there is to say about a Machine, and that the other has said nothing. The
// condition Paused is Cluster API's in any case.
func expectRunBy(machine *clusterv1.Machine, manager string) {
	GinkgoHelper()
	for _, name := range []string{ourWriter, theirWriter} {
		said := slices.DeleteFunc(fields(machine, name), func(field string) bool { return strings.Contains(field, `{"type":"Paused"}`) })
		if name == manager {
			Expect(said).To(ContainElements(
				"/f:spec/f:providerID", "/f:status/f:phase", "/f:status/f:nodeRef/f:name", "/f:status/f:addresses"), machine.Name)
		} else {
			Expect(said).To(BeEmpty(), "what %s says about Machine %s", name, machine.Name)
		}
	}
}

// fields are those of an object that belong to a manager, as paths.
func fields(object client.Object, manager string) []string {
	GinkgoHelper()
	var paths []string
	var walk func(path string, set map[string]any)
	walk = func(path string, set map[string]any) {
		if len(set) == 0 {
			paths = append(paths, path)
		}
		for key, below := range set {
			if key != "." { // the parent itself
				walk(path+"/"+key, below.(map[string]any))
			}
		}
	}
	for _, entry := range object.GetManagedFields() {
		if entry.Manager == manager {
			set := map[string]any{}
			Expect(json.Unmarshal(entry.FieldsV1.GetRawBytes(), &set)).To(Succeed())
			walk("", set)
		}
	}
	return paths
}
