// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package deployment

import (
	"context"
	"crypto/tls"
	"net/http"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/builder"
	"github.com/machinist-dev/machinist/test/environment"
	"github.com/machinist-dev/machinist/test/environment/suite"
	"github.com/machinist-dev/machinist/test/manager"
	"github.com/machinist-dev/machinist/test/simulator"
)

// foreign is a kind of a provider whose group is none of Cluster API's.
var foreign = schema.GroupKind{Group: "metal.example.org", Kind: "Server"}

// providerRole is what such a provider brings.
var providerRole = &rbacv1.ClusterRole{
	ObjectMeta: metav1.ObjectMeta{Name: "metal-provider-for-managers", Labels: map[string]string{"cluster.x-k8s.io/aggregate-to-manager": "true"}},
	Rules:      []rbacv1.PolicyRule{{APIGroups: []string{foreign.Group}, Resources: []string{"servers"}, Verbs: []string{"get", "list", "watch", "patch", "delete"}}},
}

// unused are rights that no request of the specs below needs, for good reason.
var unused = []string{
	"update machines/finalizers.cluster.x-k8s.io", // an API server may ask for it where an owner reference blocks deletion
	"patch events.events.k8s.io",                  // an event that comes again
	"patch events.",                               // the same, of the election
	"create leases.coordination.k8s.io",           // somebody may have deleted the one that is installed
}

var _ = DescribeTable("A manager lives on the rights of its ServiceAccount, from a Machine's creation to its end, and needs all of them",
	func(ctx SpecContext, flavour string, onlyOwnNamespace bool) {
		c := newCluster(ctx)
		m := render(ctx, flavour)
		c.apply(ctx, m.without("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"))
		Expect(c.k8s.Create(ctx, providerRole.DeepCopy())).To(Succeed())
		suite.InstallCRDs(c.Environment, simulator.InfraMachineCRD(simulator.CRDOptions{}), simulator.BootstrapConfigCRD(simulator.CRDOptions{}),
			simulator.InfraMachineCRD(simulator.CRDOptions{GroupKind: foreign}), simulator.ControlPlaneCRD(simulator.CRDOptions{}),
			standIn(clusterv1.GroupVersion.WithKind("MachineSet")), standIn(clusterv1.GroupVersion.WithKind("MachineDeployment")))
		providers, err := simulator.Start(ctx, c.Config, simulator.Options{
			InfraMachines: []schema.GroupKind{simulator.SimMachine, foreign}, ControlPlaneInitialized: true, PayloadSize: -1, Quiet: true,
		})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(providers.Stop)

		options := manager.Options("--leader-elect", "--leader-elect-resource-namespace="+namespace)
		options.DiagnosticsAddress = suite.FreeAddress(ctx).String()
		where := namespace
		if onlyOwnNamespace {
			options.Namespace = namespace
		} else {
			where = suite.Namespace(ctx, c.Environment)
		}
		account := "system:serviceaccount:" + namespace + ":machinist-manager"
		c.eventuallyAllowed(ctx, account, where)
		running := manager.Run(c.accessOf(ctx, "machinist-manager"), options)

		By("running Machines")
		cluster := builder.Cluster(where, "blue").With(func(b *clusterv1.Cluster) {
			b.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{APIGroup: simulator.SimControlPlane.Group, Kind: simulator.SimControlPlane.Kind, Name: "blue"}
		}).Build()
		objects := append([]client.Object{cluster}, simulator.Machines(cluster, 1, 2, simulator.Shape{PayloadSize: -1})...)
		objects = append(objects, simulator.Machines(cluster, 0, 1, simulator.Shape{PayloadSize: -1, InfraMachine: foreign, Prefix: "metal"})...)
		Expect(simulator.Create(ctx, c.k8s, 4, objects...)).To(Succeed())
		machines := &clusterv1.MachineList{}
		Eventually(func(g Gomega) {
			g.Expect(c.k8s.List(ctx, machines, client.InNamespace(where))).To(Succeed())
			g.Expect(machines.Items).To(And(HaveLen(4), HaveEach(HaveField("Status.Phase", "Running"))))
		}).WithContext(ctx).Should(Succeed())

		By("telling its metrics to those who may read them, and to nobody else")
		c.expectMetrics(ctx, options.DiagnosticsAddress)

		By("deleting them")
		Expect(c.k8s.DeleteAllOf(ctx, &clusterv1.Machine{}, client.InNamespace(where))).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(c.k8s.List(ctx, machines, client.InNamespace(where))).To(Succeed())
			g.Expect(machines.Items).To(BeEmpty())
		}).WithContext(ctx).Should(Succeed())
		running.Stop()

		requests, err := c.Requests(ctx)
		Expect(err).NotTo(HaveOccurred())
		requests = requests.Where(func(r environment.Request) bool { return r.User == account })
		Expect(requests).NotTo(BeEmpty())
		refused := requests.Where(func(r environment.Request) bool {
			return r.Code == http.StatusUnauthorized || r.Code == http.StatusForbidden
		})
		Expect(refused).To(BeEmpty())
		Expect(requests.Where(func(r environment.Request) bool { return r.Resource == "secrets" })).To(HaveEach(HaveField("Verb", "get")))
		if onlyOwnNamespace {
			Expect(requests.Where(func(r environment.Request) bool { return r.Namespace != namespace && r.Resource != "" })).To(HaveEach(
				HaveField("Resource", BeElementOf("customresourcedefinitions", "tokenreviews", "subjectaccessreviews"))))
		}
		expectNeeded(m, requests)
	},
	Entry("for all namespaces", "default", false),
	Entry("for one namespace", "overlays/namespaced", true),
)

