// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
)

// rootsModule is where the certificates come from.
const rootsModule = "golang.org/x/crypto/x509roots/fallback"

// writeSBOM writes the software bill of materials of the image, as CycloneDX: what the binary says that it was made of, and
// the certificates. It is that of both images.
func writeSBOM(o options, binary []byte, w io.Writer) (string, error) {
	manager, err := buildinfo.Read(bytes.NewReader(binary))
	if err != nil {
		return "", fmt.Errorf("%s does not say what it was made of: %w", o.binary, err)
	}
	packer, ok := debug.ReadBuildInfo()
	if !ok {
		return "", errors.New("this program was built without modules: the version of its certificates is unknown")
	}
	certificates, err := moduleOf(packer, rootsModule)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(binary)
	bom := sbomOf(o, manager, hex.EncodeToString(sum[:]), certificates)
	err = cyclonedx.NewBOMEncoder(w, cyclonedx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false).EncodeVersion(bom, cyclonedx.SpecVersion1_6)
	return fmt.Sprintf("the %d pieces of software in the image", len(*bom.Components)), err
}

// moduleOf finds a module among those that a program was made of.
func moduleOf(info *debug.BuildInfo, path string) (*debug.Module, error) {
	for _, module := range info.Deps {
		if module.Path == path {
			return effective(module), nil
		}
	}
	return nil, fmt.Errorf("%s is not among the modules of %s", path, info.Path)
}

// effective is the module that was built.
func effective(module *debug.Module) *debug.Module {
	if module.Replace != nil {
		return module.Replace
	}
	return module
}

// sbomOf lists what the image holds, in the order in which the Go command does; hash is the binary's SHA-256 in hexadecimal. It
// has neither a serial number nor the present time, so that it is the same each time.
func sbomOf(o options, manager *debug.BuildInfo, hash string, certificates *debug.Module) *cyclonedx.BOM {
	image := cyclonedx.Component{
		BOMRef: "image", Type: cyclonedx.ComponentTypeContainer, Name: "machinist", Version: o.version,
		Licenses: &cyclonedx.Licenses{{License: &cyclonedx.License{ID: "Apache-2.0"}}},
	}
	// What the binary itself knows of its version depends on how its source was checked out.
	program := moduleComponent(&debug.Module{Path: manager.Main.Path, Version: o.version})
	program.Type = cyclonedx.ComponentTypeApplication
	program.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hash}}
	program.PackageURL += "?goarch=" + o.arch + "&goos=linux"
	// Databases of vulnerabilities know the standard library, with the runtime and the compiler, by this name.
	version, _, _ := strings.Cut(strings.TrimPrefix(manager.GoVersion, "go"), " ")
	parts := []cyclonedx.Component{moduleComponent(&debug.Module{Path: "stdlib", Version: version})}
	for _, module := range manager.Deps {
		parts = append(parts, moduleComponent(effective(module)))
	}
	roots := moduleComponent(certificates)
	components := append([]cyclonedx.Component{program, roots}, parts...)
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Timestamp: o.time().Format(time.RFC3339), Component: &image}
	bom.Components = &components
	bom.Dependencies = &[]cyclonedx.Dependency{
		{Ref: image.BOMRef, Dependencies: &[]string{program.BOMRef, roots.BOMRef}},
		{Ref: program.BOMRef, Dependencies: refs(parts)},
	}
	return bom
}

// moduleComponent is a module of Go as its package URL names it.
func moduleComponent(module *debug.Module) cyclonedx.Component {
	location := "pkg:golang/" + module.Path + "@" + url.QueryEscape(module.Version)
	return cyclonedx.Component{
		BOMRef: location, Type: cyclonedx.ComponentTypeLibrary, Name: module.Path, Version: module.Version, PackageURL: location,
	}
}

func refs(components []cyclonedx.Component) *[]string {
	var all []string
	for _, component := range components {
		all = append(all, component.BOMRef)
	}
	return &all
}
