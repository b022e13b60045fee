// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package deployment

import (
	"context"
	"maps"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/builder"
	"github.com/machinist-dev/machinist/test/environment/suite"
	"github.com/machinist-dev/machinist/test/manager"
	"github.com/machinist-dev/machinist/test/simulator"
)

var _ = Describe("Beside Cluster API", Ordered, func() {
	var (
		c     *cluster
		where string
	)
	BeforeAll(func(ctx SpecContext) {
		c = newCluster(ctx)
		// Cluster API's definitions are there first; ours have what is needed of them here.
		definitions := render(ctx, "default").of("CustomResourceDefinition")
		c.apply(ctx, definitions)
		suite.InstallCRDs(c.Environment, simulator.InfraMachineCRD(simulator.CRDOptions{}), simulator.BootstrapConfigCRD(simulator.CRDOptions{}))
		m := render(ctx, "overlays/coexist")
		c.apply(ctx, m.without("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"))
		where = suite.Namespace(ctx, c.Environment)
		By("waiting until the API server has heard of the policies")
		Eventually(func(g Gomega) {
			machine := builder.Machine(where, "probe").WithLabel(clusterv1.WatchLabel, "machinist").Build()
			g.Expect(c.k8s.Create(ctx, machine, client.DryRunAll)).To(Succeed())
			g.Expect(machine.Annotations).To(HaveKeyWithValue(clusterv1.PausedAnnotation, "machinist"))
			machine = builder.Machine(where, "probe").WithAnnotation(clusterv1.PausedAnnotation, "machinist").Build()
			g.Expect(c.k8s.Create(ctx, machine, client.DryRunAll)).To(Succeed())
			g.Expect(machine.Annotations).NotTo(HaveKey(clusterv1.PausedAnnotation))
		}).WithContext(ctx).Should(Succeed())
	})
	get := func(ctx context.Context, name string) *clusterv1.Machine {
		GinkgoHelper()
		machine := &clusterv1.Machine{}
		Expect(c.k8s.Get(ctx, client.ObjectKey{Namespace: where, Name: name}, machine)).To(Succeed())
		return machine
	}
	merge := func(ctx context.Context, name, patch string) *clusterv1.Machine {
		GinkgoHelper()
		machine := builder.Machine(where, name).Build()
		Expect(c.k8s.Patch(ctx, machine, client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
		return machine
	}

	It("the label of a Machine brings the annotation with it, and takes it away", func(ctx SpecContext) {
		By("leaving others alone")
		Expect(c.k8s.Create(ctx, builder.Machine(where, "theirs").Build())).To(Succeed())
		Expect(get(ctx, "theirs").Annotations).NotTo(HaveKey(clusterv1.PausedAnnotation))
		Expect(merge(ctx, "theirs", `{"metadata":{"labels":{"cluster.x-k8s.io/watch-filter":"somebody"},"annotations":{"cluster.x-k8s.io/paused":"yes"}}}`).Annotations).
			To(HaveKeyWithValue(clusterv1.PausedAnnotation, "yes"))

		By("at the write that brings the label")
		Expect(c.k8s.Create(ctx, builder.Machine(where, "a").Build())).To(Succeed())
		Expect(merge(ctx, "a", `{"metadata":{"labels":{"cluster.x-k8s.io/watch-filter":"machinist"}}}`).Annotations).To(HaveKeyWithValue(clusterv1.PausedAnnotation, "machinist"))

		By("whoever applies the Machine without it")
		applied := &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"namespace": where, "name": "a", "labels": map[string]any{clusterv1.WatchLabel: "machinist"}},
		}}
		applied.SetGroupVersionKind(clusterv1.GroupVersion.WithKind("Machine"))
		Expect(c.k8s.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), client.FieldOwner("capi-machineset"), client.ForceOwnership)).To(Succeed())
		Expect(get(ctx, "a").Annotations).To(HaveKeyWithValue(clusterv1.PausedAnnotation, "machinist"))

		By("putting it back, unless it has another value")
		Expect(merge(ctx, "a", `{"metadata":{"annotations":{"cluster.x-k8s.io/paused":null}}}`).Annotations).To(HaveKeyWithValue(clusterv1.PausedAnnotation, "machinist"))
		Expect(merge(ctx, "a", `{"metadata":{"annotations":{"cluster.x-k8s.io/paused":""}}}`).Annotations).To(HaveKeyWithValue(clusterv1.PausedAnnotation, ""))
		Expect(merge(ctx, "a", `{"metadata":{"annotations":{"cluster.x-k8s.io/paused":null}}}`).Annotations).To(HaveKeyWithValue(clusterv1.PausedAnnotation, "machinist"))

		By("at the write that takes the label away")
		Expect(merge(ctx, "a", `{"metadata":{"labels":{"cluster.x-k8s.io/watch-filter":null}}}`).Annotations).NotTo(HaveKey(clusterv1.PausedAnnotation))
	})

	It("the manager gets the rights that a provider brings, and not those of the core manager", func(ctx SpecContext) {
		create := func(name, provider string, rule rbacv1.PolicyRule) {
			role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: maps.Clone(providerRole.Labels)}, Rules: []rbacv1.PolicyRule{rule}}
			if provider != "" {
				role.Labels["cluster.x-k8s.io/provider"] = provider
			}
			Expect(c.k8s.Create(ctx, role)).To(Succeed())
		}
		racks := rbacv1.PolicyRule{APIGroups: []string{"rack.example.org"}, Resources: []string{"racks"}, Verbs: []string{"get"}}
		create("capi-manager-role", "cluster-api", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"list"}})
		create("metal-manager-role", "", providerRole.Rules[0])
		create("rack-manager-role", "infrastructure-rack", racks) // as clusterctl installs it
		Eventually(func(g Gomega) {
			role := &rbacv1.ClusterRole{}
			g.Expect(c.k8s.Get(ctx, client.ObjectKey{Name: "machinist-provider-role"}, role)).To(Succeed())
			g.Expect(role.Rules).To(ConsistOf(providerRole.Rules[0], racks))
		}).WithContext(ctx).WithTimeout(suite.CollectionTimeout).Should(Succeed())
	})

	It("the manager runs its own Machines, which are paused for the others, and tells nobody that they are not", func(ctx SpecContext) {
		providers, err := simulator.Start(ctx, c.Config, simulator.Options{Namespaces: []string{where}, ControlPlaneInitialized: true, PayloadSize: -1, Quiet: true})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(providers.Stop)
		manager.Run(c.Config, manager.Options("--watch-filter=machinist"))
		ours, theirs := builder.Cluster(where, "ours").Build(), builder.Cluster(where, "theirs").Build()
		objects := append([]client.Object{ours, theirs}, simulator.Machines(theirs, 0, 1, simulator.Shape{PayloadSize: -1})...)
		for _, object := range simulator.Machines(ours, 0, 1, simulator.Shape{PayloadSize: -1}) {
			if machine, ok := object.(*clusterv1.Machine); ok {
				machine.Labels[clusterv1.WatchLabel] = "machinist"
			}
			objects = append(objects, object)
		}
		Expect(simulator.Create(ctx, c.k8s, 1, objects...)).To(Succeed())
		const name = "ours-worker-0"

		By("as the core manager says that the Machine is paused")
		paused := metav1.Condition{Type: clusterv1.PausedCondition, Status: metav1.ConditionTrue, Reason: clusterv1.PausedReason, Message: "Machine has the cluster.x-k8s.io/paused annotation", LastTransitionTime: metav1.Now()}
		Expect(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			machine := get(ctx, name)
			machine.Status.Conditions = append(machine.Status.Conditions, paused)
			return c.k8s.Status().Update(ctx, machine)
		})).To(Succeed())
		isPaused := ContainElement(And(HaveField("Type", clusterv1.PausedCondition), HaveField("Status", metav1.ConditionTrue)))
		Eventually(func(g Gomega) {
			machine := get(ctx, name)
			g.Expect(machine.Status.Phase).To(Equal("Running"))
			g.Expect(machine.Status.Conditions).To(ContainElement(And(HaveField("Type", clusterv1.MachineAvailableCondition), HaveField("Status", metav1.ConditionTrue))))
			g.Expect(machine.Status.Conditions).To(isPaused)
		}).WithContext(ctx).Should(Succeed())
		Expect(get(ctx, "theirs-worker-0").Finalizers).To(BeEmpty())

		By("pausing it for everybody")
		merge(ctx, name, `{"metadata":{"annotations":{"cluster.x-k8s.io/paused":""}}}`)
		Expect(c.k8s.Delete(ctx, builder.Machine(where, name).Build())).To(Succeed())
		Consistently(func() *metav1.Time { return get(ctx, name).DeletionTimestamp }).WithContext(ctx).ShouldNot(BeNil())
		Expect(get(ctx, name).Status.Phase).To(Equal("Running"))

		By("going on")
		merge(ctx, name, `{"metadata":{"annotations":{"cluster.x-k8s.io/paused":null}}}`)
		Eventually(func() error {
			return c.k8s.Get(ctx, client.ObjectKey{Namespace: where, Name: name}, &clusterv1.Machine{})
		}).WithContext(ctx).Should(MatchError(ContainSubstring("not found")))
	})
})
