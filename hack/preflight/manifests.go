// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// object is a Kubernetes object, as far as we look into it.
type object struct {
	metav1.PartialObjectMetadata

	text []byte
}

// manifests are objects in the order in which they are applied.
type manifests []object

// read returns the objects of YAML documents.
func read(in io.Reader) (manifests, error) {
	var m manifests
	reader := utilyaml.NewYAMLReader(bufio.NewReader(in))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return m, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading the manifests: %w", err)
		}
		o := object{text: document}
		if err := yaml.Unmarshal(document, &o.PartialObjectMetadata); err != nil {
			return nil, fmt.Errorf("reading object %d of the manifests: %w", len(m)+1, err)
		}
		if o.Kind != "" { // a document may hold nothing but a comment
			m = append(m, o)
		}
	}
}

func (o *object) is(group, kind string) bool {
	gvk := o.GroupVersionKind()
	return gvk.Group == group && gvk.Kind == kind
}

func (o *object) isDefinition() bool {
	return o.is("apiextensions.k8s.io", "CustomResourceDefinition")
}

// defines returns the kinds of a CustomResourceDefinition.
func (o *object) defines() ([]schema.GroupVersionKind, error) {
	var definition struct {
		Spec struct {
			Group    string
			Names    struct{ Kind string }
			Versions []struct{ Name string }
		}
	}
	if err := yaml.Unmarshal(o.text, &definition); err != nil {
		return nil, fmt.Errorf("reading CustomResourceDefinition %s: %w", o.Name, err)
	}
	var kinds []schema.GroupVersionKind
	for _, version := range definition.Spec.Versions {
		kinds = append(kinds, schema.GroupVersionKind{Group: definition.Spec.Group, Version: version.Name, Kind: definition.Spec.Names.Kind})
	}
	return kinds, nil
}
