// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user is who the program runs as. A name would not do: Kubernetes can tell only of a number that it is not root.
const user = "65532:65532"

// machines are the architectures that there are images for.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// writeImage writes the image as a tarball, and returns what it is.
func writeImage(o options, binary []byte, w io.Writer) (string, error) {
	tag, err := name.NewTag(o.tag)
	if err != nil {
		return "", err
	}
	image, err := build(o, binary)
	if err != nil {
		return "", err
	}
	digest, err := image.Digest()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s, linux/%s, %s", o.tag, o.arch, digest), archive(w, image, tag, o.time())
}

// build makes the image. What it says about itself, the Dockerfile says, too.
func build(o options, binary []byte) (v1.Image, error) {
	layer, err := layerOf(o, binary)
	if err != nil {
		return nil, fmt.Errorf("packing the layer: %w", err)
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.Append(image, mutate.Addendum{
		Layer:   layer,
		History: v1.History{Created: v1.Time{Time: o.time()}, CreatedBy: "hack/image", Comment: "manager " + o.version},
	})
	if err != nil {
		return nil, fmt.Errorf("adding the layer: %w", err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("reading the configuration of the image: %w", err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", o.arch
	config.Created = v1.Time{Time: o.time()}
	config.Config = v1.Config{
		Entrypoint: []string{"/manager"},
		Env:        []string{"PATH=/"},
		Labels:     annotations(o),
		User:       user,
		WorkingDir: "/",
	}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return nil, fmt.Errorf("setting the configuration of the image: %w", err)
	}
	annotated, ok := mutate.Annotations(image, annotations(o)).(v1.Image)
	if !ok {
		return nil, fmt.Errorf("an annotated image is a %T", annotated)
	}
	return annotated, nil
}

// annotations are those of the OCI image specification. Docker shows the labels, which are the same.
func annotations(o options) map[string]string {
	all := map[string]string{
		"org.opencontainers.image.title":       "Machinist",
		"org.opencontainers.image.description": "Runs Cluster API Machines",
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.source":      "https://github.com/machinist-dev/machinist",
		"org.opencontainers.image.version":     o.version,
		"org.opencontainers.image.revision":    o.revision,
	}
	for key, value := range all {
		if value == "" {
			delete(all, key)
		}
	}
	return all
}

// readBinary reads the program, and refuses what would not start in the image.
func readBinary(path, arch string) ([]byte, error) {
	want, ok := machines[arch]
	if !ok {
		return nil, fmt.Errorf("-arch is %q, expected amd64 or arm64", arch)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	file, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("%s is no program for linux, build it with GOOS=linux GOARCH=%s: %w", path, arch, err)
	}
	if file.Machine != want {
		return nil, fmt.Errorf("%s is built for %s, expected %s: build it with GOARCH=%s", path, strings.TrimPrefix(file.Machine.String(), "EM_"), arch, arch)
	}
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_INTERP {
			return nil, fmt.Errorf("%s is linked dynamically, and the image has no libraries: build it with CGO_ENABLED=0", path)
		}
	}
	return content, nil
}
