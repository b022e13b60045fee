// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// ownerCRD defines a kind above Machines, of which only metadata matters here.
func ownerCRD(kind string) *apiextensionsv1.CustomResourceDefinition {
	singular := strings.ToLower(kind)
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Name = singular + "s." + clusterv1.GroupVersion.Group
	crd.Spec = apiextensionsv1.CustomResourceDefinitionSpec{
		Group: clusterv1.GroupVersion.Group, Scope: apiextensionsv1.NamespaceScoped,
		Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, ListKind: kind + "List", Plural: singular + "s", Singular: singular},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
			Name: clusterv1.GroupVersion.Version, Served: true, Storage: true,
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}},
		}},
	}
	return crd
}

func (p *place) owner(kind, name, revision string, labels map[string]string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(clusterv1.GroupVersion.WithKind(kind))
	object.SetNamespace(p.namespace)
	object.SetName(name)
	object.SetLabels(labels)
	object.SetAnnotations(map[string]string{clusterv1.RevisionAnnotation: revision})
	return object
}

func setRevision(ctx context.Context, object client.Object, revision any) {
	GinkgoHelper()
	Expect(k8s.Patch(ctx, object, merge(map[string]any{"metadata": map[string]any{"annotations": map[string]any{clusterv1.RevisionAnnotation: revision}}}))).To(Succeed())
}

var _ = It("A Node has the taint of outdated revisions for as long as a rollout is about to replace it", func(ctx SpecContext) {
	outdated := ContainElement(clusterv1.NodeOutdatedRevisionTaint)
	p := newPlace(ctx, ask) // its MachineSet is called blue

	By("leaving the taint alone while the kinds are not installed")
	p.change(func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, clusterv1.NodeOutdatedRevisionTaint) })
	Consistently(func() []corev1.Taint { return p.node().Spec.Taints }).WithContext(ctx).Should(outdated)

	By("removing it when they are, and there is no rollout")
	crds := []*apiextensionsv1.CustomResourceDefinition{ownerCRD("MachineSet"), ownerCRD("MachineDeployment")}
	set := p.owner("MachineSet", "blue", "1", map[string]string{clusterv1.MachineDeploymentNameLabel: "above"})
	deployment := p.owner("MachineDeployment", "above", "1", nil)
	p.expectOnePatch(ctx, func() {
		_, err := envtest.InstallCRDs(env.Config, envtest.CRDInstallOptions{CRDs: crds})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() error { return envtest.UninstallCRDs(env.Config, envtest.CRDInstallOptions{CRDs: crds}) })
		Expect(k8s.Create(ctx, deployment)).To(Succeed())
		Expect(k8s.Create(ctx, set)).To(Succeed())
	}, func(g Gomega, n *corev1.Node) { g.Expect(n.Spec.Taints).NotTo(outdated) })

	By("setting it when the MachineDeployment moves on")
	p.expectOnePatch(ctx, func() { setRevision(ctx, deployment, "2") }, func(g Gomega, n *corev1.Node) {
		g.Expect(n.Spec.Taints).To(outdated)
		g.Expect(n.Spec.Taints).To(ContainElement(HaveField("Key", "dedicated")))
	})

	By("saying which revision can't be read, and leaving it alone")
	before := p.patches()
	setRevision(ctx, set, "x")
	Eventually(func() []string { return p.notes(ctx, "FailedSyncNode") }).WithContext(ctx).Should(ContainElement(ContainSubstring("MachineSet " + p.namespace + "/blue is \"x\"")))
	Consistently(p.patches).WithContext(ctx).Should(Equal(before))

	By("removing it when the MachineSet is up to date, or goes")
	p.expectOnePatch(ctx, func() { setRevision(ctx, set, "2") }, func(g Gomega, n *corev1.Node) { g.Expect(n.Spec.Taints).NotTo(outdated) })
	p.expectOnePatch(ctx, func() { setRevision(ctx, set, nil) }, func(g Gomega, n *corev1.Node) { g.Expect(n.Spec.Taints).To(outdated) })
	p.expectOnePatch(ctx, func() { Expect(k8s.Delete(ctx, set)).To(Succeed()) }, func(g Gomega, n *corev1.Node) { g.Expect(n.Spec.Taints).NotTo(outdated) })

	By("not being woken by what else changes")
	expectQuiet(ctx, func() {
		Expect(k8s.Patch(ctx, deployment, merge(map[string]any{"metadata": map[string]any{"labels": map[string]any{"a": "b"}}}))).To(Succeed())
	})
})
