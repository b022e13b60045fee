// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package crdcheck_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/machinist-dev/machinist/apis/contract/accessor"
	"github.com/machinist-dev/machinist/apis/contract/crdcheck"
)

var backend = []accessor.Member{
	{Key: "address", Type: accessor.Type{Kind: accessor.String}, Required: true},
	{Key: "weight", Type: accessor.Type{Kind: accessor.Int32}},
}

var spec = accessor.KindSpec{
	Name:        "Thing",
	Versions:    []string{"v2", "v1"},
	LabelPrefix: "things.example.com/",
	CRD:         accessor.CRDRules{Scope: "Namespaced", StatusSubresource: true, PluralName: true},
	Fields: []accessor.FieldSpec{
		{
			Name: "Ready", Required: true, Type: accessor.Type{Kind: accessor.Bool},
			Paths: [][]string{{"status.state.ready"}, {"status.ready"}},
		},
		{
			Name: "ID", Required: true, Type: accessor.Type{Kind: accessor.String},
			Paths: [][]string{{"spec.id", "spec.oldID"}, {"spec.id", "spec.oldID"}},
		},
		{Name: "Zones", Type: accessor.Type{Kind: accessor.StringList}, Paths: [][]string{{"spec.zones"}, {"spec.zones"}}},
		{Name: "Tags", Type: accessor.Type{Kind: accessor.StringMap}, Paths: [][]string{{"spec.tags"}, {"spec.tags"}}},
		{Name: "Since", Type: accessor.Type{Kind: accessor.Time}, Paths: [][]string{{"status.since"}, {"status.since"}}},
		{Name: "Primary", Type: accessor.Type{Kind: accessor.Object, Members: backend}, Paths: [][]string{{"spec.primary"}, {"spec.primary"}}},
		{Name: "Backends", Type: accessor.Type{Kind: accessor.ObjectList, Members: backend}, Paths: [][]string{{"spec.backends"}, {"spec.backends"}}},
		{Name: "Also", Type: accessor.Type{Kind: accessor.ObjectList, Members: backend}, Paths: [][]string{{"spec.backends"}, {"spec.backends"}}},
		{Name: "Only", Required: true, Type: accessor.Type{Kind: accessor.String}, Paths: [][]string{{}, {"spec.only"}}},
		{Name: "Tier", Type: accessor.Type{Kind: accessor.String}, Label: "things.example.com/tier"},
	},
}

// conforming implements both contract versions in one API version.
const conforming = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: mythings.example.com
  labels: {things.example.com/v1: v1alpha1_v1beta1, things.example.com/v2: v1beta1}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: MyThing, plural: mythings}
  versions:
  - name: v1beta1
    served: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              oldID: {type: string}
              only: {type: string}
              zones: {type: array, items: {type: string}}
              tags: {type: object, additionalProperties: {type: string}}
              primary: {type: object, properties: {address: {type: string}, weight: {type: integer}}}
              backends: {type: array, items: {type: object, properties: {address: {type: string}, weight: {type: integer}}}}
          status:
            type: object
            properties:
              ready: {type: boolean}
              state: {type: object, properties: {ready: {type: boolean}}}
              since: {type: string, format: date-time}
  - name: v1alpha1
    served: true
    schema: {openAPIV3Schema: {type: object}}
