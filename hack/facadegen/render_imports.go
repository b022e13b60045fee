// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package facadegen

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// The packages that generated code imports, next to the contract.
const (
	machinistModule  = "github.com/machinist-dev/machinist"
	accessorPath     = machinistModule + "/apis/contract/accessor"
	crdcheckPath     = machinistModule + "/apis/contract/crdcheck"
	unstructuredPath = "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	schemaPath       = "k8s.io/apimachinery/pkg/runtime/schema"
	metav1Path       = "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func facadeKindImports(c *Contract, kind Kind) []string {
	return importLines(c, append(metav1IfUsed(kind), c.ImportPath, accessorPath, crdcheckPath, unstructuredPath))
}

func facadeValuesImports(c *Contract) []string {
	return importLines(c, []string{c.ImportPath, accessorPath})
}

func testKindImports(c *Contract, kind Kind) []string {
	paths := append(metav1IfUsed(kind), c.ImportPath, unstructuredPath, schemaPath)
	if slices.ContainsFunc(kind.Fields, func(f Field) bool { return f.Type.Kind == "Time" }) {
		paths = append(paths, "time")
	}
	return importLines(c, paths)
}

func testValuesImports(data templateData) []string {
	paths := []string{"fmt", unstructuredPath, data.Contract.ImportPath}
	if data.HasLabels || data.HasAnnotations {
		paths = append(paths, "maps")
	}
	for _, s := range data.Contract.Structs {
		for _, m := range s.Members {
			switch {
			case m.Type.Kind == "Time":
				paths = append(paths, "time")
			case m.Type.Kind == "Object" && !m.Required:
				paths = append(paths, "reflect")
			}
		}
	}
	return importLines(data.Contract, paths)
}

func metav1IfUsed(kind Kind) []string {
	for _, f := range kind.Fields {
		if f.Type.Kind == "Time" || f.Type.Kind == "Duration" {
			return []string{metav1Path}
		}
	}
	return nil
}

// importLines returns import specs in three groups, separated by empty lines: the standard library, other modules,
// and what belongs to the contract.
func importLines(c *Contract, paths []string) []string {
	group := func(path string) int {
		host, _, _ := strings.Cut(path, "/")
		switch {
		case path == c.ImportPath || strings.HasPrefix(path, machinistModule+"/"):
			return 2
		case strings.Contains(host, "."):
			return 1
		default:
			return 0
		}
	}
	slices.SortFunc(paths, func(a, b string) int {
		return cmp.Or(cmp.Compare(group(a), group(b)), cmp.Compare(a, b))
	})
	paths = slices.Compact(paths)
	var lines []string
	for i, path := range paths {
		if i > 0 && group(path) != group(paths[i-1]) {
			lines = append(lines, "")
		}
		line := strconv.Quote(path)
		if path == metav1Path {
			line = "metav1 " + line
		}
		lines = append(lines, line)
	}
	return lines
}
