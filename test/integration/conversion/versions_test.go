// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"maps"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/machinist-dev/machinist/apis/cluster/v1beta1"
	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/apis/contract"
	clusterv1ac "github.com/machinist-dev/machinist/generated/applyconfiguration/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/simulator"
)

var _ = Describe("A client of v1beta1", func() {
	var p place

	BeforeEach(func(ctx SpecContext) {
		p = newPlace(ctx)
		p.install(ctx, "SimMachine", contract.V1Beta1, contract.V1Beta2)
	})

	It("creates Machines that one of v1beta2 reads, and sees which version the provider names", func(ctx SpecContext) {
		machine := p.oldMachine("m", "SimMachine")
		machine.Spec.Version = new("v1.37.2")
		machine.Spec.NodeDrainTimeout = &metav1.Duration{Duration: 90500 * time.Millisecond}
		Expect(oldUser.Create(ctx, machine)).To(Succeed())

		stored := p.readNew(ctx, "m")
		Expect(stored.Spec.InfrastructureRef).To(Equal(clusterv1.ContractVersionedObjectReference{APIGroup: p.group, Kind: "SimMachine", Name: "m"}))
		Expect(stored.Spec.Version).To(Equal("v1.37.2"))
		Expect(stored.Spec.Deletion.NodeDrainTimeoutSeconds).To(HaveValue(BeEquivalentTo(90)))
		Expect(stored.Annotations).NotTo(HaveKey(clusterv1beta1.ConversionDataAnnotation))

		shown := p.readOld(ctx, "m")
		Expect(shown.Spec.InfrastructureRef).To(Equal(corev1.ObjectReference{
			APIVersion: p.group + "/" + simulator.NewAPIVersion, Kind: "SimMachine", Name: "m", Namespace: p.namespace,
		}))
		Expect(shown.Spec.NodeDrainTimeout.Duration).To(Equal(90 * time.Second))
		Expect(shown.UID).To(Equal(stored.UID))
	})

	It("loses nothing when it updates and patches what one of v1beta2 has written", func(ctx SpecContext) {
		machine := p.newMachine("m", "SimMachine")
		machine.Spec.MinReadySeconds = new(int32(30))
		Expect(newUser.Create(ctx, machine)).To(Succeed())
		machine.Status = clusterv1.MachineStatus{
			Phase: string(clusterv1.MachinePhaseUpdating), FailureDomain: "zone-a",
			Initialization: clusterv1.MachineInitializationStatus{InfrastructureProvisioned: new(false)},
		}
		Expect(newUser.Status().Update(ctx, machine)).To(Succeed())

		old := p.readOld(ctx, "m")
		Expect(old.Status.Phase).To(Equal("Running"))
		old.Labels = map[string]string{"by": "update"}
		Expect(oldUser.Update(ctx, old)).To(Succeed())
		base := old.DeepCopy()
		old.Spec.ProviderID = new("sim:///m")
		Expect(oldUser.Patch(ctx, old, client.MergeFrom(base))).To(Succeed())
		old.Status.BootstrapReady = true
		Expect(oldUser.Status().Update(ctx, old)).To(Succeed())

		found := p.readNew(ctx, "m")
		Expect(found.Labels).To(HaveKeyWithValue("by", "update"))
		Expect(found.Spec.ProviderID).To(Equal("sim:///m"))
		Expect(found.Spec.MinReadySeconds).To(HaveValue(BeEquivalentTo(30)))
		Expect(found.Status).To(Equal(clusterv1.MachineStatus{
			Phase: string(clusterv1.MachinePhaseUpdating), FailureDomain: "zone-a",
			Initialization: clusterv1.MachineInitializationStatus{InfrastructureProvisioned: new(false), BootstrapDataSecretCreated: new(true)},
		}))
	})

	It("is refused what can't be a reference, and an annotation that can't be read", func(ctx SpecContext) {
		machine := p.oldMachine("m", "SimMachine")
		machine.Spec.InfrastructureRef.APIVersion = "a/b/c"
		Expect(oldUser.Create(ctx, machine)).To(MatchError(ContainSubstring(
			`Machine ` + p.namespace + `/m: spec.infrastructureRef.apiVersion: expected a group and a version`)))

		machine = p.oldMachine("m", "SimMachine")
		machine.Annotations = map[string]string{clusterv1beta1.ConversionDataAnnotation: "gone"}
		Expect(oldUser.Create(ctx, machine)).To(MatchError(ContainSubstring("metadata.annotations[cluster.x-k8s.io/conversion-data]: expected")))
	})

	It("shares fields with one of v1beta2 when both apply", func(ctx SpecContext) {
		const oldOwner, newOwner = client.FieldOwner("old"), client.FieldOwner("new")
		apply := func(spec map[string]any) error {
			merged := map[string]any{
				"clusterName": "sim", "bootstrap": map[string]any{"dataSecretName": "bootstrap-data"},
				"infrastructureRef": map[string]any{
					"apiVersion": p.group + "/" + simulator.NewAPIVersion, "kind": "SimMachine", "name": "m", "namespace": p.namespace,
				},
			}
			maps.Copy(merged, spec)
			object := &unstructured.Unstructured{Object: map[string]any{"spec": merged}}
			object.SetGroupVersionKind(clusterv1beta1.GroupVersion.WithKind("Machine"))
			object.SetNamespace(p.namespace)
			object.SetName("m")
			return oldUser.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), oldOwner)
		}
		By("applying in turn")
		Expect(apply(map[string]any{"version": "v1.37.2", "nodeDrainTimeout": "1m0s"})).To(Succeed())
		ours := func() *clusterv1ac.MachineApplyConfiguration { // anew each time, as the answer is read into it
			return clusterv1ac.Machine("m", p.namespace).WithLabels(map[string]string{"by": "new"}).
				WithSpec(clusterv1ac.MachineSpec().WithMinReadySeconds(30))
		}
		Expect(newUser.Apply(ctx, ours(), newOwner)).To(Succeed())
		Expect(newUser.Status().Apply(ctx, clusterv1ac.Machine("m", p.namespace).WithStatus(clusterv1ac.MachineStatus().
			WithConditions(metav1ac.Condition().WithType("Ready").WithStatus(metav1.ConditionTrue).WithReason("Ready").
				WithMessage("").WithLastTransitionTime(metav1.Now()))), newOwner)).To(Succeed())
		Expect(apply(map[string]any{"version": "v1.37.3"})).To(Succeed())

		found := p.readNew(ctx, "m")
		Expect(found.Spec.Version).To(Equal("v1.37.3"))
		Expect(found.Spec.Deletion.NodeDrainTimeoutSeconds).To(BeNil(), "the owner has dropped it")
		Expect(found.Spec.MinReadySeconds).To(HaveValue(BeEquivalentTo(30)))
		Expect(found.Labels).To(HaveKeyWithValue("by", "new"))
		Expect(found.Status.Conditions).To(ConsistOf(HaveField("Type", "Ready")))
		Expect(found.ManagedFields).To(ConsistOf(
			And(HaveField("Manager", "old"), HaveField("APIVersion", "cluster.x-k8s.io/v1beta1")),
			And(HaveField("Manager", "new"), HaveField("APIVersion", "cluster.x-k8s.io/v1beta2"), HaveField("Subresource", "")),
			And(HaveField("Manager", "new"), HaveField("APIVersion", "cluster.x-k8s.io/v1beta2"), HaveField("Subresource", "status")),
		))

		By("applying the same again, which changes nothing")
		Expect(apply(map[string]any{"version": "v1.37.3"})).To(Succeed())
		Expect(newUser.Apply(ctx, ours(), newOwner)).To(Succeed())
		Expect(p.readNew(ctx, "m").ResourceVersion).To(Equal(found.ResourceVersion))

		By("applying what the other has")
		contested := clusterv1ac.Machine("m", p.namespace).WithSpec(clusterv1ac.MachineSpec().WithVersion("v1.36.0"))
		Expect(newUser.Apply(ctx, contested, newOwner)).To(MatchError(ContainSubstring(`conflict with "old"`)))
		Expect(apply(map[string]any{})).To(Succeed())
		Expect(p.readNew(ctx, "m").Spec.Version).To(BeEmpty())
		Expect(newUser.Apply(ctx, contested, newOwner)).To(Succeed())
		Expect(p.readOld(ctx, "m").Spec.Version).To(HaveValue(Equal("v1.36.0")))
	})

	It("has Clusters with a topology, in the form of v1beta1", func(ctx SpecContext) {
		topology := `{"class":"quick","controlPlane":{"replicas":3,"nodeDrainTimeout":"10m0s"},"version":"v1.37.2"}`
		cluster := &clusterv1beta1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "sim"},
			Spec: clusterv1beta1.ClusterSpec{
				Topology:          &runtime.RawExtension{Raw: []byte(topology)},
				InfrastructureRef: &corev1.ObjectReference{APIVersion: p.group + "/v1", Kind: "Uninstalled", Name: "sim"},
			},
		}
		Expect(oldUser.Create(ctx, cluster)).To(Succeed())

		stored := &clusterv1.Cluster{}
		Expect(newUser.Get(ctx, p.key("sim"), stored)).To(Succeed())
		Expect(stored.Spec.Topology.Raw).To(MatchJSON(
			`{"classRef":{"name":"quick"},"controlPlane":{"replicas":3,"deletion":{"nodeDrainTimeoutSeconds":600}},"version":"v1.37.2"}`))
		Expect(oldUser.Get(ctx, p.key("sim"), cluster)).To(Succeed())
		Expect(cluster.Spec.Topology.Raw).To(MatchJSON(topology))
		Expect(cluster.Spec.InfrastructureRef.APIVersion).To(Equal(p.group + "/unknown"))
	})

	It("has MachineDrainRules without asking anybody", func(ctx SpecContext) {
		rule := &clusterv1beta1.MachineDrainRule{
			ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "rule"},
			Spec: clusterv1.MachineDrainRuleSpec{
				Drain: clusterv1.MachineDrainRuleDrainConfig{Behavior: clusterv1.MachineDrainRuleDrainBehaviorSkip},
			},
		}
		Expect(oldUser.Create(ctx, rule)).To(Succeed())
		found := &clusterv1.MachineDrainRule{}
		Expect(newUser.Get(ctx, p.key("rule"), found)).To(Succeed())
		Expect(found.Spec).To(Equal(rule.Spec))
		Expect(servedWithoutWebhook).To(ConsistOf("machinedrainrules"))
	})
})
