// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/builder"
)

const (
	// ours is the value of the watch-filter label of the Machines that are ours, and of the annotation that holds Cluster
	// API's manager off them.
	ours = "machinist"
	// peerModule depends on the release of Cluster API that we compare ourselves to.
	peerModule = "test/scale/peer"
)

// Cluster API's kinds were there first. Its manager is not, so what it would do can't be seen here.
var _ = Describe("Machinist beside Cluster API", Ordered, func() {
	var (
		machinist *installation
		labelled  *fleet
		before    map[string]apiextensionsv1.CustomResourceDefinitionSpec
		webhooks  *admissionregistrationv1.ValidatingWebhookConfiguration
	)
	const theirs = "theirs"

	BeforeAll(func(ctx SpecContext) {
		installClusterAPI(ctx)
		installProviders(ctx)
		before = definitions(ctx)
		webhooks = installWebhooks(ctx)
		machinist = deploy(ctx, "overlays/coexist")
		namespace := newNamespace(ctx)
		labelled = &fleet{
			sim: startSimulator(ctx), cluster: builder.Cluster(namespace, "labelled").Build(), infra: simMachine,
			labels: map[string]string{clusterv1.WatchLabel: ours},
		}
	}, NodeTimeout(deployTimeout))

	It("leaves Cluster API's definitions and webhooks as they are", func(ctx SpecContext) {
		Expect(definitions(ctx)).To(Equal(before))
		now := &admissionregistrationv1.ValidatingWebhookConfiguration{}
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(webhooks), now)).To(Succeed())
		Expect(now.ResourceVersion).To(Equal(webhooks.ResourceVersion))
	})

	It("brings the Machines with its label to Running, and holds Cluster API off them", func(ctx SpecContext) {
		Expect(k8s.Create(ctx, labelled.cluster)).To(Succeed())
		Expect(k8s.Create(ctx, builder.Machine(labelled.cluster.Namespace, theirs).WithClusterName(labelled.cluster.Name).Build())).To(Succeed())
		labelled.create(ctx, "labelled", 1, 2)
		Eventually(func(g Gomega) {
			running := 0
			for _, machine := range labelled.machines(ctx, g) {
				if machine.Name == theirs {
					continue
				}
				g.Expect(machine.Annotations).To(HaveKeyWithValue(clusterv1.PausedAnnotation, ours))
				if machine.Status.Phase == "Running" {
					running++
				}
			}
			g.Expect(running).To(Equal(3), describePods(ctx))
		}).WithContext(ctx).Should(Succeed())
	}, NodeTimeout(2*eventuallyTimeout))

	It("leaves the others alone", func(ctx SpecContext) {
		machine := &clusterv1.Machine{}
		Expect(k8s.Get(ctx, labelled.key(theirs), machine)).To(Succeed())
		Expect(machine.Status).To(BeZero())
		Expect(machine.Finalizers).To(BeEmpty())
		Expect(machine.Annotations).NotTo(HaveKey(clusterv1.PausedAnnotation))
	})

	It("has asked for nothing that its roles don't allow, also to delete Machines", func(ctx SpecContext) {
		labelled.delete(ctx)
		Expect(restarts(ctx)).To(BeZero())
		machinist.expectNothingForbidden()
	}, NodeTimeout(2*eventuallyTimeout))
})

// installClusterAPI installs the kinds of Cluster API's core for the container that it is called in.
func installClusterAPI(ctx context.Context) {
	GinkgoHelper()
	const module = "sigs.k8s.io/cluster-api"
	run(ctx, nil, "go", "-C", peerModule, "mod", "download", module)
	folder := run(ctx, nil, "go", "-C", peerModule, "list", "-m", "-f", "{{.Dir}}", module)
	installDefinitions(envtest.CRDInstallOptions{
		Paths: []string{filepath.Join(folder, "core", "config", "crd", "bases")}, ErrorIfPathMissing: true,
	})
}

// installWebhooks brings a webhook of the name, the paths and the rules of Cluster API's. As nobody serves it, it may not be
// needed.
func installWebhooks(ctx context.Context) *admissionregistrationv1.ValidatingWebhookConfiguration {
	GinkgoHelper()
	path := "/validate-cluster-x-k8s-io-v1beta2-machine"
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "capi-validating-webhook-configuration"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "validation.machine.cluster.x-k8s.io",
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				Service: &admissionregistrationv1.ServiceReference{Namespace: "capi-system", Name: "capi-webhook-service", Path: &path},
			},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{clusterv1.GroupVersion.Group}, APIVersions: []string{clusterv1.GroupVersion.Version}, Resources: []string{"machines"},
				},
			}},
			FailurePolicy: new(admissionregistrationv1.Ignore), SideEffects: new(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
		}},
	}
	Expect(k8s.Create(ctx, configuration)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(k8s.Delete(ctx, configuration)).To(Succeed()) })
	return configuration
}

// definitions are those of Cluster API's core, by name.
func definitions(ctx context.Context) map[string]apiextensionsv1.CustomResourceDefinitionSpec {
	GinkgoHelper()
	list := &apiextensionsv1.CustomResourceDefinitionList{}
	Expect(k8s.List(ctx, list)).To(Succeed())
	found := map[string]apiextensionsv1.CustomResourceDefinitionSpec{}
	for i := range list.Items {
		if crd := &list.Items[i]; crd.Spec.Group == clusterv1.GroupVersion.Group {
			found[crd.Name] = crd.Spec
		}
	}
	Expect(found).To(HaveKey(HavePrefix("machines.")))
	return found
}
