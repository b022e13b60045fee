// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// BootstrapConfig turns a server into a Node: what a bootstrap provider promises about the object that
// Machine.spec.bootstrap.configRef points to.
//
// +contract:kind
// +contract:crd:scope=Namespaced,statusSubresource=true,pluralName=true
type BootstrapConfig struct {
	// DataSecretCreated says that the Secret with the bootstrap data exists.
	// +contract:path:v1beta1=status.ready
	// +contract:path:v1beta2=status.initialization.dataSecretCreated
	// +contract:required
	// +contract:default=false
	// +contract:writer=provider
	DataSecretCreated bool

	// DataSecretName is the name of the Secret with the bootstrap data, in the namespace of the object; required once
	// the Secret is created.
	// +contract:path=status.dataSecretName
	// +contract:required
	// +contract:writer=provider
	DataSecretName string

	// FailureReason is a word for programs that says why there will never be bootstrap data.
	// +contract:path=status.failureReason
	// +contract:deprecated
	// +contract:writer=provider
	FailureReason string

	// FailureMessage is a sentence for people that says why there will never be bootstrap data.
	// +contract:path=status.failureMessage
	// +contract:deprecated
	// +contract:writer=provider
	FailureMessage string

	// Conditions are the conditions in the style of metav1.Condition; Ready is the one that readers look for.
	// +contract:path=status.v1beta2.conditions;status.conditions
	// +contract:home:v1beta1=status.v1beta2.conditions
	// +contract:home:v1beta2=status.conditions
	// +contract:skipNonObjects
	// +contract:informational
	// +contract:writer=provider
	Conditions []Condition

	// DeprecatedConditions are the conditions in the older style. A list that is none in that style reads as no list.
	// +contract:path=status.deprecated.v1beta1.conditions;status.conditions
	// +contract:home:v1beta1=status.conditions
	// +contract:home:v1beta2=status.deprecated.v1beta1.conditions
	// +contract:sharesPathWith=Conditions
	// +contract:lenient
	// +contract:deprecated
	// +contract:informational
	// +contract:writer=provider
	DeprecatedConditions []DeprecatedCondition

	// CertificatesExpiry is when the first certificate of a control plane machine expires.
	// +contract:annotation=machine.cluster.x-k8s.io/certificates-expiry
	// +contract:writer=control plane provider
	CertificatesExpiry metav1.Time

	// ClusterName is the name of the Cluster that the object belongs to.
	// +contract:label=cluster.x-k8s.io/cluster-name
	// +contract:writer=Machine controller
	ClusterName string

	// WatchFilter names the controllers that look after the object, if there are several.
	// +contract:label=cluster.x-k8s.io/watch-filter
	// +contract:writer=user
	WatchFilter string

	// Paused says that controllers should leave the object alone, whatever the value of the annotation.
	// +contract:annotation=cluster.x-k8s.io/paused
	// +contract:presence
	// +contract:writer=user
	Paused bool

	// UpdateInProgress says that the object is being changed in place.
	// +contract:annotation=in-place-updates.internal.cluster.x-k8s.io/update-in-progress
	// +contract:presence
	// +contract:writer=owner controller
	UpdateInProgress bool
}
