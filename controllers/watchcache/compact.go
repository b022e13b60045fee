// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package watchcache

import (
	"slices"
	"unique"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// A decoder gives each object strings of its own, and lists with room for more. What follows gives equal strings of all
// objects one place in memory, where they are likely to be equal: the words of an API, names of Clusters and of owners,
// versions of what runs on Nodes. It changes no value.

// share replaces each string by the one that equals it.
func share[S ~string](fields ...*S) {
	for _, field := range fields {
		*field = S(unique.Make(string(*field)).Value())
	}
}

// compactMetadata leaves names, UIDs and the values of annotations alone: hardly any two are equal.
func compactMetadata(object *metav1.ObjectMeta) {
	share(&object.Namespace)
	object.Labels = shareMap(object.Labels, true)
	object.Annotations = shareMap(object.Annotations, false)
	object.Finalizers = slices.Clone(object.Finalizers)
	for i := range object.Finalizers {
		share(&object.Finalizers[i])
	}
	object.OwnerReferences = slices.Clone(object.OwnerReferences)
	for i := range object.OwnerReferences {
		owner := &object.OwnerReferences[i]
		share(&owner.APIVersion, &owner.Kind, &owner.Name)
		share(&owner.UID)
	}
}

func shareMap(of map[string]string, values bool) map[string]string {
	if of == nil {
		return nil
	}
	shared := make(map[string]string, len(of))
	for key, value := range of {
		share(&key)
		if values {
			share(&value)
		}
		shared[key] = value
	}
	return shared
}

func compactConditions(conditions []metav1.Condition) []metav1.Condition {
	conditions = slices.Clone(conditions)
	for i := range conditions {
		share(&conditions[i].Type, &conditions[i].Reason)
		share(&conditions[i].Status)
	}
	return conditions
}

func compactMachine(machine *clusterv1.Machine) {
	compactMetadata(&machine.ObjectMeta)
	spec, status := &machine.Spec, &machine.Status
	share(&spec.ClusterName, &spec.Version, &spec.FailureDomain)
	for _, ref := range []*clusterv1.ContractVersionedObjectReference{&spec.InfrastructureRef, &spec.Bootstrap.ConfigRef} {
		share(&ref.APIGroup, &ref.Kind)
	}
	share(&status.Phase, &status.FailureDomain)
	status.Conditions = compactConditions(status.Conditions)
	if status.NodeInfo != nil {
		compactNodeInfo(status.NodeInfo)
	}
	if status.Deprecated == nil || status.Deprecated.V1Beta1 == nil {
		return
	}
	deprecated := slices.Clone(status.Deprecated.V1Beta1.Conditions)
	for i := range deprecated {
		condition := &deprecated[i]
		share(&condition.Type)
		share(&condition.Status)
		share(&condition.Severity)
		share(&condition.Reason)
	}
	status.Deprecated.V1Beta1.Conditions = deprecated
}

func compactNode(node *corev1.Node) {
	compactMetadata(&node.ObjectMeta)
	node.Status.Conditions = slices.Clone(node.Status.Conditions)
	for i := range node.Status.Conditions {
		condition := &node.Status.Conditions[i]
		share(&condition.Type)
		share(&condition.Status)
		share(&condition.Reason, &condition.Message)
	}
	compactNodeInfo(&node.Status.NodeInfo)
}

// compactNodeInfo leaves the three identifiers of the machine alone.
func compactNodeInfo(info *corev1.NodeSystemInfo) {
	share(&info.KernelVersion, &info.OSImage, &info.ContainerRuntimeVersion, &info.KubeletVersion,
		&info.OperatingSystem, &info.Architecture)
}
