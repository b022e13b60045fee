// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2_test

import (
	"context"
	"encoding/json"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/generated/clientset/versioned"
	"github.com/machinist-dev/machinist/test/environment/suite"
)

var _ = Describe("the CustomResourceDefinitions", func() {
	var namespace string

	BeforeEach(func(ctx SpecContext) {
		namespace = suite.Namespace(ctx, env)
	})

	It("are found by short name and category", func() {
		resources, err := discovery.NewDiscoveryClientForConfigOrDie(env.Config).
			ServerResourcesForGroupVersion(clusterv1.GroupVersion.String())
		Expect(err).NotTo(HaveOccurred())
		Expect(resources.APIResources).To(ContainElements(
			And(HaveField("Name", "machines"), HaveField("ShortNames", ConsistOf("ma")), HaveField("Categories", ConsistOf("cluster-api"))),
			And(HaveField("Name", "clusters"), HaveField("ShortNames", ConsistOf("cl")), HaveField("Categories", ConsistOf("cluster-api"))),
			And(HaveField("Name", "machinedrainrules"), HaveField("ShortNames", BeEmpty()), HaveField("Categories", ConsistOf("cluster-api"))),
			HaveField("Name", "machines/status"),
			HaveField("Name", "clusters/status"),
		))
	})

	It("show a Machine in the columns that kubectl prints", func(ctx SpecContext) {
		running := machine(namespace, "worker-0")
		running.Spec.Version = "v1.37.2"
		running.Spec.ProviderID = "sim:///worker-0"
		Expect(c.Create(ctx, running)).To(Succeed())
		running.Status = clusterv1.MachineStatus{
			Phase:         string(clusterv1.MachinePhaseRunning),
			NodeRef:       clusterv1.MachineNodeReference{Name: "node-0"},
			FailureDomain: "zone-a",
			Addresses:     clusterv1.MachineAddresses{{Type: clusterv1.MachineInternalIP, Address: "10.0.0.7"}},
			Conditions: []metav1.Condition{{
				Type: clusterv1.MachineReadyCondition, Status: metav1.ConditionTrue, Reason: clusterv1.MachineReadyReason,
				LastTransitionTime: metav1.Now(),
			}},
		}
		Expect(c.Status().Update(ctx, running)).To(Succeed())

		Expect(printed(ctx, "machines", namespace)).To(Equal(map[string]any{
			"Name": "worker-0", "Cluster": "sim", "Node Name": "node-0", "Provider ID": "sim:///worker-0",
			"Failure domain": "zone-a", "Ready": "True", "Available": nil, "Up-to-date": nil, "Internal-IP": "10.0.0.7",
			"External-IP": nil, "OS-Image": nil, "Paused": nil, "Phase": "Running", "Version": "v1.37.2",
		}))
	})

	It("keep a topology as it is, and show its class and version", func(ctx SpecContext) {
		const topology = `{"classRef":{"name":"quick-start"},"unheardOf":[{"deep":1.5},null],"version":"v1.37.2"}`
		cluster := &clusterv1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sim"},
			Spec:       clusterv1.ClusterSpec{Topology: &runtime.RawExtension{Raw: []byte(topology)}},
		}
		Expect(c.Create(ctx, cluster)).To(Succeed())

		stored := &clusterv1.Cluster{}
		Expect(c.Get(ctx, client.ObjectKeyFromObject(cluster), stored)).To(Succeed())
		Expect(stored.Spec.Topology.Raw).To(MatchJSON(topology))
		Expect(printed(ctx, "clusters", namespace)).To(And(
			HaveKeyWithValue("ClusterClass", "quick-start"), HaveKeyWithValue("Version", "v1.37.2")))
	})

	DescribeTable("refuse a Machine with", func(ctx SpecContext, mutate func(*clusterv1.Machine), message string) {
		invalid := machine(namespace, "invalid")
		mutate(invalid)
		Expect(c.Create(ctx, invalid)).To(MatchError(ContainSubstring(message)))
	},
		Entry("no cluster", func(m *clusterv1.Machine) { m.Spec.ClusterName = "" },
			"spec.clusterName: Required value"),
		Entry("a cluster name that is too long", func(m *clusterv1.Machine) { m.Spec.ClusterName = strings.Repeat("c", 64) },
			"spec.clusterName: Too long: may not be more than 63"),
		Entry("neither bootstrap object nor secret", func(m *clusterv1.Machine) { m.Spec.Bootstrap = clusterv1.Bootstrap{} },
			"spec.bootstrap: Required value"),
		Entry("half a bootstrap reference", func(m *clusterv1.Machine) { m.Spec.Bootstrap.ConfigRef.Name = "config" },
			"spec.bootstrap.configRef.apiGroup: Required value"),
		Entry("no infrastructure reference", func(m *clusterv1.Machine) {
			m.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{}
		}, "spec.infrastructureRef: Required value"),
		Entry("an API version where the group belongs", func(m *clusterv1.Machine) {
			m.Spec.InfrastructureRef.APIGroup = "infrastructure.cluster.x-k8s.io/v1beta2"
		}, "spec.infrastructureRef.apiGroup: Invalid value"),
		Entry("a negative delay", func(m *clusterv1.Machine) { m.Spec.MinReadySeconds = new(int32(-1)) },
			"spec.minReadySeconds: Invalid value: -1"),
		Entry("a negative timeout", func(m *clusterv1.Machine) { m.Spec.Deletion.NodeDrainTimeoutSeconds = new(int32(-1)) },
			"spec.deletion.nodeDrainTimeoutSeconds: Invalid value: -1"),
		Entry("two gates for one condition", func(m *clusterv1.Machine) {
			m.Spec.ReadinessGates = []clusterv1.MachineReadinessGate{{ConditionType: "Twice"}, {ConditionType: "Twice"}}
		}, "spec.readinessGates[1]: Duplicate value"),
		Entry("a gate of unknown polarity", func(m *clusterv1.Machine) {
			m.Spec.ReadinessGates = []clusterv1.MachineReadinessGate{{ConditionType: "Gate", Polarity: "Sideways"}}
		}, `spec.readinessGates[0].polarity: Unsupported value: "Sideways"`),
		Entry("a taint of unknown effect", func(m *clusterv1.Machine) {
			m.Spec.Taints = []clusterv1.MachineTaint{{
				Key: "dedicated", Effect: "NoPods", Propagation: clusterv1.MachineTaintPropagationAlways,
			}}
		}, `spec.taints[0].effect: Unsupported value: "NoPods"`),
		Entry("a taint without propagation", func(m *clusterv1.Machine) {
			m.Spec.Taints = []clusterv1.MachineTaint{{Key: "dedicated", Effect: corev1.TaintEffectNoSchedule}}
		}, "spec.taints[0].propagation: Required value"),
	)

	DescribeTable("refuse a status with", func(ctx SpecContext, status clusterv1.MachineStatus, message string) {
		invalid := machine(namespace, "invalid")
		Expect(c.Create(ctx, invalid)).To(Succeed())
		invalid.Status = status
		Expect(c.Status().Update(ctx, invalid)).To(MatchError(ContainSubstring(message)))
	},
		Entry("an unknown phase", clusterv1.MachineStatus{Phase: "Dreaming"},
			`status.phase: Unsupported value: "Dreaming"`),
		Entry("an unknown type of address", clusterv1.MachineStatus{
			Addresses: clusterv1.MachineAddresses{{Type: "Pigeon", Address: "loft 7"}},
		}, `status.addresses[0].type: Unsupported value: "Pigeon"`),
		Entry("a Node name that is none", clusterv1.MachineStatus{NodeRef: clusterv1.MachineNodeReference{Name: "Node 0"}},
			"status.nodeRef.name: Invalid value"),
		Entry("a reason with spaces", clusterv1.MachineStatus{Conditions: []metav1.Condition{{
			Type: "Ready", Status: metav1.ConditionTrue, Reason: "so be it", LastTransitionTime: metav1.Now(),
		}}}, "status.conditions[0].reason: Invalid value"),
		Entry("more conditions than there is room for", clusterv1.MachineStatus{Conditions: conditions(33)},
			"status.conditions: Too many: 33: must have at most 32 items"),
	)

	DescribeTable("refuse a MachineDrainRule with", func(ctx SpecContext, spec, message string) {
		rule := &unstructured.Unstructured{}
		rule.SetGroupVersionKind(clusterv1.GroupVersion.WithKind("MachineDrainRule"))
		rule.SetNamespace(namespace)
		rule.SetName("invalid")
		fields := map[string]any{}
		Expect(json.Unmarshal([]byte(spec), &fields)).To(Succeed())
		rule.Object["spec"] = fields
		Expect(c.Create(ctx, rule)).To(MatchError(ContainSubstring(message)))
	},
		Entry("no behavior", `{"drain":{"order":1}}`, "spec.drain.behavior: Required value"),
		Entry("an unknown behavior", `{"drain":{"behavior":"Push"}}`, `spec.drain.behavior: Unsupported value: "Push"`),
		Entry("an empty selector", `{"drain":{"behavior":"Skip"},"pods":[{}]}`,
			"spec.pods[0] in body should have at least 1 properties"),
		Entry("an empty list", `{"drain":{"behavior":"Skip"},"machines":[]}`,
			"spec.machines in body should have at least 1 items"),
		Entry("one selector twice",
			`{"drain":{"behavior":"Skip"},"machines":[{"selector":{"matchLabels":{"a":"b"}}},{"selector":{"matchLabels":{"a":"b"}}}]}`,
			"entries in machines must be unique"),
	)
})

func conditions(n int) []metav1.Condition {
	list := make([]metav1.Condition, n)
	for i := range list {
		list[i] = metav1.Condition{
			Type: "Condition" + strings.Repeat("I", i), Status: metav1.ConditionTrue, Reason: "Counted", LastTransitionTime: metav1.Now(),
		}
	}
	return list
}

// printed returns the one row that kubectl would print for a resource, by column, without the age.
func printed(ctx context.Context, resource, namespace string) map[string]any {
	GinkgoHelper()
	client := versioned.NewForConfigOrDie(env.Config).ClusterV1beta2().RESTClient()
	data, err := client.Get().Namespace(namespace).Resource(resource).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(ctx)
	Expect(err).NotTo(HaveOccurred())

	table := metav1.Table{}
	Expect(json.Unmarshal(data, &table)).To(Succeed())
	Expect(table.Rows).To(HaveLen(1))
	row := map[string]any{}
	for i, column := range table.ColumnDefinitions {
		if column.Name != "Age" {
			row[column.Name] = table.Rows[0].Cells[i]
		}
	}
	return row
}
