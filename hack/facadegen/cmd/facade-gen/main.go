// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// The command facade-gen generates accessors from a contract package; see docs/facadegen.md.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/machinist-dev/machinist/hack/facadegen"
)

const usage = `facade-gen generates accessors, builders for tests and documentation from a contract package.

Usage:
  facade-gen [facade[:<argument>=<value>,...]] paths=<packages> output:dir=<folder>
  facade-gen -www

Options, in the syntax of controller-gen:
  facade               the generator; needed only for its arguments:
      headerFile=<file>    text to put before generated code, usually a licence
      package=<name>       the generated package and its folder; facade by default
      table=<file>         the documentation, relative to the output folder; contract.md by default
      title=<text>         its heading; the name of the contract package by default
  paths=<packages>     the contract package, for example ./apis/contract; packages without a contract are ignored
  output:dir=<folder>  where to write; output:none checks the contract and writes nothing

Flags:
`

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "facade-gen:", err)
		os.Exit(1)
	}
}

func run(args []string, out, errOut io.Writer) error {
	flags := pflag.NewFlagSet("facade-gen", pflag.ContinueOnError)
	flags.SetOutput(errOut)
	which := flags.CountP("which-markers", "w", "print the markers of contract packages (-ww with arguments, -www with details)")
	flags.Usage = func() { fmt.Fprint(errOut, usage, flags.FlagUsages()) }
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return nil
		}
		return err
	}
	if *which > 0 {
		return facadegen.DescribeMarkers(out, *which)
	}
	return generate(flags.Args(), errOut)
}

func generate(options []string, errOut io.Writer) error {
	given := func(name string) bool {
		return slices.ContainsFunc(options, func(option string) bool {
			rest, isOption := strings.CutPrefix(option, name)
			return isOption && (rest == "" || rest[0] == ':' || rest[0] == '=')
		})
	}
	if slices.Contains(options, "") || !given("paths") || !given("output") {
		return errors.New("paths=<packages> and output:dir=<folder> are needed, see facade-gen --help")
	}
	if !given("facade") {
		options = append(options, "facade")
	}
	registry, err := optionsRegistry()
	if err != nil {
		return err
	}
	runtime, err := genall.FromOptions(registry, options)
	if err != nil {
		return err
	}
	runtime.ErrorWriter = errOut
	if failed := runtime.Run(); failed {
		return errors.New("nothing was generated, because of the errors above")
	}
	return nil
}

// optionsRegistry has what may stand on the command line.
func optionsRegistry() (*markers.Registry, error) {
	registry := &markers.Registry{}
	for name, option := range map[string]any{
		"facade":      facadegen.Generator{},
		"output:dir":  genall.OutputToDirectory(""),
		"output:none": genall.OutputToNothing,
	} {
		if err := registry.Define(name, markers.DescribesPackage, option); err != nil {
			return nil, err
		}
	}
	return registry, genall.RegisterOptionsMarkers(registry)
}
