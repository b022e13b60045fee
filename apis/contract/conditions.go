// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Condition is a condition in the style of metav1.Condition, as providers report it. One condition that breaks these
// rules makes the whole list unusable. The rules of the Kubernetes API for reasons and lengths are not checked: check
// a condition before you copy it to an object that has such rules.
type Condition struct {
	// Type of the condition, for example Ready.
	// +contract:required
	Type string `json:"type"`

	// Status is True, False or Unknown.
	// +contract:required
	// +contract:enum=True;False;Unknown
	Status string `json:"status"`

	// Reason is a word for programs; providers that follow older conventions leave it out.
	Reason string `json:"reason"`

	// Message is a sentence for people.
	Message string `json:"message"`

	// LastTransitionTime is when the status changed last. Null and an empty string, which some providers write, are no
	// time.
	// +contract:absentIf=null;empty
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`

	// ObservedGeneration is the generation of the object that the condition was worked out for.
	ObservedGeneration int64 `json:"observedGeneration"`
}

// DeprecatedCondition is a condition in the style that Cluster API used before contract version v1beta2. A null stands
// for no value in each of its keys.
type DeprecatedCondition struct {
	// Type of the condition, for example Ready.
	// +contract:absentIf=null
	Type string `json:"type"`

	// Status is True, False or Unknown.
	// +contract:absentIf=null
	Status string `json:"status"`

	// Severity of a condition that is False: Error, Warning or Info.
	// +contract:absentIf=null
	Severity string `json:"severity"`

	// Reason is a word for programs.
	// +contract:absentIf=null
	Reason string `json:"reason"`

	// Message is a sentence for people.
	// +contract:absentIf=null
	Message string `json:"message"`

	// LastTransitionTime is when the status changed last.
	// +contract:absentIf=null
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`
}
