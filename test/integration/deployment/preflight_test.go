// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package deployment

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/machinist-dev/machinist/test/environment/suite"
	"github.com/machinist-dev/machinist/test/manager"
)

const (
	flavourLabel = "machinist.dev/flavour"
	deployment   = "machinist-controller-manager"
)

var _ = Describe("make", Ordered, func() {
	var c *workshop
	BeforeAll(func(ctx SpecContext) {
		env := startEnvironment(ctx)
		c = &workshop{cluster: &cluster{Environment: env, k8s: manager.User(env, "deployment-test")}, kinds: map[schema.GroupVersionKind]bool{}}
		for _, flavour := range append(flavours, "prometheus") {
			for _, object := range render(ctx, flavour) {
				c.kinds[object.GroupVersionKind()] = true
			}
		}
	})
	theirs := func() []*apiextensionsv1.CustomResourceDefinition {
		return []*apiextensionsv1.CustomResourceDefinition{
			standIn(schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"}),
			standIn(schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "Issuer"}),
			standIn(schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "ServiceMonitor"}),
			standIn(schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "PrometheusRule"}),
		}
	}
	createNamespace := func(ctx context.Context, name string) *corev1.Namespace {
		GinkgoHelper()
		created := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		Expect(c.k8s.Create(ctx, created)).To(Succeed())
		return created
	}

	It("deploys nothing where a namespace or a kind is missing, and says what brings it", func(ctx SpecContext) {
		c.expectRefused(ctx, "kind Certificate of cert-manager.io/v1: install cert-manager v1.19 or newer\n"+
			"  kind Issuer of cert-manager.io/v1: install cert-manager v1.19 or newer\n", "deploy", "OVERLAY=cert-manager")
		c.expectRefused(ctx, "kind ServiceMonitor of monitoring.coreos.com/v1: install Prometheus Operator\n"+
			"  namespace machinist-system: kubectl create namespace machinist-system\n", "deploy", "OVERLAY=prometheus")
		c.expectRefused(ctx, "kind Cluster of cluster.x-k8s.io/v1beta2: install Cluster API v1.14\n"+
			"  kind Machine of cluster.x-k8s.io/v1beta2: install Cluster API v1.14\n"+
			"  kind MachineDrainRule of cluster.x-k8s.io/v1beta2: install Cluster API v1.14\n", "deploy", "OVERLAY=coexist")
		c.expectRefused(ctx, "lacks what is needed:\n  namespace team: kubectl create namespace team\n", "deploy", "OVERLAY=namespaced", "NAMESPACE=team")
	})

	It("asks the cluster that kubectl works on", func(ctx SpecContext) {
		kubectl := findKubectl(ctx)
		c.expectRefused(ctx, "preflight: env "+kubectl+" --context=elsewhere", "deploy", "KUBECTL="+kubectl+" --context=elsewhere")
	})

	It("deploys nothing into a namespace that is going", func(ctx SpecContext) {
		going := createNamespace(ctx, "going")
		holder := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "going", Name: "holder", Finalizers: []string{"example.org/hold"}}}
		Expect(c.k8s.Create(ctx, holder)).To(Succeed())
		Expect(c.k8s.Delete(ctx, going)).To(Succeed())
		c.expectRefused(ctx, "namespace going: it is being deleted, wait until it is gone", "deploy", "OVERLAY=namespaced", "NAMESPACE=going")
		Expect(c.k8s.Patch(ctx, holder, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))).To(Succeed())
	})

	It("undeploys what is there, though its kinds are gone", func(ctx SpecContext) {
		suite.InstallCRDs(c.Environment, theirs()...)
		for _, flavour := range []string{"cert-manager", "prometheus"} {
			c.make(ctx, "deploy", "OVERLAY="+flavour)
		}
		for _, crd := range theirs() {
			Expect(c.k8s.Delete(ctx, crd)).To(Succeed())
			Eventually(func() error { return c.k8s.Get(ctx, client.ObjectKeyFromObject(crd), crd) }).WithContext(ctx).
				Should(Satisfy(apierrors.IsNotFound))
		}
		for _, flavour := range []string{"prometheus", "cert-manager"} {
			c.make(ctx, "undeploy", "OVERLAY="+flavour)
		}
		Expect(c.inventory(ctx)).To(BeEmpty())
	})

	It("deploys the same flavour again, and none over another", func(ctx SpecContext) {
		suite.InstallCRDs(c.Environment, theirs()...)
		c.make(ctx, "deploy")
		const installed = "Machinist is installed in flavour standalone in namespace machinist-system"
		for _, other := range []string{"cert-manager", "coexist"} {
			c.expectRefused(ctx, installed+", of which parts would stay beside flavour "+other+
				" in namespace machinist-system: make undeploy OVERLAY=standalone first", "deploy", "OVERLAY="+other)
		}
		c.expectRefused(ctx, installed+", and not in flavour sharded in namespace machinist-system: make undeploy OVERLAY=standalone\n",
			"undeploy", "OVERLAY=sharded")
		before := c.inventory(ctx)
		Expect(c.make(ctx, "deploy", "OVERLAY=default", "KUBECTL=LC_ALL=C "+findKubectl(ctx)+" --v=6")).
			To(ContainSubstring("/apis/apps/v1/deployments?"), "kubectl says what it does when it does it")
		Expect(c.inventory(ctx)).To(Equal(before))

		By("upgrading what doesn't tell its flavour")
		c.unmark(ctx, c.marked()...)
		for _, target := range []string{"deploy", "undeploy"} {
			c.expectRefused(ctx, "a flavour that it doesn't tell (machinist-controller-manager) in namespace machinist-system", target, "OVERLAY=sharded")
		}
		Expect(c.make(ctx, "deploy")).To(ContainSubstring("doesn't tell its flavour, and is taken for standalone"))
		Expect(c.inventory(ctx)).To(Equal(before))

		By("finding what somebody has applied over another by hand")
		c.apply(ctx, render(ctx, "sharded"))
		marked := c.marked()
		for _, shard := range []string{"-shard-0", "-shard-1"} {
			marked = append(marked, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: deployment + shard}})
		}
		c.unmark(ctx, marked...)
		const shards = "machinist-controller-manager-shard-0, machinist-controller-manager-shard-1)"
		c.expectRefused(ctx, "(machinist-controller-manager, "+shards, "deploy")
		Expect(c.k8s.Delete(ctx, marked[0])).To(Succeed())
		for _, target := range []string{"deploy", "undeploy"} {
			c.expectRefused(ctx, "("+shards, target)
		}

		By("undeploying it")
		c.apply(ctx, render(ctx, "default").of("Deployment"))
		c.apply(ctx, render(ctx, "sharded"))
		c.expectRefused(ctx, "make undeploy OVERLAY=", "deploy", "OVERLAY=sharded")
		Expect(c.make(ctx, "undeploy", "OVERLAY=standalone")).
			To(ContainSubstring("there is also flavour sharded in namespace machinist-system, " +
				"which loses what both have in common, and has to go as well: make undeploy OVERLAY=sharded"))
		for range 2 { // the second time there is nothing
			c.make(ctx, "undeploy", "OVERLAY=sharded")
		}
		Expect(c.inventory(ctx)).To(BeEmpty())
	})

	It("undeploys from the namespace that it has deployed to, and from no other", func(ctx SpecContext) {
		createNamespace(ctx, "team-a")
		createNamespace(ctx, "team-b")
		c.make(ctx, "deploy", "OVERLAY=namespaced", "NAMESPACE=team-a")
		wrong := func(args ...string) {
			GinkgoHelper()
			c.expectRefused(ctx, "make undeploy OVERLAY=namespaced NAMESPACE=team-a", args...)
		}
		wrong("undeploy", "OVERLAY=namespaced")
		wrong("undeploy", "OVERLAY=namespaced", "NAMESPACE=team-b")
		wrong("undeploy", "OVERLAY=standalone")
		wrong("deploy", "OVERLAY=namespaced", "NAMESPACE=team-b")
		By("as the webhooks tell it as well, which are the last to go")
		marked := c.marked()
		marked[0].SetNamespace("team-a")
		Expect(c.k8s.Delete(ctx, marked[0])).To(Succeed())
		wrong("undeploy", "OVERLAY=namespaced")
		By("as they do without a label")
		c.unmark(ctx, marked[1])
		wrong("undeploy", "OVERLAY=namespaced")
		By("as somebody who may not look into other namespaces")
		c.allowAllButDeployments(ctx, "deployer", "team-a")
		Expect(c.make(ctx, "undeploy", "OVERLAY=namespaced", "NAMESPACE=team-a", "KUBECTL="+findKubectl(ctx)+" --as=deployer")).
			To(ContainSubstring("looking for Deployments in namespace team-a alone"))
		Expect(c.inventory(ctx)).To(BeEmpty())
		Expect(c.k8s.Get(ctx, client.ObjectKey{Name: "team-a"}, &corev1.Namespace{})).To(Succeed())
	})

	It("renders once to undeploy", func(ctx SpecContext) {
		Expect(strings.Count(c.make(ctx, "--dry-run", "undeploy"), "hack/manifests.sh")).To(Equal(1))
	})
})

