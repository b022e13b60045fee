// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package facadegen

import (
	"errors"
	"fmt"
	"path"

	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"
)

// Generator writes the facade of a contract package, a package of builders for tests, and a page of documentation.
// It is a generator in the sense of controller-tools.
type Generator struct {
	// HeaderFile holds text to put before generated code, usually a licence.
	HeaderFile string `marker:",optional"`
	// Package is the name of the facade package and of its folder; facade by default. The package for tests has "test"
	// added to it.
	Package string `marker:",optional"`
	// Table is the file for the documentation, relative to the output folder; contract.md by default.
	Table string `marker:",optional"`
	// Title is the heading of the documentation; the name of the contract package by default.
	Title string `marker:",optional"`
}

var _ genall.Generator = Generator{}

// RegisterMarkers adds the markers of contract packages to a registry.
func (Generator) RegisterMarkers(into *markers.Registry) error { return registerMarkers(into) }

// Generate parses the packages and writes the files. There must be one package with a contract among them. What is wrong
// in its source is attached to the package, to be printed with its position, and nothing is written.
func (g Generator) Generate(ctx *genall.GenerationContext) error {
	var contract *Contract
	failed := false
	for _, root := range ctx.Roots {
		parsed, errs := Parse(root, ctx.Collector.Registry)
		for _, err := range errs {
			root.AddError(err)
			failed = true
		}
		if parsed == nil {
			continue
		}
		if contract != nil {
			return fmt.Errorf("packages %s and %s both have a contract: generate one at a time", contract.ImportPath, parsed.ImportPath)
		}
		contract = parsed
	}
	switch {
	case failed:
		return nil
	case contract == nil:
		return errors.New("no contract in the given paths: a contract kind is a struct with the marker +" + markerKind)
	}
	return g.write(ctx, contract)
}

func (g Generator) write(ctx *genall.GenerationContext, contract *Contract) error {
	opts, err := g.options(ctx)
	if err != nil {
		return err
	}
	facade, facadeErr := RenderFacade(contract, opts)
	tests, testsErr := RenderTestPackage(contract, opts)
	table, tableErr := RenderTable(contract, opts)
	tablePath := g.Table
	if tablePath == "" {
		tablePath = "contract.md"
	}
	return errors.Join(facadeErr, testsErr, tableErr,
		writeAll(ctx, opts.FacadePackage, facade),
		writeAll(ctx, opts.TestPackage, tests),
		writeAll(ctx, "", []File{{tablePath, table}}),
	)
}

func (g Generator) options(ctx *genall.GenerationContext) (Options, error) {
	opts := Options{FacadePackage: g.Package, Title: g.Title}
	if opts.FacadePackage == "" {
		opts.FacadePackage = "facade"
	}
	opts.TestPackage = opts.FacadePackage + "test"
	if g.HeaderFile != "" {
		header, err := ctx.ReadFile(g.HeaderFile)
		if err != nil {
			return opts, fmt.Errorf("header file: %w", err)
		}
		opts.Header = string(header)
	}
	return opts, nil
}

func writeAll(ctx *genall.GenerationContext, folder string, files []File) error {
	for _, file := range files {
		var pkg *loader.Package // none: the output rule is to take the path as it is
		out, err := ctx.Open(pkg, path.Join(folder, file.Name))
		if err != nil {
			return err
		}
		_, err = out.Write(file.Content)
		if err := errors.Join(err, out.Close()); err != nil {
			return fmt.Errorf("%s: %w", file.Name, err)
		}
	}
	return nil
}
