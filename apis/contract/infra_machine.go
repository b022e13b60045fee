// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

// InfraMachine is the server behind a Machine: what an infrastructure provider promises about the object that
// Machine.spec.infrastructureRef points to.
//
// +contract:kind
// +contract:crd:scope=Namespaced,statusSubresource=true,pluralName=true
type InfraMachine struct {
	// ProviderID identifies the server, in the form that the Node reports it; required once the server is provisioned.
	// +contract:path=spec.providerID
	// +contract:required
	// +contract:writer=provider
	ProviderID string

	// Provisioned says that the server exists. A provider must not take it back.
	// +contract:path:v1beta1=status.ready
	// +contract:path:v1beta2=status.initialization.provisioned
	// +contract:required
	// +contract:default=false
	// +contract:writer=provider
	Provisioned bool

	// DeprecatedFailureDomain is the failure domain where older providers keep it.
	// +contract:path=spec.failureDomain
	// +contract:deprecated
	// +contract:writer=user or owner controller
	DeprecatedFailureDomain string

	// FailureDomain is the failure domain in which the provider has put the server.
	// +contract:path=status.failureDomain
	// +contract:writer=provider
	FailureDomain string

	// Addresses are the addresses of the server. An empty list says that it has none, no list says nothing.
	// +contract:path=status.addresses
	// +contract:writer=provider
	Addresses []MachineAddress

	// Interruptible says that the infrastructure may take the server away at any time, as with spot instances.
	// +contract:path=status.interruptible
	// +contract:default=false
	// +contract:writer=provider
	Interruptible bool

	// FailureReason is a word for programs that says why the server will never work.
	// +contract:path=status.failureReason
	// +contract:deprecated
	// +contract:writer=provider
	FailureReason string

	// FailureMessage is a sentence for people that says why the server will never work.
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
