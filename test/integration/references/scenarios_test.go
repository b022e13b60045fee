// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package references

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/environment/suite"
	"github.com/machinist-dev/machinist/test/simulator"
)

// bothModes makes a table of what has to hold whatever the mode is.
func bothModes(body func(ctx SpecContext, mode string)) []any {
	return []any{body, Entry("in mode warn", warn), Entry("in mode enforce", enforce)}
}

var _ = DescribeTable("A MachineSet creates the objects first and gives way to the Machine", bothModes(func(ctx SpecContext, mode string) {
	p := newPlace(ctx, mode)
	set := ownedBy("cluster.x-k8s.io/v1beta2", "MachineSet", "set", "set")
	p.object(ctx, simulator.SimMachine, "m", set)
	p.object(ctx, simulator.SimConfig, "m", set)
	owner := metav1.OwnerReference{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "MachineSet", Name: "set", UID: "set", Controller: new(true)}
	Expect(admin.creates(ctx, p.machine("m").WithOwner(owner).Build())).To(saySilently())
})...)

var _ = DescribeTable("A control plane creates the objects first and gives way to the Machine", bothModes(func(ctx SpecContext, mode string) {
	p := newPlace(ctx, mode)
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "cluster"}}
	controlPlane := ownedBy(simulator.SimControlPlane.Group+"/v1beta1", simulator.SimControlPlane.Kind, "blue", "blue")
	p.object(ctx, simulator.SimMachine, "m", controlPlane)
	merge(ctx, cluster, map[string]any{"spec": map[string]any{"controlPlaneRef": map[string]any{
		"apiGroup": simulator.SimControlPlane.Group, "kind": simulator.SimControlPlane.Kind, "name": "blue",
	}}})
	Eventually(func() answer { return admin.tries(ctx, p.machine("m").WithControlPlane().Build()) }).WithContext(ctx).Should(saySilently())
	Expect(admin.creates(ctx, p.machine("m").WithControlPlane().Build())).To(saySilently())
})...)

var _ = DescribeTable("A Machine comes before its objects", bothModes(func(ctx SpecContext, mode string) {
	p := newPlace(ctx, mode)
	Expect(admin.creates(ctx, p.machine("m").Build())).To(saySilently())
})...)

var _ = DescribeTable("A Machine is moved or restored with all that belongs to it", bothModes(func(ctx SpecContext, mode string) {
	p := newPlace(ctx, mode)
	before := ownedBy("cluster.x-k8s.io/v1beta1", "Machine", "m", "before")
	p.object(ctx, simulator.SimMachine, "m", before)
	p.object(ctx, simulator.SimConfig, "m", before)
	owner := metav1.OwnerReference{APIVersion: "cluster.x-k8s.io/v1beta1", Kind: "Cluster", Name: "cluster", UID: "before"}
	Expect(admin.creates(ctx, p.machine("m").WithProviderID("sim:///m").WithDataSecretName("data").WithOwner(owner).Build())).To(saySilently())
})...)

// unknown is a reference to a kind that no provider has.
var unknown = infra(schema.GroupKind{Group: infraGroup, Kind: "Unheard"}, "m")

var _ = Describe("A Machine comes before the CRDs of its provider", func() {
	It("passes with a warning in mode warn, and the API server passes on the whole text", func(ctx SpecContext) {
		p := newPlace(ctx, warn)
		m := p.machine("m").With(unknown).Build()
		dry := admin.tries(ctx, m)
		created := admin.creates(ctx, m)
		Expect(created).To(warnAbout("spec.infrastructureRef.kind R1"))
		Expect(created).To(Equal(dry))
		Expect(created.Texts).To(ConsistOf("spec.infrastructureRef.kind: its kind is not installed: install the provider, or correct kind and apiGroup (R1)"))
	})

	It("is denied in mode enforce, until they are there", func(ctx SpecContext) {
		p := newPlace(ctx, enforce)
		late := schema.GroupKind{Group: infraGroup, Kind: "Late"}
		m := p.machine("m").With(infra(late, "m")).Build()
		Expect(admin.tries(ctx, m)).To(denyFor("spec.infrastructureRef.kind R1"))
		denied := admin.creates(ctx, m.DeepCopy())
		Expect(denied).To(denyFor("spec.infrastructureRef.kind R1"))
		Expect(denied.Err).To(MatchError(`admission webhook "references.machine.cluster.x-k8s.io" denied the request: Machine.cluster.x-k8s.io "m" is invalid: ` +
			`spec.infrastructureRef.kind: Invalid value: "Late": its kind is not installed: install the provider, or correct kind and apiGroup (R1)`))
		suite.InstallCRDs(env, simulator.InfraMachineCRD(simulator.CRDOptions{GroupKind: late}))
		Eventually(func() answer { return admin.creates(ctx, m.DeepCopy()) }).WithContext(ctx).Should(saySilently())
	})

	It("passes in mode enforce with an exception, which is counted", func(ctx SpecContext) {
		p := newPlace(ctx, enforce)
		before := verdicts("R1", "skipped")
		m := p.machine("m").With(unknown).WithAnnotation(clusterv1.SkipReferenceValidationAnnotation, "R1").Build()
		Expect(admin.creates(ctx, m)).To(saySilently())
		Expect(verdicts("R1", "skipped")).To(BeNumerically(">", before))
	})
})