`

// parse reads a CRD and applies a change to it: path and value, or path alone to remove.
func parse(t *testing.T, changes ...func(crd map[string]any)) *unstructured.Unstructured {
	t.Helper()
	var object map[string]any
	if err := yaml.Unmarshal([]byte(conforming), &object); err != nil {
		t.Fatal(err)
	}
	for _, change := range changes {
		change(object)
	}
	return &unstructured.Unstructured{Object: object}
}

func set(value any, path ...string) func(map[string]any) {
	return func(object map[string]any) {
		if err := unstructured.SetNestedField(object, value, path...); err != nil {
			panic(err)
		}
	}
}

func remove(path ...string) func(map[string]any) {
	return func(object map[string]any) { unstructured.RemoveNestedField(object, path...) }
}

// inVersion changes the first API version.
func inVersion(change func(map[string]any)) func(map[string]any) {
	return func(object map[string]any) {
		change(object["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any))
	}
}

// inSchema changes the schema of the first API version.
func inSchema(change func(map[string]any)) func(map[string]any) {
	return inVersion(func(version map[string]any) {
		change(version["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any))
	})
}

func object(pairs ...any) map[string]any {
	out := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i].(string)] = pairs[i+1]
	}
	return out
}

func TestConforming(t *testing.T) {
	for name, change := range map[string]func(map[string]any){
		"as it is":              func(map[string]any) {},
		"only the old contract": remove("metadata", "labels", "things.example.com/v2"),
		"preserved unknown fields": inSchema(func(schema map[string]any) {
			schema["properties"] = object(
				"spec", object("type", "object", "x-kubernetes-preserve-unknown-fields", true),
				"status", object("type", "object", "additionalProperties", true))
		}),
		"without declared types": inSchema(set(object("x-kubernetes-preserve-unknown-fields", true), "properties", "spec", "properties", "backends")),
		"a map that has it": inSchema(set(object("type", "object", "additionalProperties", object("type", "boolean")),
			"properties", "status", "properties", "state")),
		"no optional fields": inSchema(func(schema map[string]any) {
			for _, key := range []string{"zones", "tags", "primary", "backends"} {
				unstructured.RemoveNestedField(schema, "properties", "spec", "properties", key)
			}
		}),
	} {
		t.Run(name, func(t *testing.T) {
			if findings := crdcheck.Check(spec, parse(t, change)); len(findings) > 0 {
				t.Errorf("findings: %v", findings)
			}
		})
	}
}

// finding leaves out the message: that is compared on its own.
func finding(code crdcheck.Code, contractVersion, path string) crdcheck.Finding {
	f := crdcheck.Finding{Code: code, ContractVersion: contractVersion, Path: path}
	if contractVersion != "" {
		f.APIVersion = "v1beta1"
	}
	return f
}

func TestFindings(t *testing.T) {
	specPath := func(key string) []string { return []string{"properties", "spec", "properties", key} }
	twice := func(code crdcheck.Code, path string) []crdcheck.Finding {
		return []crdcheck.Finding{finding(code, "v2", path), finding(code, "v1", path)}
	}
	for name, tc := range map[string]struct {
		change  func(map[string]any)
		want    []crdcheck.Finding
		message string
	}{
		"scope": {
			set("Cluster", "spec", "scope"),
			[]crdcheck.Finding{finding(crdcheck.Scope, "", "")}, `the scope is "Cluster", expected Namespaced`,
		},
		"name": {
			set("mything.example.com", "metadata", "name"),
			[]crdcheck.Finding{finding(crdcheck.CRDName, "", "")},
			"the name is mything.example.com, expected mythings.example.com: readers find the CRD by it",
		},
		"version missing": {
			set("v1", "metadata", "labels", "things.example.com/v2"),
			[]crdcheck.Finding{{Code: crdcheck.VersionMissing, ContractVersion: "v2", APIVersion: "v1"}},
			"the label things.example.com/v2 names API version v1, which the CRD doesn't have",
		},
		"version not served": {
			inVersion(set(false, "served")), twice(crdcheck.VersionNotServed, ""),
			"the label things.example.com/v2 names API version v1beta1, which is not served",
		},
		"status subresource": {
			inVersion(remove("subresources")), twice(crdcheck.NoStatusSubresource, ""),
			"API version v1beta1 has no status subresource",
		},
		"required field of one version": {
			inSchema(remove("properties", "status", "properties", "state")),
			[]crdcheck.Finding{finding(crdcheck.FieldMissing, "v2", "status.state.ready")},
			"status.state.ready is not in the schema of v1beta1",
		},
		"required field of a version that lacks it elsewhere": {
			inSchema(remove(specPath("only")...)),
			[]crdcheck.Finding{finding(crdcheck.FieldMissing, "v1", "spec.only")},
			"spec.only is not in the schema of v1beta1",
		},
		"required field in the other half": {
			inSchema(func(schema map[string]any) {
				remove(specPath("oldID")...)(schema)
				set(object("type", "string"), "properties", "status", "properties", "id")(schema)
			}),
			twice(crdcheck.FieldMissing, "spec.id"),
			"spec.id or spec.oldID is not in the schema of v1beta1 (it is at status.id)",
		},
		"type of a required field": {
			inSchema(set("string", "properties", "status", "properties", "state", "properties", "ready", "type")),
			[]crdcheck.Finding{finding(crdcheck.FieldType, "v2", "status.state.ready")},
			"status.state.ready has type string, expected boolean (v1beta1)",
		},
		"type of the place that is there": {
			inSchema(set("integer", "properties", "spec", "properties", "oldID", "type")), twice(crdcheck.FieldType, "spec.oldID"),
			"spec.oldID has type integer, expected string (v1beta1)",
		},
		"type of a parent": {
			inSchema(set(object("type", "string"), "properties", "status", "properties", "state")),
			[]crdcheck.Finding{finding(crdcheck.FieldMissing, "v2", "status.state.ready")},
			"status.state.ready is not in the schema of v1beta1",
		},
		"int or string": {
			inSchema(set(object("x-kubernetes-int-or-string", true), "properties", "spec", "properties", "only")),
			[]crdcheck.Finding{finding(crdcheck.FieldType, "v1", "spec.only")},
			"spec.only has type integer or string, expected string (v1beta1)",
		},
		"items of a list of strings": {
			inSchema(set("integer", append(specPath("zones"), "items", "type")...)), twice(crdcheck.FieldType, "spec.zones[]"),
			"spec.zones[] has type integer, expected string (v1beta1)",
		},
		"values of a map of strings": {
			inSchema(set("boolean", append(specPath("tags"), "additionalProperties", "type")...)), twice(crdcheck.FieldType, "spec.tags{}"),
			"spec.tags{} has type boolean, expected string (v1beta1)",
		},
		"time": {
			inSchema(set("integer", "properties", "status", "properties", "since", "type")), twice(crdcheck.FieldType, "status.since"),
			"status.since has type integer, expected string (v1beta1)",
		},
		"member of an object": {
			inSchema(set("string", append(specPath("primary"), "properties", "weight", "type")...)), twice(crdcheck.FieldType, "spec.primary.weight"),
			"spec.primary.weight has type string, expected integer (v1beta1)",
		},
		"required member of an object": {
			inSchema(remove(append(specPath("primary"), "properties", "address")...)), twice(crdcheck.FieldMissing, "spec.primary.address"),
			"spec.primary.address is not in the schema (v1beta1)",
		},
		"items of a list of objects, said once for two fields": {
			inSchema(set("string", append(specPath("backends"), "items", "type")...)), twice(crdcheck.FieldType, "spec.backends[]"),
			"spec.backends[] has type string, expected object (v1beta1)",
		},
		"no label, but it would fit": {
			remove("metadata", "labels"),
			[]crdcheck.Finding{finding(crdcheck.NoContractLabel, "", "")},
			"none of the labels things.example.com/v2, things.example.com/v1 is there and not empty, so nobody can read objects of this kind; things.example.com/v2=v1beta1 would fit",
		},
		"no label and the nearest contract is the old one": {
			func(crd map[string]any) {
				set(object("things.example.com/v2", "", "things.example.com/v3", "v1beta1"), "metadata", "labels")(crd)
				inSchema(remove("properties", "status", "properties", "state"))(crd)
				inSchema(set("integer", "properties", "spec", "properties", "oldID", "type"))(crd)
			},
			[]crdcheck.Finding{finding(crdcheck.NoContractLabel, "", ""), finding(crdcheck.FieldType, "v1", "spec.oldID")},
			"none of the labels things.example.com/v2, things.example.com/v1 is there and not empty, so nobody can read objects of this kind",
		},
	} {
		t.Run(name, func(t *testing.T) {
			findings := crdcheck.Check(spec, parse(t, tc.change))
			if len(findings) == 0 {
				t.Fatal("no findings")
			}
			if findings[0].Message != tc.message {
				t.Errorf("message\n got  %s\n want %s", findings[0].Message, tc.message)
			}
			for i := range findings {
				findings[i].Message = ""
			}
			if diff := cmp.Diff(tc.want, findings); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestMalformed(t *testing.T) {
	check := func(name string, crd *unstructured.Unstructured, want string) {
		t.Run(name, func(t *testing.T) {
			findings := crdcheck.Check(spec, crd)
			if len(findings) != 1 || findings[0].String() != "malformed: "+want {
				t.Errorf("got %v\nwant %s", findings, want)
			}
		})
	}
	check("nil", nil, "there is no CRD")
	check("empty", &unstructured.Unstructured{}, `the kind is "", expected CustomResourceDefinition`)
	check("another kind", parse(t, set("Deployment", "kind")), `the kind is "Deployment", expected CustomResourceDefinition`)
	check("kind is a number", parse(t, set(int64(1), "kind")), `the kind is "", expected CustomResourceDefinition`)
	check("no kind of objects", parse(t, remove("spec", "names")), "spec.names.kind of the CRD is missing or no string")
	check("no group", parse(t, set("", "spec", "group")), "spec.group of the CRD is missing or no string")
	check("no versions", parse(t, remove("spec", "versions")), "spec.versions of the CRD is missing, empty or no list")
	check("versions are no list", parse(t, set("v1", "spec", "versions")), "spec.versions of the CRD is missing, empty or no list")
	check("version is no object", parse(t, set([]any{"v1"}, "spec", "versions")), "spec.versions[0].name of the CRD is missing or no string")
	check("no schema", parse(t, inVersion(remove("schema"))), "spec.versions[0].schema.openAPIV3Schema (v1beta1) of the CRD is missing or no object")
}