// workshop is a cluster that make works on.
type workshop struct {
	*cluster

	kinds map[schema.GroupVersionKind]bool // those that there may be of Machinist
}

// make runs a target of the Makefile, which has to end without an error, and returns what it printed.
func (c *workshop) make(ctx context.Context, args ...string) string {
	GinkgoHelper()
	output, err := runMake(ctx, c.Environment, append(args, "IMG="+image)...)
	Expect(err).NotTo(HaveOccurred(), output)
	return output
}

// expectRefused runs a target of the Makefile, which has to end with an error that says so, and to change nothing.
func (c *workshop) expectRefused(ctx context.Context, message string, args ...string) {
	GinkgoHelper()
	before := c.inventory(ctx)
	output, err := runMake(ctx, c.Environment, append(args, "IMG="+image)...)
	Expect(err).To(HaveOccurred(), output)
	Expect(output).To(ContainSubstring(message))
	Expect(c.inventory(ctx)).To(Equal(before))
}

// marked are the objects that tell make what is installed, as they are in most flavours: only their names, and kinds.
func (*workshop) marked() []client.Object {
	return []client.Object{
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: deployment}},
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "machinist-validating-webhook-configuration"}},
	}
}

// unmark takes the flavour off objects.
func (c *workshop) unmark(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, object := range objects {
		Expect(c.k8s.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"machinist.dev/flavour":null}}}`)))).To(Succeed())
		Expect(object.GetLabels()).NotTo(HaveKey(flavourLabel))
	}
}

// allowAllButDeployments gives a user all rights but those to Deployments, which it gives for one namespace.
func (c *workshop) allowAllButDeployments(ctx context.Context, user, namespace string) {
	GinkgoHelper()
	everything := []rbacv1.PolicyRule{{NonResourceURLs: []string{"*"}, Verbs: []string{"*"}}}
	for kind := range c.kinds {
		if kind.Group != "apps" {
			everything = append(everything, rbacv1.PolicyRule{APIGroups: []string{kind.Group}, Resources: []string{"*"}, Verbs: []string{"*"}})
		}
	}
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}
	role := metav1.ObjectMeta{Name: user}
	Expect(c.k8s.Create(ctx, &rbacv1.ClusterRole{ObjectMeta: role, Rules: everything})).To(Succeed())
	Expect(c.k8s.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: role, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
	})).To(Succeed())
	Expect(c.k8s.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: user}, Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
	})).To(Succeed())
	Eventually(func(g Gomega) { // the API server has heard of it
		for _, attributes := range []authorizationv1.ResourceAttributes{
			{Verb: "get", Group: "admissionregistration.k8s.io", Resource: "validatingwebhookconfigurations"},
			{Namespace: namespace, Verb: "list", Group: "apps", Resource: "deployments"},
		} {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &attributes}}
			g.Expect(c.k8s.Create(ctx, review)).To(Succeed())
			g.Expect(review.Status.Allowed).To(BeTrue(), "%+v", attributes)
		}
	}).WithContext(ctx).Should(Succeed())
}

// inventory lists all that belongs to Machinist, by kind and name, with what tells whether it has changed.
func (c *workshop) inventory(ctx context.Context) map[string]string {
	GinkgoHelper()
	found := map[string]string{}
	for kind := range c.kinds {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind)
		err := c.k8s.List(ctx, list, client.MatchingLabels{"app.kubernetes.io/part-of": "machinist"})
		if apimeta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
			continue
		}
		Expect(err).NotTo(HaveOccurred())
		for _, item := range list.Items {
			found[kind.Kind+" "+item.Namespace+"/"+item.Name] = fmt.Sprint(item.UID, item.Generation, item.Labels)
		}
	}
	return found
}
