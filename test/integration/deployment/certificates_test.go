// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package deployment

import (
	"encoding/base64"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/machinist-dev/machinist/test/environment"
	"github.com/machinist-dev/machinist/test/environment/suite"
	"github.com/machinist-dev/machinist/test/manager"
)

var _ = DescribeTable("The rights of the ServiceAccount are enough to look after certificates, and are all needed",
	func(ctx SpecContext, flavour string, ownAPI bool) {
		c := newCluster(ctx)
		m := render(ctx, flavour)
		if !ownAPI { // somebody else's, which are not to be touched
			definitions := render(ctx, "default").of("CustomResourceDefinition")
			for _, definition := range definitions {
				if _, converted, _ := unstructured.NestedMap(definition.Object, "spec", "conversion"); converted {
					Expect(unstructured.SetNestedField(definition.Object, "capi-webhook-service", "spec", "conversion", "webhook", "clientConfig", "service", "name")).To(Succeed())
				}
			}
			c.apply(ctx, definitions)
		}
		c.apply(ctx, m)
		account := "system:serviceaccount:" + namespace + ":machinist-manager"
		Expect(c.k8s.Create(ctx, providerRole.DeepCopy())).To(Succeed())
		c.eventuallyAllowed(ctx, account, namespace)
		options := manager.Options()
		hooks := suite.FreeAddress(ctx)
		options.WebhookHost, options.WebhookPort = hooks.Addr().String(), int(hooks.Port())
		options.WebhookCertRotation, options.WebhookService = true, namespace+"/machinist-webhook-service"
		running := manager.Run(c.accessOf(ctx, "machinist-manager"), options)

		secret := &corev1.Secret{}
		Eventually(func(g Gomega) {
			g.Expect(c.k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "machinist-webhook-service-cert"}, secret)).To(Succeed())
			g.Expect(secret.Data).To(And(HaveKey("ca.crt"), HaveKey("ca.key"), HaveKey("tls.crt"), HaveKey("tls.key")))
			for _, object := range m.of("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration") {
				current := &unstructured.Unstructured{}
				current.SetGroupVersionKind(object.GroupVersionKind())
				g.Expect(c.k8s.Get(ctx, client.ObjectKeyFromObject(object), current)).To(Succeed())
				hooks, _, err := unstructured.NestedSlice(current.Object, "webhooks")
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(hooks).To(HaveEach(HaveKeyWithValue("clientConfig", HaveKeyWithValue("caBundle", base64.StdEncoding.EncodeToString(secret.Data["ca.crt"])))))
			}
			for _, name := range []string{"machines.cluster.x-k8s.io", "clusters.cluster.x-k8s.io"} {
				crd := &apiextensionsv1.CustomResourceDefinition{}
				g.Expect(c.k8s.Get(ctx, client.ObjectKey{Name: name}, crd)).To(Succeed())
				g.Expect(crd.Spec.Conversion.Webhook.ClientConfig.CABundle != nil).To(Equal(ownAPI))
			}
		}).WithContext(ctx).Should(Succeed())
		running.Stop()

		requests, err := c.Requests(ctx)
		Expect(err).NotTo(HaveOccurred())
		requests = requests.Where(func(r environment.Request) bool { return r.User == account })
		refused := requests.Where(func(r environment.Request) bool { return r.Code == http.StatusForbidden })
		Expect(refused).To(BeEmpty())
		for _, s := range []string{"update secrets", "patch mutatingwebhookconfigurations", "patch validatingwebhookconfigurations"} {
			Expect(requests.Counts()).To(HaveKey(s))
		}
	},
	Entry("on its own", "default", true),
	Entry("beside Cluster API", "overlays/coexist", false),
)
