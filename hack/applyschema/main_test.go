// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

const (
	goPackage = "example.com/shop/apis/v1"
	crd       = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: orders.shop.example.com}
spec:
  group: shop.example.com
  names: {kind: Order, plural: orders}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          items:
            type: array
            x-kubernetes-list-type: map
            x-kubernetes-list-map-keys: [article]
            items:
              type: object
              required: [article]
              properties: {article: {type: string}}
`
)

func TestDocument(t *testing.T) {
	var out bytes.Buffer
	if err := run([]string{goPackage, write(t, crd)}, &out); err != nil {
		t.Fatal(err)
	}
	document := spec.Swagger{}
	if err := json.Unmarshal(out.Bytes(), &document); err != nil {
		t.Fatal(err)
	}
	order, ok := document.Definitions["com.example.shop.apis.v1.Order"]
	if !ok {
		t.Fatal("the definition is not named after the Go type")
	}
	if got := order.Properties["items"].Extensions["x-kubernetes-list-type"]; got != "map" {
		t.Errorf("list type of items = %v, want map", got)
	}
	metadata := order.Properties["metadata"]
	reference := strings.TrimPrefix(metadata.Ref.String(), "#/definitions/")
	if _, ok := document.Definitions[reference]; !ok {
		t.Errorf("metadata refers to %q, which is not in the document", reference)
	}
}

func TestErrors(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no files":          {args: []string{goPackage}, want: "one or more files"},
		"file missing":      {args: []string{goPackage, "missing.yaml"}, want: "missing.yaml"},
		"unknown field":     {args: []string{goPackage, write(t, "kindd: CustomResourceDefinition")}, want: `unknown field "kindd"`},
		"version not there": {args: []string{"example.com/shop/apis/v2", write(t, crd)}, want: "v2"},
	} {
		t.Run(name, func(t *testing.T) {
			err := run(test.args, io.Discard)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error = %v, want one that contains %q", err, test.want)
			}
		})
	}
}

func write(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "crd.yaml")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
