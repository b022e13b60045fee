// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package facadegen_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/machinist-dev/machinist/hack/facadegen"
)

// FuzzParse parses anything that is Go syntax. It must not panic, and what it accepts must render to Go syntax.
func FuzzParse(f *testing.F) {
	seeds, err := filepath.Glob(filepath.Join("testdata", "*", "*", "contract.go"))
	if err != nil || len(seeds) == 0 {
		f.Fatalf("%d seeds, %v", len(seeds), err)
	}
	for _, seed := range seeds {
		source, err := os.ReadFile(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(source))
	}
	registry := &markers.Registry{}
	if err := (facadegen.Generator{}).RegisterMarkers(registry); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, source string) {
		file, err := parser.ParseFile(token.NewFileSet(), "contract.go", source, parser.ParseComments)
		if err != nil {
			t.Skip("no Go")
		}
		pkg := &loader.Package{Package: &packages.Package{Name: file.Name.Name, PkgPath: "example.com/contract", Syntax: []*ast.File{file}}}
		contract, errs := facadegen.Parse(pkg, registry)
		if contract == nil || len(errs) > 0 {
			return
		}
		opts := facadegen.Options{FacadePackage: "facade", TestPackage: "facadetest"}
		if _, err := facadegen.RenderFacade(contract, opts); err != nil {
			t.Errorf("facade: %v", err)
		}
		if _, err := facadegen.RenderTestPackage(contract, opts); err != nil {
			t.Errorf("test package: %v", err)
		}
		if _, err := facadegen.RenderTable(contract, opts); err != nil {
			t.Errorf("table: %v", err)
		}
	})
}
