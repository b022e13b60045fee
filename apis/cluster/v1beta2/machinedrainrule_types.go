// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PodDrainLabel, on a Pod of the workload cluster, decides what a drain does with it: "skip" leaves the Pod alone,
// "wait-completed" waits until it has completed. It wins over every MachineDrainRule. Other values have no effect.
const PodDrainLabel = "cluster.x-k8s.io/drain"

// MachineDrainRuleDrainBehavior says what a drain does with a Pod.
// +kubebuilder:validation:Enum=Drain;Skip;WaitCompleted
type MachineDrainRuleDrainBehavior string

const (
	// MachineDrainRuleDrainBehaviorDrain evicts the Pod and waits until it is gone.
	MachineDrainRuleDrainBehaviorDrain MachineDrainRuleDrainBehavior = "Drain"

	// MachineDrainRuleDrainBehaviorSkip leaves the Pod where it is and does not wait for it.
	MachineDrainRuleDrainBehaviorSkip MachineDrainRuleDrainBehavior = "Skip"

	// MachineDrainRuleDrainBehaviorWaitCompleted never evicts the Pod, but the drain does not end before it.
	MachineDrainRuleDrainBehaviorWaitCompleted MachineDrainRuleDrainBehavior = "WaitCompleted"
)

// MachineDrainRuleSpec says which Pods, on which Machines, are drained in which way.
type MachineDrainRuleSpec struct {
	// drain is what happens to the selected Pods.
	// +required
	Drain MachineDrainRuleDrainConfig `json:"drain,omitempty,omitzero"`

	// machines selects Machines in the namespace of the rule. A Machine is selected if any of the entries selects
	// it; not set selects all of them. For example, all control plane Machines, and those for GPUs in production:
	//
	//  - selector:
	//      matchExpressions:
	//      - {key: cluster.x-k8s.io/control-plane, operator: Exists}
	//  - selector:
	//      matchLabels: {hardware: gpu}
	//    clusterSelector:
	//      matchLabels: {environment: production}
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, x == y))",message="entries in machines must be unique"
	Machines []MachineDrainRuleMachineSelector `json:"machines,omitempty"`

	// pods selects Pods in the workload cluster. A Pod is selected if any of the entries selects it; not set selects
	// all Pods in all namespaces. For example, everything in the namespace storage, and log shippers everywhere:
	//
	//  - namespaceSelector:
	//      matchLabels: {kubernetes.io/metadata.name: storage}
	//  - selector:
	//      matchLabels: {role: log-shipper}
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, x == y))",message="entries in pods must be unique"
	Pods []MachineDrainRulePodSelector `json:"pods,omitempty"`
}

// MachineDrainRuleDrainConfig says what happens to the Pods that a rule selects.
type MachineDrainRuleDrainConfig struct {
	// behavior is Drain to evict the Pods, Skip to leave them alone, or WaitCompleted to wait for them to complete
	// without evicting them.
	// +required
	Behavior MachineDrainRuleDrainBehavior `json:"behavior,omitempty"`

	// order sorts the Pods into groups: all Pods of a lower order have to be gone before the first Pod of a higher
	// order is evicted. Any int32 is allowed, not set is the same as 0. Only with behavior Drain; Pods to be waited
	// for are always in group 0.
	// +optional
	Order *int32 `json:"order,omitempty"`
}

// MachineDrainRuleMachineSelector selects Machines by their own labels and by those of their Cluster. If both
// selectors are set, both have to match.
// +kubebuilder:validation:MinProperties=1
type MachineDrainRuleMachineSelector struct {
	// selector looks at the labels of the Machine. Not set or empty matches every Machine.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`

	// clusterSelector looks at the labels of the Machine's Cluster. Not set or empty matches every Cluster.
	// +optional
	ClusterSelector *metav1.LabelSelector `json:"clusterSelector,omitempty"`
}

// MachineDrainRulePodSelector selects Pods by their own labels and by those of their Namespace. If both selectors
// are set, both have to match.
// +kubebuilder:validation:MinProperties=1
type MachineDrainRulePodSelector struct {
	// selector looks at the labels of the Pod. Not set or empty matches every Pod.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`

	// namespaceSelector looks at the labels of the Pod's Namespace. Not set or empty matches every Namespace.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
}

// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=machinedrainrules,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="Behavior",type="string",JSONPath=".spec.drain.behavior",description="What happens to the selected Pods"
// +kubebuilder:printcolumn:name="Order",type="string",JSONPath=".spec.drain.order",description="Group in which the selected Pods are drained"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the rule was created"

// MachineDrainRule changes how the Pods of a Node are treated when its Machine is deleted. The rules of a namespace
// are tried by name; the first that selects both the Machine and the Pod decides. Without one the Pod is drained.
type MachineDrainRule struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard metadata of an object.
	// +required
	metav1.ObjectMeta `json:"metadata"`

	// spec is the rule.
	// +required
	Spec MachineDrainRuleSpec `json:"spec,omitempty,omitzero"`
}

// +kubebuilder:object:root=true

// MachineDrainRuleList is a list of MachineDrainRules.
type MachineDrainRuleList struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard metadata of a list.
	// +required
	metav1.ListMeta `json:"metadata"`

	// items are the rules.
	Items []MachineDrainRule `json:"items"`
}
