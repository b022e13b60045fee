// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// ownerCRD defines a kind above Machines whose objects may hold anything.
func ownerCRD(kind string) *apiextensionsv1.CustomResourceDefinition {
	singular := strings.ToLower(kind)
	anything := &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Name = singular + "s." + clusterv1.GroupVersion.Group
	crd.Spec = apiextensionsv1.CustomResourceDefinitionSpec{
		Group: clusterv1.GroupVersion.Group, Scope: apiextensionsv1.NamespaceScoped,
		Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, ListKind: kind + "List", Plural: singular + "s", Singular: singular},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
			Name: clusterv1.GroupVersion.Version, Served: true, Storage: true,
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: anything},
		}},
	}
	return crd
}

// rolloutOwner is a MachineSet or a MachineDeployment whose template has that version.
func (f *fixture) rolloutOwner(kind, name, version string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"version": version}}},
	}}
	object.SetGroupVersionKind(clusterv1.GroupVersion.WithKind(kind))
	object.SetNamespace(f.namespace)
	object.SetName(name)
	return object
}

var _ = It("A Machine says what its MachineDeployment thinks of it, whenever that changes", func(ctx SpecContext) {
	crds := envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{ownerCRD("MachineSet"), ownerCRD("MachineDeployment")}}
	_, err := envtest.InstallCRDs(env.Config, crds)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() error { return envtest.UninstallCRDs(env.Config, crds) })
	f := newFixture(ctx, newProvider)
	set, deployment := f.rolloutOwner("MachineSet", "set", "v1.36.0"), f.rolloutOwner("MachineDeployment", "deployment", "v1.36.0")
	set.SetLabels(map[string]string{clusterv1.MachineDeploymentNameLabel: "deployment"})
	machine := f.machine("m")
	machine.OwnerReferences = []metav1.OwnerReference{{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "MachineSet", Name: "set", UID: "set", Controller: new(true)}}
	create(ctx, machine)
	says := func(ctx context.Context, status metav1.ConditionStatus, reason, message string) {
		GinkgoHelper()
		f.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) {
			g.Expect(m.Status.Conditions).To(haveCondition("UpToDate", status, reason, message))
		})
	}
	f.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) {
		g.Expect(m.Status.Phase).To(Equal("Pending"))
		g.Expect(m.Status.Conditions).NotTo(ContainElement(HaveField("Type", "UpToDate")), "nobody knows")
	})

	create(ctx, set, deployment)
	says(ctx, metav1.ConditionTrue, "UpToDate", "")
	wanted := func(spec map[string]any) { mergePatch(ctx, deployment, map[string]any{"spec": spec}) }
	wanted(map[string]any{"template": map[string]any{"spec": map[string]any{"version": "v1.37.0"}}})
	says(ctx, metav1.ConditionFalse, "NotUpToDate", "* Version v1.36.0, v1.37.0 required")

	By("noticing that a time passes")
	soon := time.Now().Add(3 * time.Second).UTC().Format(time.RFC3339)
	wanted(map[string]any{"template": map[string]any{"spec": map[string]any{"version": "v1.36.0"}}, "rollout": map[string]any{"after": soon}})
	says(ctx, metav1.ConditionFalse, "NotUpToDate", "* MachineDeployment spec.rolloutAfter expired")

	By("holding nothing up when the MachineDeployment is gone")
	Expect(k8s.Delete(ctx, deployment)).To(Succeed())
	Expect(k8s.Delete(ctx, machine)).To(Succeed())
	eventuallyGone(ctx, machine)
})
