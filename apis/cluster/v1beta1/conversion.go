// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// ConversionDataAnnotation, on an object of v1beta1, holds the object of v1beta2 that it was made from, as JSON without
// metadata. It is there so that a client of v1beta1 that writes an object back keeps what v1beta1 can't express, and
// is taken off when the object becomes one of v1beta2 again. Cluster API uses it in the same way.
const ConversionDataAnnotation = "cluster.x-k8s.io/conversion-data"

// UnknownVersion stands for the API version in a reference to an object of a kind of which nobody can say in which
// version to read it, because its CustomResourceDefinition is missing or declares no contract version. A client that
// follows the reference is told by the API server that there is no such version, which is the truth.
const UnknownVersion = "unknown"

// Versions tells in which API version, given without the group, the provider contract says to read the objects of a
// kind. It returns "" if there is no answer as things are, and an error only if asking has failed and may not fail the
// next time: the whole request fails then, with all the objects in it.
//
// +kubebuilder:object:generate=false
type Versions func(schema.GroupKind) (string, error)

// reference makes a v1beta1 reference. A version that nobody knows must not be an error: it would make every list and
// watch that has the object fail, for all objects in it.
func (v Versions) reference(ref clusterv1.ContractVersionedObjectReference, namespace string) (*corev1.ObjectReference, error) {
	if !ref.IsDefined() {
		return nil, nil
	}
	out := &corev1.ObjectReference{Kind: ref.Kind, Namespace: namespace, Name: ref.Name}
	if ref.APIGroup == "" {
		return out, nil // not a kind of a provider, and written in v1beta1 without apiVersion; it has none again
	}
	version := ""
	if ref.Kind != "" {
		var err error
		if version, err = v(ref.GroupKind()); err != nil {
			return nil, fmt.Errorf("finding the API version of %s: %w", ref.GroupKind(), err)
		}
	}
	out.APIVersion = schema.GroupVersion{Group: ref.APIGroup, Version: cmp.Or(version, UnknownVersion)}.String()
	return out, nil
}

// referenceToHub keeps group, kind and name.
func referenceToHub(path string, ref *corev1.ObjectReference) (clusterv1.ContractVersionedObjectReference, error) {
	if ref == nil {
		return clusterv1.ContractVersionedObjectReference{}, nil
	}
	version, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return clusterv1.ContractVersionedObjectReference{}, fmt.Errorf(
			"%s.apiVersion: expected a group and a version, as in infrastructure.cluster.x-k8s.io/v1beta2, found %q", path, ref.APIVersion)
	}
	return clusterv1.ContractVersionedObjectReference{APIGroup: version.Group, Kind: ref.Kind, Name: ref.Name}, nil
}

// hubData is what ConversionDataAnnotation holds.
//
// +kubebuilder:object:generate=false
type hubData[S, T any] struct {
	metav1.TypeMeta `json:",inline"`

	Spec   S `json:"spec,omitempty,omitzero"`
	Status T `json:"status,omitempty,omitzero"`
}

// attach returns the metadata with the annotation.
func (d hubData[S, T]) attach(meta metav1.ObjectMeta) (metav1.ObjectMeta, error) {
	encoded, err := json.Marshal(d)
	if err != nil {
		return meta, fmt.Errorf("writing annotation %s: %w", ConversionDataAnnotation, err)
	}
	annotations := make(map[string]string, len(meta.Annotations)+1)
	maps.Copy(annotations, meta.Annotations)
	annotations[ConversionDataAnnotation] = string(encoded)
	meta.Annotations = annotations
	return meta, nil
}

// detach reads the annotation, and returns the metadata without it. It reports whether there was one; without, the data
// stays as it is.
func (d *hubData[S, T]) detach(meta metav1.ObjectMeta) (metav1.ObjectMeta, bool, error) {
	encoded, ok := meta.Annotations[ConversionDataAnnotation]
	if !ok {
		return meta, false, nil
	}
	if err := utiljson.Unmarshal([]byte(encoded), d); err != nil {
		return meta, false, fmt.Errorf(
			"metadata.annotations[%s]: expected an object of version v1beta2 as the API server has put it there: %w; take the annotation off if that is lost",
			ConversionDataAnnotation, err)
	}
	meta.Annotations = maps.Clone(meta.Annotations)
	delete(meta.Annotations, ConversionDataAnnotation)
	return meta, true, nil
}

// flagToHub converts a flag that is false and not set at the same time in v1beta1. restored tells the two apart.
func flagToHub(flag bool, restored *bool) *bool {
	switch {
	case flag:
		return new(true)
	case restored != nil && !*restored:
		return new(false)
	default:
		return nil
	}
}

// secondsOf drops fractions of a second, and takes the nearest number that fits.
func secondsOf(duration *metav1.Duration) *int32 {
	if duration == nil {
		return nil
	}
	return new(wholeSeconds(duration.Duration))
}

func wholeSeconds(duration time.Duration) int32 {
	return int32(min(max(duration/time.Second, math.MinInt32), math.MaxInt32))
}

func durationOf(seconds *int32) *metav1.Duration {
	if seconds == nil {
		return nil
	}
	return &metav1.Duration{Duration: time.Duration(*seconds) * time.Second}
}

// pointerTo returns nil for a zero value, which is how v1beta2 spells "not set".
func pointerTo[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}

func valueOf[T any](pointer *T) T {
	if pointer == nil {
		var zero T
		return zero
	}
	return *pointer
}

// pointerToTime is pointerTo for times, which == does not compare.
func pointerToTime(t metav1.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
