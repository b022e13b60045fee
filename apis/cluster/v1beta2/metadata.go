// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
)

// Finalizers of this group. The object stays until the controller that owns the finalizer has cleaned up and taken
// it off; taking it off by hand leaves behind whatever had not been cleaned up yet.
const (
	// MachineFinalizer keeps a Machine until its machine, its bootstrap object and, if asked for, its Node are gone.
	MachineFinalizer = "machine.cluster.x-k8s.io"

	// ClusterFinalizer keeps a Cluster until everything that belongs to it is gone.
	ClusterFinalizer = "cluster.cluster.x-k8s.io"
)

// Labels of Machines and of the objects that belong to them.
const (
	// ClusterNameLabel is the name of the Cluster that an object belongs to. Machines, InfraMachines, BootstrapConfigs
	// and the Secrets of a cluster all carry it; the controllers select by it.
	ClusterNameLabel = "cluster.x-k8s.io/cluster-name"

	// MachineControlPlaneLabel marks the Machines of a control plane. Its presence counts, the value is empty.
	MachineControlPlaneLabel = "cluster.x-k8s.io/control-plane"

	// MachineControlPlaneNameLabel is the name of the control plane object that owns the Machine, or a hash of the
	// name if that is longer than 63 characters.
	MachineControlPlaneNameLabel = "cluster.x-k8s.io/control-plane-name"

	// MachineSetNameLabel is the name of the MachineSet that owns the Machine. A name longer than 63 characters is
	// replaced by "hash_", the URL-safe base64 of its 32-bit FNV-1a hash, and "_z".
	MachineSetNameLabel = "cluster.x-k8s.io/set-name"

	// MachineDeploymentNameLabel is the name of the MachineDeployment above the Machine's MachineSet.
	MachineDeploymentNameLabel = "cluster.x-k8s.io/deployment-name"

	// MachinePoolNameLabel is the name of the MachinePool that the Machine belongs to, or a hash of the name if that
	// is longer than 63 characters.
	MachinePoolNameLabel = "cluster.x-k8s.io/pool-name"

	// WatchLabel assigns an object to the managers that run with the same value in --watch-filter. A manager with a
	// filter does not see objects without the label.
	WatchLabel = "cluster.x-k8s.io/watch-filter"

	// ProviderNameLabel, on the CustomResourceDefinitions and workloads of an installation, names the provider that
	// brought them. clusterctl finds what to upgrade or to delete by it.
	ProviderNameLabel = "cluster.x-k8s.io/provider"
)

// Annotations that users and other controllers set on a Machine. Only the presence of the key counts, unless said
// otherwise.
const (
	// PausedAnnotation makes controllers leave the object alone. It works on every object of Cluster API; setting
	// spec.paused of the Cluster has the same effect on all that belongs to it.
	PausedAnnotation = "cluster.x-k8s.io/paused"

	// ExcludeNodeDrainingAnnotation skips the drain when the Machine is deleted.
	ExcludeNodeDrainingAnnotation = "machine.cluster.x-k8s.io/exclude-node-draining"

	// ExcludeWaitForNodeVolumeDetachAnnotation skips the wait for volumes when the Machine is deleted. A volume that
	// is still in use then may be attached elsewhere only after the cloud has noticed that the machine is gone.
	ExcludeWaitForNodeVolumeDetachAnnotation = "machine.cluster.x-k8s.io/exclude-wait-for-node-volume-detach"

	// PreDrainDeleteHookAnnotationPrefix begins the key of every pre-drain hook; by convention "/" and a name follow.
	// A Machine that is being deleted is not drained while it has such an annotation. The controller that set it
	// takes it off when it is done; the value names that controller, for people.
	PreDrainDeleteHookAnnotationPrefix = "pre-drain.delete.hook.machine.cluster.x-k8s.io"

	// PreTerminateDeleteHookAnnotationPrefix begins the key of every pre-terminate hook. The machine itself is not
	// deleted while there is one. Control plane providers use it to remove a member from etcd while its machine
	// still runs.
	PreTerminateDeleteHookAnnotationPrefix = "pre-terminate.delete.hook.machine.cluster.x-k8s.io"

	// MachineCertificatesExpiryDateAnnotation is the time, in RFC 3339, at which the certificates of a control plane
	// machine expire. Set on a BootstrapConfig by its provider, or on a Machine by a user, which wins.
	MachineCertificatesExpiryDateAnnotation = "machine.cluster.x-k8s.io/certificates-expiry"

	// DeleteMachineAnnotation makes a Machine the first to go when its owner scales down.
	DeleteMachineAnnotation = "cluster.x-k8s.io/delete-machine"

	// MachineSkipRemediationAnnotation keeps MachineHealthChecks from having the Machine replaced.
	MachineSkipRemediationAnnotation = "cluster.x-k8s.io/skip-remediation"

	// RemediateMachineAnnotation makes a MachineHealthCheck treat the Machine as unhealthy.
	RemediateMachineAnnotation = "cluster.x-k8s.io/remediate-machine"

	// RevisionAnnotation counts the revisions of a MachineDeployment, as a decimal number, on it and on its
	// MachineSets. The plural "clusters" in its name is not a mistake of ours.
	RevisionAnnotation = "machinedeployment.clusters.x-k8s.io/revision"

	// SkipReferenceValidationAnnotation names the rules that admission does not judge the Machine by: their IDs, separated
	// by commas, or "all". It is for those rules that Cluster API does not have.
	SkipReferenceValidationAnnotation = "machinist.dev/skip-reference-validation"
)

// Annotations by which the owner of a Machine and the Machine controller agree on an in-place update. Not for users.
const (
	// UpdateInProgressAnnotation is set by the owner on Machine, InfraMachine and BootstrapConfig when an in-place
	// update begins, and taken off by the Machine controller when it is complete.
	UpdateInProgressAnnotation = "in-place-updates.internal.cluster.x-k8s.io/update-in-progress"

	// PendingAcknowledgeMoveAnnotation is on a Machine that is moving from one MachineSet to another, until the
	// MachineDeployment has counted it at its new place.
	PendingAcknowledgeMoveAnnotation = "in-place-updates.internal.cluster.x-k8s.io/pending-acknowledge-move"

	// PendingHooksAnnotation lists the runtime hooks that are still to be called for the object, separated by commas.
	PendingHooksAnnotation = "runtime.cluster.x-k8s.io/pending-hooks"
)

// Annotations on InfraMachines and BootstrapConfigs that were made from a template.
const (
	// TemplateClonedFromNameAnnotation is the name of the template that the object is a copy of.
	TemplateClonedFromNameAnnotation = "cluster.x-k8s.io/cloned-from-name"

	// TemplateClonedFromGroupKindAnnotation is the kind and group of that template, as Kind.group.
	TemplateClonedFromGroupKindAnnotation = "cluster.x-k8s.io/cloned-from-groupkind"
)

// ClusterSecretType is the type of Secrets that the controllers of a Cluster make, such as the one with its kubeconfig. A
// Secret of another type was brought by a user and is left as it is.
const ClusterSecretType corev1.SecretType = "cluster.x-k8s.io/secret" //nolint:gosec // the name of a type, not a secret