// eventuallyAllowed waits until the API server has heard of the roles, and the aggregated one has been put together.
func (c *cluster) eventuallyAllowed(ctx context.Context, account, where string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		for _, attributes := range []authorizationv1.ResourceAttributes{
			{Namespace: where, Verb: "list", Group: foreign.Group, Resource: "servers"},
			{Namespace: where, Verb: "list", Group: clusterv1.GroupVersion.Group, Resource: "machines"},
			{Verb: "list", Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"},
			{Namespace: namespace, Verb: "create", Group: "coordination.k8s.io", Resource: "leases"},
		} {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: account, ResourceAttributes: &attributes}}
			g.Expect(c.k8s.Create(ctx, review)).To(Succeed())
			g.Expect(review.Status.Allowed).To(BeTrue(), "%+v", attributes)
		}
	}).WithContext(ctx).WithTimeout(suite.CollectionTimeout).Should(Succeed())
}

// expectMetrics asks for metrics as nobody, as somebody without the role, and as somebody with it.
func (c *cluster) expectMetrics(ctx context.Context, address string) {
	GinkgoHelper()
	for _, name := range []string{"stranger", "prometheus"} {
		Expect(c.k8s.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})).To(Succeed())
	}
	Expect(c.k8s.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "prometheus"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "machinist-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: "prometheus"}},
	})).To(Succeed())
	// The certificate is the manager's own, and nobody's to check.
	unchecked := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	DeferCleanup(unchecked.CloseIdleConnections)
	ask := func(token string) (int, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/metrics", nil)
		if err != nil {
			return 0, err
		}
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		response, err := unchecked.Do(request)
		if err != nil {
			return 0, err
		}
		return response.StatusCode, response.Body.Close()
	}
	Eventually(ask).WithArguments(c.accessOf(ctx, "prometheus").BearerToken).WithContext(ctx).Should(Equal(http.StatusOK))
	Expect(ask(c.accessOf(ctx, "stranger").BearerToken)).To(Equal(http.StatusForbidden))
	Expect(ask("")).To(Equal(http.StatusUnauthorized))
}

// expectNeeded holds what the roles of the manager allow against what it has asked for. Rights for the certificates of
// webhooks are left out: there is no webhook server here.
func expectNeeded(m manifests, requests environment.Requests) {
	GinkgoHelper()
	asked := map[string]bool{}
	for _, r := range requests {
		resource := r.Resource
		if r.Subresource != "" {
			resource += "/" + r.Subresource
		}
		asked[r.Verb+" "+resource+"."+r.Group] = true
		if strings.HasSuffix(r.Group, ".cluster.x-k8s.io") {
			asked[r.Verb+" *."+r.Group] = true
		}
	}
	var idle []string
	for _, name := range []string{"machinist-manager-role", "machinist-definitions-role", "machinist-leader-election-role", "machinist-metrics-auth-role"} {
		role := as[rbacv1.ClusterRole](manifests{m.of("Role", "ClusterRole").named(name)})[0]
		for _, right := range rights(role.Rules) {
			// An informer lists where the API server can't send what there is at the beginning of a watch.
			list, ok := strings.CutPrefix(right, "list ")
			if !asked[right] && !slices.Contains(unused, right) && !(ok && asked["watch "+list]) {
				idle = append(idle, right)
			}
		}
	}
	Expect(idle).To(BeEmpty(), "rights that were not needed")
}

// rights are all that the rules allow, as in "get secrets." of the core group.
func rights(rules []rbacv1.PolicyRule) []string {
	var all []string
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					all = append(all, verb+" "+resource+"."+group)
				}
			}
		}
	}
	slices.Sort(all)
	return all
}
