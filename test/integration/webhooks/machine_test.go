// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/environment/suite"
)

const (
	template = "must not be a template, which never becomes ready, and would be deleted with the Machine though others use it (R3)"
	core     = "must be the group of a provider: an object of Cluster API itself would be owned by the Machine, and deleted with it (R12)"
)

var longest = strings.Repeat("1", 256)

// violations are objects that break a rule, by what they are called.
func violations(namespace string) map[string]*unstructured.Unstructured {
	reference := func(group, kind string) map[string]any {
		return map[string]any{"apiGroup": group, "kind": kind, "name": "m"}
	}
	specs := map[string]map[string]any{
		"no-bootstrap":    {"bootstrap": map[string]any{}},
		"no-label":        {"clusterName": "no-"},
		"no-semver":       {"version": "v1.37"},
		"no-v":            {"version": "latest"},
		"longest-version": {"version": longest},
		"reserved-taint":  {"taints": []any{map[string]any{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule", "propagation": "Always"}}},
		"template":        {"infrastructureRef": reference("infrastructure.cluster.x-k8s.io", "SimMachineTemplate")},
		"core-kind":       {"bootstrap": map[string]any{"configRef": reference("cluster.x-k8s.io", "Machine")}},
		"ready-gate":      {"readinessGates": []any{map[string]any{"conditionType": "Ready"}}},
		"many": {"version": "v1", "readinessGates": []any{map[string]any{"conditionType": "Available"}},
			"infrastructureRef": reference("cluster.x-k8s.io", "AnyTemplate")},
	}
	objects := map[string]*unstructured.Unstructured{
		"order":    drainRule(namespace, "order", map[string]any{"behavior": "Skip", "order": int64(7)}),
		"selector": drainRule(namespace, "selector", map[string]any{"behavior": "Drain"}),
	}
	for name, spec := range specs {
		objects[name] = machineWith(namespace, name, spec)
	}
	objects["selector"].Object["spec"].(map[string]any)["pods"] = []any{map[string]any{"selector": map[string]any{
		"matchExpressions": []any{map[string]any{"key": "a", "operator": "Like"}},
	}}}
	return objects
}

// cause is an entry in the details of a refusal.
type cause = metav1.StatusCause

func invalid(field, format string, args ...any) cause {
	return cause{Type: "FieldValueInvalid", Field: field, Message: "Invalid value: " + fmt.Sprintf(format, args...)}
}

var _ = DescribeTable("An object that breaks a rule is refused, and one that is stored already can be changed and deleted:",
	func(ctx SpecContext, name string, causes ...cause) {
		namespace := suite.Namespace(ctx, env)
		stored := violations(past)[name]
		kind := stored.GetKind()

		By("creating it")
		fresh := violations(namespace)[name]
		got := refusal(k8s.Create(ctx, fresh.DeepCopy()))
		Expect(got.Code).To(BeEquivalentTo(422))
		Expect(got.Reason).To(Equal(metav1.StatusReasonInvalid))
		Expect(got.Details).To(Equal(&metav1.StatusDetails{Group: "cluster.x-k8s.io", Kind: kind, Name: name, Causes: causes}))
		texts := make([]string, 0, len(causes))
		for _, c := range causes {
			texts = append(texts, c.Field+": "+c.Message)
		}
		text := strings.Join(texts, ", ")
		if len(texts) > 1 {
			text = "[" + text + "]"
		}
		Expect(got.Message).To(Equal(fmt.Sprintf(
			`admission webhook "validation.%s.cluster.x-k8s.io" denied the request: %s.cluster.x-k8s.io %q is invalid: %s`,
			strings.ToLower(kind), kind, name, text)))

		By("creating it on a dry run")
		Expect(refusal(k8s.Create(ctx, fresh.DeepCopy(), client.DryRunAll))).To(Equal(got))

		By("applying it")
		Expect(refusal(apply(ctx, fresh, false))).To(Equal(got))

		By("replacing one that breaks no rule by it")
		good := sound(namespace, kind, name)
		Expect(k8s.Create(ctx, good)).To(Succeed())
		fresh.SetResourceVersion(good.GetResourceVersion())
		refused := refusal(k8s.Update(ctx, fresh.DeepCopy()))
		Expect(refused.Code).To(BeEquivalentTo(422))
		Expect(refused.Details.Causes).To(ContainElements(causes))
		fresh.SetResourceVersion("")
		if name != "no-bootstrap" { // what is applied removes nothing that somebody else has set
			Expect(refusal(apply(ctx, fresh, false)).Details.Causes).To(ContainElements(causes))
		}

		By("changing something else of one that is stored")
		for _, change := range []map[string]any{
			{"metadata": map[string]any{"labels": map[string]any{"a": "b"}}},
			{"metadata": map[string]any{"finalizers": []any{"example.org/held"}}},
			{"spec": otherField(kind)},
		} {
			Expect(patch(ctx, stored, change, client.DryRunAll)).To(Succeed(), "%v on a dry run", change)
			Expect(patch(ctx, stored, change)).To(Succeed(), "%v", change)
		}

		By("replacing it whole, and applying all of it, with what is wrong")
		for _, dryRun := range []bool{true, false} {
			Expect(replace(ctx, stored, dryRun)).To(Succeed(), "dry run: %v", dryRun)
			Expect(apply(ctx, violations(past)[name], dryRun)).To(Succeed(), "dry run: %v", dryRun)
		}

		By("deleting it")
		Expect(k8s.Delete(ctx, stored.DeepCopy())).To(Succeed())
		Expect(patch(ctx, stored, map[string]any{"metadata": map[string]any{"labels": map[string]any{"a": nil}}})).To(Succeed())
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(stored), stored.DeepCopy())).To(Succeed(), "its finalizer holds it")
		Expect(patch(ctx, stored, map[string]any{"metadata": map[string]any{"finalizers": nil}})).To(Succeed())
		Expect(apierrors.IsNotFound(k8s.Get(ctx, client.ObjectKeyFromObject(stored), stored.DeepCopy()))).To(BeTrue(), "it is gone")
	},
	Entry("V1", "no-bootstrap", cause{Type: "FieldValueRequired", Field: "spec.bootstrap",
		Message: "Required value: expected either spec.bootstrap.dataSecretName or spec.bootstrap.configRef to be populated"}),
	Entry("M1", "no-label", invalid("spec.clusterName", `"no-": must be usable as the value of the label cluster.x-k8s.io/cluster-name: %s`,
		"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "+
			"(e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')")),
	Entry("V3", "no-semver", invalid("spec.version", `"v1.37": must be a valid semantic version`)),
	Entry("V3, after M2", "no-v", invalid("spec.version", `"vlatest": must be a valid semantic version`)),
	Entry("V3 and V5, where M2 has no room", "longest-version",
		invalid("spec.version", `"%s": must be a valid semantic version`, longest), invalid("spec.version", `"%s": must start with v`, longest)),
	Entry("V6 and V8", "reserved-taint",
		invalid("spec.taints[0].key", `"node.kubernetes.io/not-ready": taint key must not have the prefix node.kubernetes.io/, except for node.kubernetes.io/out-of-service`),
		cause{Type: "FieldValueForbidden", Field: "spec.taints",
			Message: "Forbidden: taints are not allowed to be set when the feature gate MachineTaintPropagation is disabled"}),
	Entry("R3", "template", invalid("spec.infrastructureRef.kind", `"SimMachineTemplate": `+template)),
	Entry("R12", "core-kind", invalid("spec.bootstrap.configRef.apiGroup", `"cluster.x-k8s.io": `+core)),
	Entry("R18", "ready-gate", invalid("spec.readinessGates[0].conditionType", `"Ready": is computed from the gates, so the Machine would never become Ready (R18)`)),
	Entry("several at once", "many",
		invalid("spec.version", `"v1": must be a valid semantic version`),
		invalid("spec.infrastructureRef.kind", `"AnyTemplate": `+template),
		invalid("spec.infrastructureRef.apiGroup", `"cluster.x-k8s.io": `+core),
		invalid("spec.readinessGates[0].conditionType", `"Available": is computed from the gates, so the Machine would never become Ready (R18)`)),
	Entry("the order of a rule that does not drain", "order",
		invalid("spec.drain.order", `7: order must not be set if drain behavior is "Skip" or "WaitCompleted"`)),
	Entry("a selector that can't be read", "selector",
		invalid("spec.pods[0].selector", `{"matchExpressions":[{"key":"a","operator":"Like"}]}: "Like" is not a valid label selector operator`)),
)

// sound is an object of the kind that breaks no rule.
func sound(namespace, kind, name string) *unstructured.Unstructured {
	if kind == "Machine" {
		return machineWith(namespace, name, nil)
	}
	return drainRule(namespace, name, map[string]any{"behavior": "Drain"})
}

// replace puts what is stored in its own place, with another label.
func replace(ctx context.Context, stored client.Object, dryRun bool) error {
	GinkgoHelper()
	whole := &unstructured.Unstructured{}
	whole.SetGroupVersionKind(stored.GetObjectKind().GroupVersionKind())
	Expect(k8s.Get(ctx, client.ObjectKeyFromObject(stored), whole)).To(Succeed())
	labels := whole.GetLabels()
	labels["replaced"] = ""
	whole.SetLabels(labels)
	var options []client.UpdateOption
	if dryRun {
		options = append(options, client.DryRunAll)
	}
	return k8s.Update(ctx, whole, options...)
}

// apply applies the object on the server's side, as kubectl does.
func apply(ctx context.Context, object *unstructured.Unstructured, dryRun bool) error {
	options := []client.ApplyOption{client.FieldOwner("kubectl"), client.ForceOwnership}
	if dryRun {
		options = append(options, client.DryRunAll)
	}
	return k8s.Apply(ctx, client.ApplyConfigurationFromUnstructured(object.DeepCopy()), options...)
}

// otherField is a change that no rule is about.
func otherField(kind string) map[string]any {
	if kind == "Machine" {
		return map[string]any{"failureDomain": "zone-a"}
	}
	return map[string]any{"machines": []any{map[string]any{"selector": map[string]any{}}}}
}

var _ = Describe("A Machine that breaks no rule", func() {
	var namespace string

	BeforeEach(func(ctx SpecContext) {
		namespace = suite.Namespace(ctx, env)
		warned.take()
	})

	It("is completed when it is created, and whenever it is updated, also on a dry run", func(ctx SpecContext) {
		completed := And(
			HaveField("Labels", HaveKeyWithValue(clusterv1.ClusterNameLabel, "cluster")),
			HaveField("Spec.Version", "v1.37.2"),
			HaveField("Spec.Deletion.NodeDeletionTimeoutSeconds", HaveValue(BeEquivalentTo(10))),
		)
		for _, options := range [][]client.CreateOption{{client.DryRunAll}, nil} {
			m := machine(namespace, "m")
			m.Labels, m.Spec.Version, m.Spec.Deletion = nil, "1.37.2", clusterv1.MachineDeletionSpec{}
			Expect(k8s.Create(ctx, m, options...)).To(Succeed())
			Expect(m).To(completed)
		}
		for _, options := range [][]client.UpdateOption{{client.DryRunAll}, nil} {
			m := &clusterv1.Machine{}
			Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "m"}, m)).To(Succeed())
			m.Labels[clusterv1.ClusterNameLabel], m.Spec.Version, m.Spec.Deletion = "other", "1.37.2", clusterv1.MachineDeletionSpec{}
			Expect(k8s.Update(ctx, m, options...)).To(Succeed())
			Expect(m).To(completed)
		}
		Expect(warned.take()).To(BeEmpty())
	})

	It("keeps what the defaulter does not know", func(ctx SpecContext) {
		m := machineWith(namespace, "m", map[string]any{"bootstrap": map[string]any{"dataSecretName": ""}, "minReadySeconds": int64(0)})
		Expect(k8s.Create(ctx, m)).To(Succeed())
		Expect(m.Object["spec"]).To(And(HaveKeyWithValue("bootstrap", HaveKeyWithValue("dataSecretName", "")), HaveKeyWithValue("minReadySeconds", BeEquivalentTo(0))))
	})

	It("can't move to another Cluster", func(ctx SpecContext) {
		m := machineWith(namespace, "m", nil)
		Expect(k8s.Create(ctx, m.DeepCopy())).To(Succeed())
		Expect(refusal(patch(ctx, m, map[string]any{"spec": map[string]any{"clusterName": "other"}})).Details.Causes).To(ConsistOf(
			cause{Type: "FieldValueForbidden", Field: "spec.clusterName", Message: "Forbidden: field is immutable"}))
	})

	It("is stored with a warning if a gate of it has no effect", func(ctx SpecContext) {
		gates := map[string]any{"readinessGates": []any{map[string]any{"conditionType": "Deleting"}}}
		want := ConsistOf("spec.readinessGates[0].polarity: Deleting is negative for Ready anyway, the gate changes nothing (R18a)")
		Expect(k8s.Create(ctx, machineWith(namespace, "m", gates), client.DryRunAll)).To(Succeed())
		Expect(warned.take()).To(want)
		m := machineWith(namespace, "m", gates)
		Expect(k8s.Create(ctx, m)).To(Succeed())
		Expect(warned.take()).To(want)
		Expect(patch(ctx, m, map[string]any{"metadata": map[string]any{"labels": map[string]any{"a": "b"}}})).To(Succeed())
		Expect(warned.take()).To(BeEmpty())
	})

	It("is not judged by a rule that its annotation names", func(ctx SpecContext) {
		m := violations(namespace)["template"]
		m.SetAnnotations(map[string]string{clusterv1.SkipReferenceValidationAnnotation: "R3"})
		Expect(k8s.Create(ctx, m)).To(Succeed())
		Expect(patch(ctx, m, map[string]any{"metadata": map[string]any{"annotations": nil}})).To(Succeed())
	})

	It("is not judged while it is being deleted, nor is its status", func(ctx SpecContext) {
		m := machineWith(namespace, "m", nil)
		m.SetFinalizers([]string{"example.org/held"})
		Expect(k8s.Create(ctx, m.DeepCopy())).To(Succeed())
		Expect(k8s.Delete(ctx, m.DeepCopy())).To(Succeed())
		Expect(patch(ctx, m, map[string]any{"spec": map[string]any{"version": "v1", "clusterName": "other"}})).To(Succeed())
		Expect(k8s.Status().Patch(ctx, m.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"status":{"phase":"Deleting"}}`)))).To(Succeed())
		Expect(patch(ctx, m, map[string]any{"metadata": map[string]any{"finalizers": nil}})).To(Succeed())
	})

	DescribeTable("passes without a warning",
		func(ctx SpecContext, change func(*clusterv1.Machine)) {
			m := machine(namespace, "m")
			change(m)
			Expect(k8s.Create(ctx, m)).To(Succeed())
			By("adopting it")
			adopt := map[string]any{"metadata": map[string]any{
				"finalizers":      []any{clusterv1.MachineFinalizer},
				"ownerReferences": []any{map[string]any{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "cluster", "uid": "u"}},
			}}
			Expect(patch(ctx, m, adopt)).To(Succeed())
			By("filling in what its providers say")
			Expect(patch(ctx, m, map[string]any{"spec": map[string]any{
				"providerID": "sim:///0", "failureDomain": "zone-a", "bootstrap": map[string]any{"dataSecretName": "filled-in"},
			}})).To(Succeed())
			Expect(warned.take()).To(BeEmpty())
		},
		Entry("as a MachineSet creates it", func(m *clusterv1.Machine) {
			m.OwnerReferences = []metav1.OwnerReference{{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "MachineSet", Name: "s", UID: "u", Controller: new(true)}}
		}),
		Entry("as a MachinePool creates it", func(m *clusterv1.Machine) {
			m.Labels, m.Spec.Bootstrap = map[string]string{clusterv1.MachinePoolNameLabel: "pool"}, clusterv1.Bootstrap{DataSecretName: new("")}
		}),
		Entry("as it is restored from a backup, or moved", func(m *clusterv1.Machine) {
			m.OwnerReferences = []metav1.OwnerReference{{APIVersion: "controlplane.cluster.x-k8s.io/v1beta2", Kind: "SimControlPlane", Name: "gone", UID: "old", Controller: new(true)}}
			m.Spec.ProviderID, m.Spec.Bootstrap.DataSecretName = "sim:///7", new("data")
		}),
		Entry("before anything that it refers to is there, even its kinds", func(m *clusterv1.Machine) {
			m.Spec.InfrastructureRef.Kind, m.Spec.InfrastructureRef.APIGroup = "NobodyKnowsMachine", "infrastructure.example.org"
		}),
	)
})
