// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package facadegen_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/machinist-dev/machinist/hack/facadegen"
)

var update = flag.Bool("update", false, "write what the tests get to the golden files, to be reviewed")

// load parses one package.
func load(t *testing.T, folder string) (*loader.Package, *facadegen.Contract, []error) {
	t.Helper()
	roots, err := loader.LoadRoots("./" + filepath.ToSlash(folder))
	if err != nil || len(roots) != 1 {
		t.Fatalf("%s: %d packages, %v", folder, len(roots), err)
	}
	registry := &markers.Registry{}
	if err := (facadegen.Generator{}).RegisterMarkers(registry); err != nil {
		t.Fatal(err)
	}
	contract, errs := facadegen.Parse(roots[0], registry)
	return roots[0], contract, errs
}

// compareGolden compares bytes with those of a file.
func compareGolden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs, -want +got (go test -update writes it):\n%s", file, diff)
	}
}

// Every mistake is reported at its line. Each folder has a contract with mistakes of one sort, and errors.golden has
// the messages, with the line and the source that is there.
func TestErrorsAreReportedAtTheirLine(t *testing.T) {
	folders, err := filepath.Glob(filepath.Join("testdata", "errors", "*"))
	if err != nil || len(folders) == 0 {
		t.Fatalf("%d folders, %v", len(folders), err)
	}
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			pkg, contract, errs := load(t, folder)
			if contract != nil || len(errs) == 0 {
				t.Error("the contract was accepted")
			}
			source, err := os.ReadFile(filepath.Join(folder, "contract.go"))
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(string(source), "\n")
			var report strings.Builder
			for _, err := range errs {
				pkg.AddError(err)
			}
			for _, err := range pkg.Errors {
				// The position is file:line:column.
				parts := strings.Split(err.Pos, ":")
				if len(parts) < 3 {
					t.Errorf("no position: %v", err)
					continue
				}
				line, err2 := strconv.Atoi(parts[len(parts)-2])
				if err2 != nil {
					t.Fatal(err2)
				}
				fmt.Fprintf(&report, "%d  %s\n    %s\n", line, strings.TrimSpace(lines[line-1]), err.Msg)
			}
			compareGolden(t, filepath.Join(folder, "errors.golden"), []byte(report.String()))
		})
	}
}

func TestPackageWithoutContract(t *testing.T) {
	if _, contract, errs := load(t, "cmd/facade-gen"); contract != nil || len(errs) > 0 {
		t.Errorf("got %v, %v", contract, errs)
	}
}
