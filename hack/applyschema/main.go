// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Command applyschema prints, as one OpenAPI v2 document, the schemas that a kube-apiserver publishes for the given
// CustomResourceDefinitions. applyconfiguration-gen needs it to write the Extract functions, which have to see field
// ownership exactly as the API server does: lists that are maps, lists and maps that are atomic.
//
//	applyschema GO-PACKAGE CRD-FILE...
//
// GO-PACKAGE is the import path of the Go types; its last element is the API version to take. The definitions are
// named after it, since that is where applyconfiguration-gen looks for them.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "applyschema:", err)
		os.Exit(1)
	}
}

// run writes the document to out.
func run(args []string, out io.Writer) error {
	if len(args) < 2 {
		return errors.New("want a Go package and one or more files with CustomResourceDefinitions")
	}
	document := &spec.Swagger{SwaggerProps: spec.SwaggerProps{
		Swagger:     "2.0",
		Info:        &spec.Info{InfoProps: spec.InfoProps{Title: args[0], Version: "unversioned"}},
		Paths:       &spec.Paths{},
		Definitions: spec.Definitions{},
	}}
	for _, file := range args[1:] {
		if err := addDefinitions(document.Definitions, args[0], file); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return json.NewEncoder(out).Encode(document)
}

// addDefinitions adds the schema of the CustomResourceDefinition in file, and everything that it refers to.
func addDefinitions(definitions spec.Definitions, goPackage, file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(data, crd); err != nil {
		return err
	}
	// The builder relies on the defaults that the API server fills in.
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&crd.Spec)
	version := path.Base(goPackage)
	published, err := builder.BuildOpenAPIV2(crd, version, builder.Options{V2: true})
	if err != nil {
		return err
	}
	kind := util.ToRESTFriendlyName(crd.Spec.Group + "/" + version + "." + crd.Spec.Names.Kind)
	if _, ok := published.Definitions[kind]; !ok {
		return fmt.Errorf("the API server publishes no definition %s: does the CRD serve version %s?", kind, version)
	}
	for name, schema := range published.Definitions {
		if name == kind {
			name = util.ToRESTFriendlyName(goPackage + "." + crd.Spec.Names.Kind)
		}
		definitions[name] = schema
	}
	return nil
}
