// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// program writes a file that begins as a program does, with a segment of a type.
func program(t *testing.T, machine elf.Machine, segment elf.ProgType) string {
	t.Helper()
	header := elf.Header64{
		Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT),
		Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1,
	}
	copy(header.Ident[:], elf.ELFMAG)
	header.Ident[elf.EI_CLASS], header.Ident[elf.EI_DATA], header.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)
	var content bytes.Buffer
	for _, part := range []any{header, elf.Prog64{Type: uint32(segment)}, []byte("the rest")} {
		if err := binary.Write(&content, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "manager")
	if err := os.WriteFile(path, content.Bytes(), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// pack makes a tarball and returns its path.
func pack(t *testing.T, binary string, args ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image.tar")
	all := append([]string{"-binary=" + binary, "-output=" + path, "-tag=machinist/manager:v1.2.3", "-version=v1.2.3", "-revision=abc", "-created=1700000000"}, args...)
	if err := run(all, io.Discard); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestSameInputSameBytes(t *testing.T) {
	binary := program(t, elf.EM_X86_64, elf.PT_LOAD)
	first := read(t, pack(t, binary))
	if err := os.Chtimes(binary, time.Unix(1, 0), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if second := read(t, pack(t, binary)); !bytes.Equal(first, second) {
		t.Error("the same binary gave two tarballs")
	}
	if other := read(t, pack(t, binary, "-version=v1.2.4")); bytes.Equal(first, other) {
		t.Error("another version gave the same tarball: nothing is compared here")
	}
}

// fromDocker reads the tarball as docker load does.
func fromDocker(t *testing.T, path string) v1.Image {
	t.Helper()
	tag, err := name.NewTag("machinist/manager:v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	image, err := tarball.ImageFromPath(path, &tag)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// fromLayout reads the tarball as an OCI image layout, and returns the annotations by which the image is named there, too.
func fromLayout(t *testing.T, path string) (v1.Image, map[string]string) {
	t.Helper()
	folder := t.TempDir()
	archive := tar.NewReader(bytes.NewReader(read(t, path)))
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		target := filepath.Join(folder, filepath.Clean("/"+header.Name))
		if header.Typeflag == tar.TypeDir {
			if err := os.MkdirAll(target, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(target, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	index, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != 1 {
		t.Fatalf("got %d images, expected 1", len(manifest.Manifests))
	}
	image, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return image, manifest.Manifests[0].Annotations
}

func TestImage(t *testing.T) {
	path := pack(t, program(t, elf.EM_AARCH64, elf.PT_LOAD), "-arch=arm64")
	image, names := fromLayout(t, path)
	if err := validate.Image(image); err != nil {
		t.Error(err)
	}
	if got := names["io.containerd.image.name"]; got != "docker.io/machinist/manager:v1.2.3" {
		t.Errorf("containerd knows it as %q", got)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.OS != "linux" || config.Architecture != "arm64" {
		t.Errorf("it is for %s/%s", config.OS, config.Architecture)
	}
	if config.Config.User != "65532:65532" || !slices.Equal(config.Config.Entrypoint, []string{"/manager"}) {
		t.Errorf("it runs %q as %q", config.Config.Entrypoint, config.Config.User)
	}
	manifest, err := image.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if manifest.Annotations["org.opencontainers.image.version"] != "v1.2.3" || !maps.Equal(manifest.Annotations, config.Config.Labels) {
		t.Errorf("annotations %v, labels %v", manifest.Annotations, config.Config.Labels)
	}
	docker, err := fromDocker(t, path).ConfigName()
	if err != nil {
		t.Fatal(err)
	}
	if docker != manifest.Config.Digest {
		t.Errorf("docker load finds the configuration %s, the layout has %s", docker, manifest.Config.Digest)
	}
	checkFiles(t, image)
}

func checkFiles(t *testing.T, image v1.Image) {
	t.Helper()
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	if len(layers) != 1 {
		t.Fatalf("got %d layers, expected 1", len(layers))
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	modes := map[string]int64{}
	for archive := tar.NewReader(content); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Uid != 0 || header.Gid != 0 || header.ModTime.Unix() != 1700000000 {
			t.Errorf("%s belongs to %d:%d and is of %s", header.Name, header.Uid, header.Gid, header.ModTime)
		}
		if header.Name == "etc/ssl/certs/ca-certificates.crt" && header.Size < 100_000 {
			t.Errorf("%d bytes of certificates are too few", header.Size)
		}
		modes[header.Name] = header.Mode
	}
	want := map[string]int64{
		"etc/": 0o755, "etc/group": 0o644, "etc/passwd": 0o644, "etc/ssl/": 0o755, "etc/ssl/certs/": 0o755,
		"etc/ssl/certs/ca-certificates.crt": 0o644, "manager": 0o755, "tmp/": 0o1777,
	}
	if !maps.Equal(modes, want) {
		t.Errorf("got %v, expected %v", modes, want)
	}
}

func TestRefused(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	static := program(t, elf.EM_X86_64, elf.PT_LOAD)
	for _, c := range []struct{ what, binary, arg, want string }{
		{"no program", script, "-arch=amd64", "is no program for linux"},
		{"no file", script + "x", "-arch=amd64", "no such file"},
		{"another architecture", static, "-arch=arm64", "is built for X86_64, expected arm64"},
		{"an unknown architecture", static, "-arch=mips", `-arch is "mips", expected amd64 or arm64`},
		{"dynamically linked", program(t, elf.EM_X86_64, elf.PT_INTERP), "-arch=amd64", "is linked dynamically"},
		{"nothing to write", static, "-output=", "one or more of -output, -rootfs and -sbom"},
		{"no tag", static, "-tag=machinist/manager", "expected a name and a tag"},
		{"nowhere to write", static, "-output=" + filepath.Join(t.TempDir(), "no", "image.tar"), "no such file"},
	} {
		output := filepath.Join(t.TempDir(), "image.tar")
		err := run([]string{"-binary=" + c.binary, "-output=" + output, "-tag=a/b:c", c.arg}, io.Discard)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, expected %q", c.what, err, c.want)
		}
		if left, err := filepath.Glob(output + "*"); err != nil || len(left) > 0 {
			t.Errorf("%s: %v is left (%v)", c.what, left, err)
		}
	}
}
