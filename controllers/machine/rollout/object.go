// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// object is what is kept of a MachineSet or of a MachineDeployment.
type object struct {
	// ObjectMeta has names, versions and times, and the label and the annotation that are read.
	metav1.ObjectMeta
	// template is nil if the object's can't be understood, as of a CustomResourceDefinition that validates nothing.
	template *Template
	// after is the MachineDeployment's spec.rollout.after, zero if there is none.
	after time.Time
}

// Template is the part of the spec.template of a MachineSet or a MachineDeployment that decides whether Machines are replaced.
// What else is in there reaches them while they run.
type Template struct {
	Version           string                                     `json:"version"`
	Bootstrap         clusterv1.Bootstrap                        `json:"bootstrap"`
	InfrastructureRef clusterv1.ContractVersionedObjectReference `json:"infrastructureRef"`
	FailureDomain     string                                     `json:"failureDomain"`
}

// deployment returns the name of the MachineDeployment above a MachineSet, "" if there is none.
func (o *object) deployment() string { return o.Labels[clusterv1.MachineDeploymentNameLabel] }

// says reports whether the other one says the same about Machines.
func (o *object) says(other *object) bool {
	return o.UID == other.UID && apiequality.Semantic.DeepEqual(o.Labels, other.Labels) && apiequality.Semantic.DeepEqual(o.Annotations, other.Annotations) &&
		apiequality.Semantic.DeepEqual(o.template, other.template) && o.after.Equal(other.after)
}

// keep makes what is kept of an object as the API server sends it.
func keep(obj any) (any, error) {
	raw, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return obj, nil
	}
	kept := &object{ObjectMeta: metav1.ObjectMeta{
		Namespace: raw.GetNamespace(), Name: raw.GetName(), UID: raw.GetUID(), ResourceVersion: raw.GetResourceVersion(), CreationTimestamp: raw.GetCreationTimestamp(),
	}}
	if name, ok := raw.GetLabels()[clusterv1.MachineDeploymentNameLabel]; ok {
		kept.Labels = map[string]string{clusterv1.MachineDeploymentNameLabel: name}
	}
	if revision, ok := raw.GetAnnotations()[clusterv1.RevisionAnnotation]; ok {
		kept.Annotations = map[string]string{clusterv1.RevisionAnnotation: revision}
	}
	var content struct {
		Spec struct {
			Template struct {
				Spec Template `json:"spec"`
			} `json:"template"`
			Rollout struct {
				After metav1.Time `json:"after"`
			} `json:"rollout"`
		} `json:"spec"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw.Object, &content); err == nil {
		kept.template, kept.after = &content.Spec.Template.Spec, content.Spec.Rollout.After.Time
	}
	return kept, nil
}
