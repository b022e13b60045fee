// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"debug/elf"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/CycloneDX/cyclonedx-go"
)

func TestSBOM(t *testing.T) {
	manager := &debug.BuildInfo{
		GoVersion: "go1.26.1 X:nodwarf5",
		Main:      debug.Module{Path: "example.org/manager", Version: "(devel)"},
		Deps: []*debug.Module{
			{Path: "example.org/a", Version: "v2.0.0+incompatible"},
			{Path: "example.org/b", Version: "v1.0.0", Replace: &debug.Module{Path: "example.org/fork", Version: "v1.0.1"}},
		},
	}
	o := options{version: "v1.2.3", arch: "arm64", created: 1700000000}
	bom := sbomOf(o, manager, "abc", &debug.Module{Path: rootsModule, Version: "v0.1.0"})

	if at := bom.Metadata.Timestamp; at != "2023-11-14T22:13:20Z" || bom.SerialNumber != "" {
		t.Errorf("it is of %s and has the serial number %q", at, bom.SerialNumber)
	}
	if image := bom.Metadata.Component; image.Name != "machinist" || image.Version != "v1.2.3" {
		t.Errorf("it is about %s %s", image.Name, image.Version)
	}
	var names, refs []string
	for _, component := range *bom.Components {
		names = append(names, component.Name+" "+component.Version+" "+component.PackageURL)
		refs = append(refs, component.BOMRef)
	}
	want := []string{
		"example.org/manager v1.2.3 pkg:golang/example.org/manager@v1.2.3?goarch=arm64&goos=linux",
		"golang.org/x/crypto/x509roots/fallback v0.1.0 pkg:golang/golang.org/x/crypto/x509roots/fallback@v0.1.0",
		"stdlib 1.26.1 pkg:golang/stdlib@1.26.1",
		"example.org/a v2.0.0+incompatible pkg:golang/example.org/a@v2.0.0%2Bincompatible",
		"example.org/fork v1.0.1 pkg:golang/example.org/fork@v1.0.1",
	}
	if !slices.Equal(names, want) {
		t.Errorf("it lists\n%s\nexpected\n%s", strings.Join(names, "\n"), strings.Join(want, "\n"))
	}
	if hashes := *(*bom.Components)[0].Hashes; len(hashes) != 1 || hashes[0].Value != "abc" {
		t.Errorf("the program's hashes are %v", hashes)
	}
	dependencies := *bom.Dependencies
	if len(dependencies) != 2 || !slices.Equal(*dependencies[0].Dependencies, refs[:2]) || !slices.Equal(*dependencies[1].Dependencies, refs[2:]) {
		t.Errorf("it says that %v", dependencies)
	}
}

// The test itself is a program that says what it was made of.
func TestSBOMOfProgram(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary := read(t, path)
	var written [2]bytes.Buffer
	for i := range written {
		if _, err := writeSBOM(options{binary: path, version: "v1.2.3"}, binary, &written[i]); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(written[0].Bytes(), written[1].Bytes()) {
		t.Error("it is another one the second time")
	}
	var bom cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(&written[0], cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || len(*bom.Components) != 3+len(info.Deps) {
		t.Errorf("it lists %d components, of %d modules", len(*bom.Components), len(info.Deps))
	}
	sbom := filepath.Join(t.TempDir(), "image.cdx.json")
	err = run([]string{"-binary=" + program(t, elf.EM_X86_64, elf.PT_LOAD), "-sbom=" + sbom}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "does not say what it was made of") {
		t.Errorf("of a program in another language: %v", err)
	}
	if _, err := os.Stat(sbom); !os.IsNotExist(err) {
		t.Errorf("after the failure: %v", err)
	}
}
