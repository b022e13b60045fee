// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

// ControlPlane runs the control plane of a Cluster: what a control plane provider promises about the object that
// Cluster.spec.controlPlaneRef points to. It is only the part of that promise that decides about Machines.
//
// +contract:kind
// +contract:crd:scope=Namespaced,statusSubresource=true,pluralName=true
type ControlPlane struct {
	// ExternallyManaged says that the control plane runs on no Machines, so that the Cluster may be well without any of
	// them.
	// +contract:path=status.externalManagedControlPlane
	// +contract:default=false
	// +contract:lenient
	// +contract:writer=provider
	ExternallyManaged bool
}
