// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"context"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/machinist-dev/machinist/test/environment"
)

// as makes the Keepers of the world those of a user, whose rights are these and no others.
func (w *world) as(ctx context.Context, inNamespace, inCluster []rbacv1.PolicyRule) {
	GinkgoHelper()
	user := "keeper-of-" + w.namespace
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}
	Expect(k8s.Create(ctx, &rbacv1.Role{ObjectMeta: w.metadata("keeper"), Rules: inNamespace})).To(Succeed())
	Expect(k8s.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: w.metadata("keeper"), Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "keeper"},
	})).To(Succeed())
	cluster := metav1.ObjectMeta{Name: user}
	Expect(k8s.Create(ctx, &rbacv1.ClusterRole{ObjectMeta: cluster, Rules: inCluster})).To(Succeed())
	Expect(k8s.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: cluster, Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
	})).To(Succeed())
	w.config = rest.CopyConfig(w.config)
	w.config.Impersonate = rest.ImpersonationConfig{UserName: user}
}

// metadata of an object in the world.
func (w *world) metadata(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.namespace, Name: name}
}

// needed are the rights that a Keeper can't do without, if there is a Secret.
func (w *world) needed() (inNamespace, inCluster []rbacv1.PolicyRule) {
	rule := func(group, resource, name string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, ResourceNames: []string{name}, Verbs: verbs}
	}
	return []rbacv1.PolicyRule{rule("", "secrets", secretName, "get", "update")},
		[]rbacv1.PolicyRule{
			rule(admissionregistrationv1.GroupName, "mutatingwebhookconfigurations", w.namespace, "get", "patch"),
			rule(admissionregistrationv1.GroupName, "validatingwebhookconfigurations", w.namespace, "get", "patch"),
			rule("apiextensions.k8s.io", "customresourcedefinitions", w.crd(), "get", "patch"),
		}
}

func (w *world) configuration(ctx context.Context, g Gomega) *admissionregistrationv1.ValidatingWebhookConfiguration {
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	g.Expect(k8s.Get(ctx, types.NamespacedName{Name: w.namespace}, configuration)).To(Succeed())
	return configuration
}

var _ = Describe("A replica with least privilege", func() {
	It("gets along with rights on the objects that it is told", func(ctx SpecContext) {
		w := newWorld(ctx, calm)
		inNamespace, inCluster := w.needed()
		w.as(ctx, inNamespace, inCluster)
		Expect(k8s.Create(ctx, &corev1.Secret{ObjectMeta: w.metadata(secretName)})).To(Succeed())
		w.run(ctx)
		load := w.startLoad(ctx)
		secret := w.secret(ctx, NewWithT(GinkgoT()))
		secret.Data = nil
		Expect(k8s.Update(ctx, secret)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(w.authorities(ctx, g)).To(HaveLen(2))
			g.Expect(w.serving(ctx, g).CheckSignatureFrom(w.authorities(ctx, g)[0])).To(Succeed())
		}).WithContext(ctx).Should(Succeed())
		load.expectNoFailure()
		requests, err := env.Requests(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(requests.From("keeper-" + w.namespace)).NotTo(BeEmpty())
		Expect(requests.From("keeper-" + w.namespace).Where(func(r environment.Request) bool { return r.Code == http.StatusForbidden })).To(BeEmpty())
	})

	It("says what is missing, and is not ready", func(ctx SpecContext) {
		w := newWorld(ctx, calm)
		inNamespace, inCluster := w.needed()
		w.as(ctx, inNamespace, inCluster[:2])
		r := w.start(ctx)
		ready := func() error { return r.StartedChecker()(nil) }
		Eventually(ready).WithContext(ctx).Should(MatchError(And(
			ContainSubstring("the webhooks have no certificate yet"),
			ContainSubstring("there is no Secret "+w.namespace+"/"+secretName+": create it without content"))))
		Expect(k8s.Create(ctx, &corev1.Secret{ObjectMeta: w.metadata(secretName)})).To(Succeed())
		Eventually(ready).WithContext(ctx).Should(MatchError(And(
			ContainSubstring("has not been told yet to trust"),
			ContainSubstring("reading CustomResourceDefinition "+w.crd()))))
	})

	It("leaves alone what calls somebody else", func(ctx SpecContext) {
		w := newWorld(ctx, calm)
		configuration := w.configuration(ctx, NewWithT(GinkgoT()))
		other := configuration.Webhooks[0].DeepCopy()
		other.Name, other.ClientConfig.Service.Name = "others.example.com", "other"
		other.FailurePolicy = new(admissionregistrationv1.Ignore)
		configuration.Webhooks = append(configuration.Webhooks, *other)
		Expect(k8s.Update(ctx, configuration)).To(Succeed())
		w.run(ctx)
		webhooks := w.configuration(ctx, NewWithT(GinkgoT())).Webhooks
		Expect(webhooks[0].ClientConfig.CABundle).NotTo(BeEmpty())
		Expect(webhooks[1].ClientConfig.CABundle).To(BeEmpty())
	})
})
