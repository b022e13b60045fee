// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// The schema is that of v1beta2, so the API server changes the version without asking anybody, and v1beta1 is served
// also where there is no webhook.

// +kubebuilder:object:root=true
// +kubebuilder:resource:path=machinedrainrules,scope=Namespaced,categories=cluster-api
// +kubebuilder:deprecatedversion
// +kubebuilder:printcolumn:name="Behavior",type="string",JSONPath=".spec.drain.behavior",description="What happens to the selected Pods"
// +kubebuilder:printcolumn:name="Order",type="string",JSONPath=".spec.drain.order",description="Group in which the selected Pods are drained"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the rule was created"

// MachineDrainRule changes how the Pods of a Node are treated when its Machine is deleted.
type MachineDrainRule struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard metadata of an object.
	// +required
	metav1.ObjectMeta `json:"metadata"`

	// spec is the rule.
	// +required
	Spec clusterv1.MachineDrainRuleSpec `json:"spec"`
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
