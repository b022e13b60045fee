// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"debug/elf"
	"fmt"
	"os"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user is who the program runs as. A name would not do: Kubernetes can tell only of a number that it is not root.
const user = "65532:65532"

// machines are the architectures that there are images for.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// build makes the image.
func build(o options) (v1.Image, error) {
	if err := checkBinary(o.binary, o.arch); err != nil {
		return nil, err
	}
	binary, err := os.ReadFile(o.binary)
	if err != nil {
		return nil, err
	}
	created := time.Unix(o.created, 0).UTC()
	layer, err := layerOf(filesOf(binary), created)
	if err != nil {
		return nil, fmt.Errorf("packing the layer: %w", err)
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.Append(image, mutate.Addendum{
		Layer:   layer,
		History: v1.History{Created: v1.Time{Time: created}, CreatedBy: "hack/image", Comment: "manager " + o.version},
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
	config.Created = v1.Time{Time: created}
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
		"org.opencontainers.image.created":     time.Unix(o.created, 0).UTC().Format(time.RFC3339),
	}
	for key, value := range all {
		if value == "" {
			delete(all, key)
		}
	}
	return all
}

// checkBinary refuses what would not start in the image.
func checkBinary(path, arch string) error {
	want, ok := machines[arch]
	if !ok {
		return fmt.Errorf("-arch is %q, expected amd64 or arm64", arch)
	}
	file, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("%s is no program for linux, build it with GOOS=linux GOARCH=%s: %w", path, arch, err)
	}
	defer file.Close() //nolint:errcheck // only read
	if file.Machine != want {
		return fmt.Errorf("%s is built for %s, expected %s: build it with GOARCH=%s", path, strings.TrimPrefix(file.Machine.String(), "EM_"), arch, arch)
	}
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_INTERP {
			return fmt.Errorf("%s is linked dynamically, and the image has no libraries: build it with CGO_ENABLED=0", path)
		}
	}
	return nil
}
