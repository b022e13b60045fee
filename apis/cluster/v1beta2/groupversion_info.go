// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// GroupVersion is the group and version of every kind in this package.
	GroupVersion = schema.GroupVersion{Group: "cluster.x-k8s.io", Version: "v1beta2"}

	// SchemeGroupVersion is GroupVersion under the name that code made by k8s.io/code-generator looks for.
	SchemeGroupVersion = GroupVersion

	schemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme registers the kinds of this package, and the list and watch options that every group needs.
	AddToScheme = schemeBuilder.AddToScheme
)

// Resource qualifies a resource name ("machines") with the group of this package, for use in API errors.
func Resource(resource string) schema.GroupResource {
	return GroupVersion.WithResource(resource).GroupResource()
}

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&Cluster{}, &ClusterList{},
		&Machine{}, &MachineList{},
		&MachineDrainRule{}, &MachineDrainRuleList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
