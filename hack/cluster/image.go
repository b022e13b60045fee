// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"time"
)

const (
	// pauseImage is what holds the namespaces of a pod. No registry has that host name.
	pauseImage = "local.test/pause:1"
	pauseTar   = "pause.tar"
	// socketTimeout bounds the start of containerd.
	socketTimeout = time.Minute
	// nobody is the user of images made here.
	nobody = "65532"
)

// buildPause builds the pause image.
func buildPause(ctx context.Context, f folder, root string) error {
	binary := f.state("pause")
	if err := buildStatic(ctx, root, "./hack/cluster/pause", binary); err != nil {
		return err
	}
	return writeImage(f.state(pauseTar), pauseImage, binary)
}

// buildStatic compiles a program that needs nothing beside it.
func buildStatic(ctx context.Context, root, pkg, binary string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", binary, pkg)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w: %s", pkg, err, bytes.TrimSpace(output))
	}
	return nil
}

// imageConfig is the part of an OCI image configuration that containerd asks for.
type imageConfig struct {
	Architecture string          `json:"architecture"`
	OS           string          `json:"os"`
	Config       containerConfig `json:"config"`
	RootFS       rootFS          `json:"rootfs"`
}

type containerConfig struct {
	User       string
	Entrypoint []string
}

type rootFS struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"`
}

// writeImage writes an image whose only content is a program to a tar file of the form of `docker save`.
func writeImage(path, name, program string) error {
	content, err := os.ReadFile(program)
	if err != nil {
		return fmt.Errorf("making image %s: %w", name, err)
	}
	entrypoint := "/" + filepath.Base(program)
	layer, err := archive(entry{entrypoint[1:], 0o755, content})
	if err != nil {
		return fmt.Errorf("making the layer of image %s: %w", name, err)
	}
	config, err := json.Marshal(imageConfig{
		Architecture: runtime.GOARCH,
		OS:           "linux",
		Config:       containerConfig{User: nobody, Entrypoint: []string{entrypoint}},
		RootFS:       rootFS{Type: "layers", DiffIDs: []string{fmt.Sprintf("sha256:%x", sha256.Sum256(layer))}},
	})
	if err != nil {
		return fmt.Errorf("making the configuration of image %s: %w", name, err)
	}
	manifest, err := json.Marshal([]map[string]any{
		{"Config": "config.json", "RepoTags": []string{name}, "Layers": []string{"layer.tar"}},
	})
	if err != nil {
		return fmt.Errorf("making the manifest of image %s: %w", name, err)
	}
	image, err := archive(entry{"config.json", 0o644, config}, entry{"layer.tar", 0o644, layer}, entry{"manifest.json", 0o644, manifest})
	if err != nil {
		return fmt.Errorf("making image %s: %w", name, err)
	}
	if err := os.WriteFile(path, image, 0o600); err != nil {
		return fmt.Errorf("writing image %s: %w", name, err)
	}
	return nil
}

// entry is a file in an archive.
type entry struct {
	name    string
	mode    int64
	content []byte
}

func archive(entries ...entry) ([]byte, error) {
	var out bytes.Buffer
	writer := tar.NewWriter(&out)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Mode: e.mode, Size: int64(len(e.content)), Typeflag: tar.TypeReg}
		if err := writer.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := writer.Write(e.content); err != nil {
			return nil, err
		}
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// imageLoader gives images to the containerd of a cluster.
type imageLoader struct {
	ctr string
	env []string
	pid int // the first process of the cluster
}

// loadImages gives images to the cluster that runs.
func loadImages(ctx context.Context, f folder, paths []string) error {
	lock, err := f.lock()
	if err == nil {
		return errors.Join(errors.New("no cluster is running: start one by `make cluster-up`"), lock.Close())
	}
	if !errors.Is(err, errRunning) {
		return err
	}
	pid, err := f.pid()
	if err != nil {
		return err
	}
	p, err := f.readPlan()
	if err != nil {
		return err
	}
	loader := imageLoader{ctr: p.Ctr, env: p.Env, pid: pid}
	for _, path := range paths {
		if err := loader.load(ctx, path); err != nil {
			return err
		}
	}
	return nil
}

// socket is that of containerd, in the mount namespace of the cluster.
func (l imageLoader) socket() string {
	return filepath.Join("/proc", strconv.Itoa(l.pid), "root", containerdSocket)
}

func (l imageLoader) waitForSocket(ctx context.Context) error {
	var last error
	err := until(ctx, socketTimeout, func() bool {
		connection, err := new(net.Dialer).DialContext(ctx, "unix", l.socket())
		if err != nil {
			last = err
			return false
		}
		return connection.Close() == nil
	})
	if err != nil {
		return fmt.Errorf("waiting for containerd: %w", errors.Join(last, err))
	}
	return nil
}

// load takes in the images of a tar file, of which pods find those that are named there.
func (l imageLoader) load(ctx context.Context, path string) error {
	err := execute(ctx, l.env, l.ctr, "--address", l.socket(), "--namespace", "k8s.io", "images", "import", path)
	if err != nil {
		return fmt.Errorf("loading the images in %s: %w", path, err)
	}
	return nil
}
