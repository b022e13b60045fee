// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// The command facade-gen generates accessors from a contract package; see docs/facadegen.md.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/genall/help"
	"sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/machinist-dev/machinist/hack/facadegen"
)

const usage = `facade-gen generates accessors, builders for tests and documentation from a contract package.

Usage:
  facade-gen [facade[:headerFile=<file>,package=<name>,table=<file>]] paths=<packages> output:dir=<folder>

Options (as with controller-gen):
`

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "facade-gen:", err)
		os.Exit(1)
	}
}

func run(args []string, out, errOut io.Writer) error {
	registry, err := newOptions()
	if err != nil {
		return err
	}
	flags := pflag.NewFlagSet("facade-gen", pflag.ContinueOnError)
	flags.SetOutput(errOut)
	which := flags.CountP("which-markers", "w", "print the markers of contract packages (-ww and -www for more)")
	flags.Usage = func() {
		fmt.Fprint(errOut, usage)
		printMarkers(errOut, registry, 2)
		fmt.Fprintln(errOut, flags.FlagUsages())
	}
	if err := flags.Parse(args); errors.Is(err, pflag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	if *which > 0 {
		contractMarkers := &markers.Registry{}
		if err := (facadegen.Generator{}).RegisterMarkers(contractMarkers); err != nil {
			return err
		}
		printMarkers(out, contractMarkers, *which)
		return nil
	}
	return generate(registry, flags.Args(), errOut)
}

// generate runs the generator with options in the syntax of controller-gen.
func generate(registry *markers.Registry, options []string, errOut io.Writer) error {
	has := func(prefix string) bool {
		for _, option := range options {
			if option == prefix || strings.HasPrefix(option, prefix+":") || strings.HasPrefix(option, prefix+"=") {
				return true
			}
		}
		return false
	}
	for _, option := range options {
		if option == "" {
			return errors.New("an option is empty")
		}
	}
	if !has("paths") || !has("output") {
		return errors.New("options paths=<packages> and output:dir=<folder> are needed; facade-gen --help explains them")
	}
	if !has("facade") {
		options = append(options, "facade")
	}
	runtime, err := genall.FromOptions(registry, options)
	if err != nil {
		return err
	}
	runtime.ErrorWriter = errOut
	if failed := runtime.Run(); failed {
		return errors.New("the contract has errors, nothing was generated")
	}
	return nil
}

// newOptions registers what may stand on the command line.
func newOptions() (*markers.Registry, error) {
	registry := &markers.Registry{}
	generator := facadegen.Generator{}
	options := []struct {
		name string
		rule any
		help *markers.DefinitionHelp
	}{
		{"facade", generator, generator.Help()},
		{"output:dir", genall.OutputToDirectory(""), genall.OutputToDirectory("").Help()},
		{"output:stdout", genall.OutputToStdout, genall.OutputToStdout.Help()},
		{"output:none", genall.OutputToNothing, genall.OutputToNothing.Help()},
	}
	for _, option := range options {
		definition, err := markers.MakeDefinition(option.name, markers.DescribesPackage, option.rule)
		if err != nil {
			return nil, err
		}
		if err := registry.Register(definition); err != nil {
			return nil, err
		}
		registry.AddHelp(definition, option.help)
	}
	return registry, genall.RegisterOptionsMarkers(registry)
}

// printMarkers prints a registry: names, from level 2 with arguments, from level 3 with details.
func printMarkers(out io.Writer, registry *markers.Registry, level int) {
	for _, category := range help.ByCategory(registry, help.SortByOption) {
		for _, marker := range category.Markers {
			fmt.Fprintf(out, "  +%s%s  (%s)\n      %s\n", marker.Name, arguments(marker), marker.Target, marker.Summary)
			if level > 1 {
				for _, field := range marker.Fields {
					if field.Name != "" {
						fmt.Fprintf(out, "      %s: %s %s\n", field.Name, field.TypeString(), field.Summary)
					}
				}
			}
			if level > 2 && marker.Details != "" {
				fmt.Fprintf(out, "      %s\n", marker.Details)
			}
		}
	}
	fmt.Fprintln(out)
}

// arguments shows how a marker is written.
func arguments(marker help.MarkerDoc) string {
	if marker.Empty() {
		return ""
	}
	if marker.AnonymousField() {
		return "=<" + marker.Fields[0].TypeString() + ">"
	}
	parts := make([]string, len(marker.Fields))
	for i, field := range marker.Fields {
		parts[i] = field.Name + "=<" + field.TypeString() + ">"
	}
	return ":" + strings.Join(parts, ",")
}
