// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package deployment

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/machinist-dev/machinist/test/environment/suite"
)

var _ = It("The API server takes every flavour, admits its pods to the namespace, and changes nothing when it is applied again", func(ctx SpecContext) {
	c := newCluster(ctx)
	suite.InstallCRDs(c.Environment,
		standIn(schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"}),
		standIn(schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "Issuer"}),
		standIn(schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "ServiceMonitor"}),
		standIn(schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "PrometheusRule"}))

	for _, folder := range append(flavours, "prometheus") {
		By(folder)
		m := render(ctx, folder)
		c.apply(ctx, m, client.DryRunAll)
		c.apply(ctx, m)
		if folder == "default" {
			By("keeping what others have filled in")
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "machinist-webhook-service-cert"}}
			filled := client.RawPatch(types.MergePatchType, []byte(`{"data":{"tls.crt":"AAAA"}}`))
			Expect(c.k8s.Patch(ctx, secret, filled)).To(Succeed())
		}
		before := c.versions(ctx, m)
		c.apply(ctx, m)
		Expect(c.versions(ctx, m)).To(Equal(before))

		for _, d := range as[appsv1.Deployment](m.of("Deployment")) {
			By("admitting a pod of " + d.Name)
			pod := &corev1.Pod{ObjectMeta: d.Spec.Template.ObjectMeta, Spec: d.Spec.Template.Spec}
			pod.Namespace, pod.GenerateName = namespace, d.Name+"-"
			Expect(c.k8s.Create(ctx, pod, client.DryRunAll)).To(Succeed())
			root := pod.DeepCopy()
			root.ResourceVersion, root.Name, root.Spec.SecurityContext.RunAsNonRoot = "", "", nil
			Expect(c.k8s.Create(ctx, root, client.DryRunAll)).To(MatchError(ContainSubstring(`violates PodSecurity "restricted`)))
		}
	}
})