var _ = DescribeTable("A Machine with a wrong reference, which is stored, is replaced and applied as a whole", bothModes(func(ctx SpecContext, mode string) {
	p := newPlace(ctx, mode)
	m := p.machine("m").With(unknown).Build()
	m.Annotations = map[string]string{clusterv1.SkipReferenceValidationAnnotation: "all"}
	Expect(admin.creates(ctx, m)).To(saySilently())
	before := calls()["update"]
	replaces := func(options ...client.UpdateOption) (last answer) {
		GinkgoHelper()
		// The controller writes what it has observed, so an attempt may come too late. Only the last one's answer counts.
		_ = retry.RetryOnConflict(retry.DefaultRetry, func() error {
			stored := &clusterv1.Machine{}
			Expect(k8s.Get(ctx, client.ObjectKeyFromObject(m), stored)).To(Succeed())
			m.ResourceVersion = stored.ResourceVersion // as kubectl does for a file without one
			last = admin.asks(func(c client.Client) error { return c.Update(ctx, m.DeepCopy(), options...) })
			return last.Err
		})
		return last
	}
	applied := p.machine("m").With(unknown).Build()
	applies := func(options ...client.ApplyOption) answer {
		GinkgoHelper()
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(applied)
		Expect(err).NotTo(HaveOccurred())
		object := &unstructured.Unstructured{Object: content}
		object.SetGroupVersionKind(clusterv1.GroupVersion.WithKind("Machine"))
		options = append(options, client.FieldOwner("kubectl"), client.ForceOwnership)
		return admin.asks(func(c client.Client) error {
			return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), options...)
		})
	}

	By("being left with the same reference, and without the annotation")
	m.Annotations, m.Labels["example.org/new"] = nil, ""
	Expect(replaces(client.DryRunAll)).To(saySilently())
	Expect(replaces()).To(saySilently())
	applied.Labels["example.org/newer"] = ""
	Expect(applies(client.DryRunAll)).To(saySilently())
	Expect(applies()).To(saySilently())
	Expect(calls()["update"]).To(Equal(before), "nobody is asked about what stays")

	By("getting another wrong reference")
	want := found{denied: []string{"spec.infrastructureRef.kind R1"}, advised: []string{"spec.infrastructureRef R9a"}}.says(mode)
	m.Spec.InfrastructureRef.Kind, applied.Spec.InfrastructureRef.Kind = "UnheardToo", "UnheardToo"
	Expect(replaces(client.DryRunAll)).To(want)
	Expect(applies(client.DryRunAll)).To(want)
	Expect(applies()).To(want)
})...)

var _ = DescribeTable("A provider is uninstalled while there are Machines of it, which are deleted then", bothModes(func(ctx SpecContext, mode string) {
	p := newPlace(ctx, mode, unpaused)
	kind := schema.GroupKind{Group: infraGroup, Kind: "Fleeting" + mode}
	crd := simulator.InfraMachineCRD(simulator.CRDOptions{GroupKind: kind})
	suite.InstallCRDs(env, crd)
	m := p.machine("m").With(infra(kind, "m")).WithoutBootstrapRef().WithDataSecretName("data").Build()
	Eventually(func() answer { return admin.creates(ctx, m) }).WithContext(ctx).Should(saySilently())
	Expect(k8s.Delete(ctx, crd)).To(Succeed())
	Eventually(func() answer { return admin.tries(ctx, p.machine("n").With(infra(kind, "n")).Build()) }).WithContext(ctx).
		ShouldNot(saySilently(), "the webhooks know that it is gone")
	eventuallyGone(ctx, &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: crd.Name}})

	By("changing something else")
	Expect(admin.changes(ctx, m, func(m *clusterv1.Machine) { m.Labels["example.org/new"] = "" })).To(saySilently())
	Expect(admin.changes(ctx, m, func(m *clusterv1.Machine) { m.Spec.MinReadySeconds = new(int32(1)) })).To(saySilently())

	By("deleting")
	Expect(admin.asks(func(c client.Client) error { return c.Delete(ctx, m) })).To(saySilently())
	eventuallyGone(ctx, m)
})...)

var _ = Describe("A Machine of API version v1beta1", func() {
	older := func(p place, namespace string) *unstructured.Unstructured {
		ref := map[string]any{
			"apiVersion": infraGroup + "/v1beta1", "apiGroup": infraGroup, "kind": simulator.SimMachine.Kind, "name": "m",
		}
		if namespace != "" {
			ref["namespace"] = namespace
		}
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine",
			"metadata": map[string]any{"namespace": p.namespace, "name": "m"},
			"spec": map[string]any{
				"clusterName": "cluster", "infrastructureRef": ref, "bootstrap": map[string]any{"dataSecretName": "data"},
			},
		}}
	}

	It("is warned about a namespace in a reference, and judged by the rules for v1beta2", func(ctx SpecContext) {
		p := newPlace(ctx, warn)
		Eventually(func() answer { return admin.tries(ctx, older(p, "")) }).WithContext(ctx).Should(saySilently(), "the API server serves it")
		Expect(admin.tries(ctx, older(p, p.namespace))).To(saySilently())
		Expect(admin.tries(ctx, older(p, "other"))).To(warnAbout("spec.infrastructureRef.namespace R11"))
		p.object(ctx, simulator.SimMachine, "m", func(o *unstructured.Unstructured) {
			o.SetLabels(map[string]string{clusterv1.ClusterNameLabel: "red"})
		})
		Expect(admin.tries(ctx, older(p, ""))).To(warnAbout("spec.infrastructureRef.name R6"))
	})
})

// eventuallyGone waits until the API server doesn't have the object any more.
func eventuallyGone(ctx SpecContext, object client.Object) {
	GinkgoHelper()
	Eventually(func() error { return k8s.Get(ctx, client.ObjectKeyFromObject(object), object) }).WithContext(ctx).Should(Satisfy(apierrors.IsNotFound))
}
