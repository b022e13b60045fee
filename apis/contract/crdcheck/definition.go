// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package crdcheck

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// definition is what is needed of a CRD.
type definition struct {
	name, group, kind, scope string
	labels                   map[string]string
	versions                 map[string]versionDefinition
}

type versionDefinition struct {
	served, statusSubresource bool
	schema                    schema
}

// parse takes a CRD apart. The findings say why it can't be checked.
func parse(crd *unstructured.Unstructured) (*definition, []Finding) {
	if crd == nil {
		return nil, malformed("there is no CRD")
	}
	if kind, _ := crd.Object["kind"].(string); kind != "CustomResourceDefinition" {
		return nil, malformed("the kind is %q, expected CustomResourceDefinition", kind)
	}
	spec := object(crd.Object["spec"])
	names := object(spec["names"])
	metadata := object(crd.Object["metadata"])
	d := &definition{
		name: text(metadata["name"]), group: text(spec["group"]), kind: text(names["kind"]), scope: text(spec["scope"]),
		labels: map[string]string{}, versions: map[string]versionDefinition{},
	}
	for key, value := range object(metadata["labels"]) {
		d.labels[key] = text(value)
	}
	var findings []Finding
	for _, field := range []struct{ path, value string }{
		{"metadata.name", d.name}, {"spec.group", d.group}, {"spec.names.kind", d.kind}, {"spec.scope", d.scope},
	} {
		if field.value == "" {
			findings = append(findings, malformed("%s of the CRD is missing or no string", field.path)...)
		}
	}
	list, _ := spec["versions"].([]any)
	if len(list) == 0 {
		findings = append(findings, malformed("spec.versions of the CRD is missing, empty or no list")...)
	}
	for i, item := range list {
		findings = append(findings, d.addVersion(i, object(item))...)
	}
	return d, findings
}

func (d *definition) addVersion(i int, v map[string]any) []Finding {
	name := text(v["name"])
	if name == "" {
		return malformed("spec.versions[%d].name of the CRD is missing or no string", i)
	}
	root := object(object(v["schema"])["openAPIV3Schema"])
	if root == nil {
		return malformed("spec.versions[%d].schema.openAPIV3Schema (%s) of the CRD is missing or no object", i, name)
	}
	served, _ := v["served"].(bool)
	d.versions[name] = versionDefinition{
		served: served, statusSubresource: object(object(v["subresources"])["status"]) != nil, schema: schema{root},
	}
	return nil
}

func malformed(format string, args ...any) []Finding {
	return []Finding{{Code: Malformed, Message: fmt.Sprintf(format, args...)}}
}

// object and text return nothing for a value of another type: what is missing then is reported where it is needed.
func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func text(v any) string {
	s, _ := v.(string)
	return s
}
