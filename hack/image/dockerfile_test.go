// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The Dockerfile takes over the files, and has to say once more how they are run.
func TestDockerfile(t *testing.T) {
	image, err := build(options{version: "${VERSION}", revision: "${REVISION}"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	file, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config := file.Config
	entrypoint, err := json.Marshal(config.Entrypoint)
	if err != nil {
		t.Fatal(err)
	}
	var labels []string
	for _, key := range slices.Sorted(maps.Keys(config.Labels)) {
		labels = append(labels, fmt.Sprintf("%s=%q", key, config.Labels[key]))
	}
	want := []string{
		"FROM scratch",
		"ARG TARGETARCH",
		"ARG VERSION",
		"ARG REVISION",
		"LABEL " + strings.Join(labels, " "),
		"ADD bin/linux-${TARGETARCH}/rootfs.tar /",
		"ENV " + strings.Join(config.Env, " "),
		"USER " + config.User,
		"WORKDIR " + config.WorkingDir,
		"ENTRYPOINT " + string(entrypoint),
	}
	if got := instructions(t, "../../Dockerfile"); !slices.Equal(got, want) {
		t.Errorf("the Dockerfile is\n%s\nexpected\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	seen := []string{"*"}
	for _, arch := range slices.Sorted(maps.Keys(machines)) {
		seen = append(seen, "!bin/linux-"+arch+"/rootfs.tar")
	}
	if got := instructions(t, "../../.dockerignore"); !slices.Equal(got, seen) {
		t.Errorf(".dockerignore is %q, expected %q", got, seen)
	}
}

// instructions are the lines of a Dockerfile without comments, continued ones as a single one, with single spaces.
func instructions(t *testing.T, path string) []string {
	t.Helper()
	var all []string
	for line := range strings.Lines(strings.ReplaceAll(string(read(t, path)), "\\\n", " ")) {
		if words := strings.Fields(line); len(words) > 0 && !strings.HasPrefix(words[0], "#") {
			all = append(all, strings.Join(words, " "))
		}
	}
	return all
}

func TestRootfsIsTheLayer(t *testing.T) {
	binary := program(t, elf.EM_X86_64, elf.PT_LOAD)
	path := filepath.Join(t.TempDir(), "rootfs.tar")
	image, _ := fromLayout(t, pack(t, binary, "-rootfs="+path))
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	layer, err := io.ReadAll(content)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(layer, read(t, path)) {
		t.Error("the Dockerfile's files are not those of the tarball")
	}
}
