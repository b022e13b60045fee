// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

// Reasons of a Machine's conditions BootstrapConfigReady and InfrastructureReady that Cluster API does not have. Where
// Cluster API says InternalError and points to its logs, the condition names the cause; its status is Unknown.
const (
	// ContractViolatedReason means that the referenced object has a value that the provider contract does not allow.
	// The message names each path, what is expected there and what was found, and the contract version. The Machine
	// goes on by itself once the provider, or whoever set the value, corrects it.
	ContractViolatedReason = "ContractViolated"

	// AlreadyOwnedReason means that another object controls the referenced object, so this Machine doesn't use it. Let
	// the Machine reference an object of its own.
	AlreadyOwnedReason = "AlreadyOwned"

	// CustomResourceDefinitionMissingReason means that the kind of the reference is not installed. Install the provider
	// or correct the reference.
	CustomResourceDefinitionMissingReason = "CustomResourceDefinitionMissing"

	// ContractVersionUnknownReason means that the CustomResourceDefinition of the kind has no label that declares a
	// contract version we know. Upgrade the provider, or label the CustomResourceDefinition if you know that it fits.
	ContractVersionUnknownReason = "ContractVersionUnknown"

	// KindNotSyncedReason means that the objects of the kind have not been listed yet. If it lasts, the message holds
	// the API server's answer; look at the permissions of the controller and at the served versions of the kind.
	KindNotSyncedReason = "KindNotSynced"

	// ClusterDoesNotExistReason means that the Cluster in spec.clusterName does not exist. Create it, or delete the
	// Machine.
	ClusterDoesNotExistReason = "ClusterDoesNotExist"
)
