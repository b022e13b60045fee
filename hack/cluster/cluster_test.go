// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

func TestParse(t *testing.T) {
	for _, line := range []string{"up", "down", "check", "load-image a.tar", "load-image a.tar b.tar"} {
		if _, _, err := parse(strings.Fields(line)); err != nil {
			t.Errorf("%q: %v", line, err)
		}
	}
	for _, line := range []string{"", "restart", "up now", "down -f", "load-image", "init"} {
		if _, _, err := parse(strings.Fields(line)); err == nil || !strings.Contains(err.Error(), "expected up, down, check, or load-image") {
			t.Errorf("%q: got error %v, expected the usage", line, err)
		}
	}
}

func TestFolderIsNotBelowWhatIsHidden(t *testing.T) {
	t.Setenv(cacheVariable, t.TempDir())
	f, err := openFolder()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(f.kubeconfig(), f.base) {
		t.Errorf("the kubeconfig is %s, expected it in %s", f.kubeconfig(), f.base)
	}
	hidden = append(hidden, filepath.Dir(filepath.Dir(f.base)))
	t.Cleanup(func() { hidden = hidden[:len(hidden)-1] })
	if _, err := openFolder(); err == nil || !strings.Contains(err.Error(), "set MACHINIST_CACHE to a folder elsewhere") {
		t.Errorf("got error %v, expected one that says what to do", err)
	}
}

func TestLockHasOneHolder(t *testing.T) {
	f := folder{t.TempDir()}
	lock, err := f.lock()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.lock(); !errors.Is(err, errRunning) {
		t.Errorf("a second holder gets %v, expected %v", err, errRunning)
	}
	if _, err := f.pid(); err == nil || !strings.Contains(err.Error(), "is being started") {
		t.Errorf("got error %v, expected one that says that the cluster is being started", err)
	}
	if err := f.setPID(42); err != nil {
		t.Fatal(err)
	}
	if pid, err := f.pid(); pid != 42 || err != nil {
		t.Errorf("got %d, %v, expected 42", pid, err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if !f.unlocked() {
		t.Error("the lock is held by nobody, and can't be taken")
	}
}

func TestHierarchies(t *testing.T) {
	layout := func(names ...string) string {
		t.Helper()
		root := t.TempDir()
		for _, name := range names {
			path := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return root
	}
	second := layout("cgroup.controllers", "cgroup.procs", "system.slice/cgroup.procs")
	if dirs, err := hierarchies(second); err != nil || !slices.Equal(dirs, []string{second}) {
		t.Errorf("v2: got %v, %v", dirs, err)
	}
	first := layout("cpu,cpuacct/cgroup.procs", "memory/cgroup.procs", "other/file")
	if err := os.Symlink("cpu,cpuacct", filepath.Join(first, "cpu")); err != nil {
		t.Fatal(err)
	}
	want := []string{filepath.Join(first, "cpu,cpuacct"), filepath.Join(first, "memory")}
	if dirs, err := hierarchies(first); err != nil || !slices.Equal(dirs, want) {
		t.Errorf("v1: got %v, %v, expected %v", dirs, err, want)
	}
	if dirs, err := hierarchies(layout()); err == nil {
		t.Errorf("none: got %v, expected an error", dirs)
	}
}

func TestRemoveTree(t *testing.T) {
	root := filepath.Join(t.TempDir(), "machinist")
	if err := os.MkdirAll(filepath.Join(root, "kubepods", "burstable", "pod1"), 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time there is nothing
		if err := removeTree(root); err != nil {
			t.Error(err)
		}
	}
	if exists(root) {
		t.Error("it is still there")
	}
}

func TestEnded(t *testing.T) {
	if ended(os.Getpid()) {
		t.Error("this process has ended")
	}
	if !ended(1 << 30) {
		t.Error("a process that can't be has not ended")
	}
}

func TestCredentials(t *testing.T) {
	f := folder{t.TempDir()}
	if err := writeCredentials(f); err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(read(t, f.state("pki", caFile)))
	serving := certificate(t, read(t, f.state("pki", apiServerName+".crt")))
	for _, name := range []string{nodeIP, apiServiceIP, "127.0.0.1", "kubernetes.default.svc"} {
		if _, err := serving.Verify(x509.VerifyOptions{Roots: roots, DNSName: name}); err != nil {
			t.Errorf("the API server's certificate is not good for %s: %v", name, err)
		}
	}
	for file, subject := range users {
		config, err := clientcmd.RESTConfigFromKubeConfig(read(t, f.state(file)))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if config.Host != apiServer {
			t.Errorf("%s is for %s, expected %s", file, config.Host, apiServer)
		}
		user := certificate(t, config.CertData)
		if user.Subject.CommonName != subject.CommonName || !slices.Equal(user.Subject.Organization, subject.Organization) {
			t.Errorf("%s is of %v, expected %v", file, user.Subject, subject)
		}
		options := x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
		if _, err := user.Verify(options); err != nil {
			t.Errorf("the certificate in %s is not good: %v", file, err)
		}
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func certificate(t *testing.T, content []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(content)
	if block == nil {
		t.Fatalf("no PEM: %s", content)
	}
	parsed, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestConfigurationIsFilledIn(t *testing.T) {
	f := folder{t.TempDir()}
	if err := writeConfiguration(f, tools{programs: map[string]string{"runc": "/tools/runc"}, networking: "/tools/cni"}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"kubelet.yaml", "kube-proxy.yaml", "audit-policy.yaml", "cni/pods.conflist"} {
		content := read(t, f.state("config", name))
		var parsed map[string]any
		if err := yaml.UnmarshalStrict(content, &parsed); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if bytes.Contains(content, []byte("{{")) {
			t.Errorf("%s is not filled in: %s", name, content)
		}
	}
	for _, text := range []string{pauseImage, `BinaryName = "/tools/runc"`, `bin_dir = "/tools/cni"`, f.state("config", "cni")} {
		if content := read(t, f.state("config", "containerd.toml")); !bytes.Contains(content, []byte(text)) {
			t.Errorf("containerd.toml lacks %q: %s", text, content)
		}
	}
}

func TestImage(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "hello")
	if err := os.WriteFile(program, []byte("program"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "image.tar")
	if err := writeImage(path, "local.test/hello:1", program); err != nil {
		t.Fatal(err)
	}
	image := unarchive(t, read(t, path))
	if names := slices.Sorted(maps.Keys(image)); !slices.Equal(names, []string{"config.json", "layer.tar", "manifest.json"}) {
		t.Fatalf("the image consists of %v", names)
	}
	var config imageConfig
	if err := json.Unmarshal(image["config.json"], &config); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("sha256:%x", sha256.Sum256(image["layer.tar"])); config.RootFS.DiffIDs[0] != want {
		t.Errorf("the layer is called %s, expected %s", config.RootFS.DiffIDs[0], want)
	}
	if layer := unarchive(t, image["layer.tar"]); string(layer["hello"]) != "program" || config.Config.Entrypoint[0] != "/hello" {
		t.Errorf("the program is at %v of %v", config.Config.Entrypoint, slices.Collect(maps.Keys(layer)))
	}
}

func unarchive(t *testing.T, content []byte) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for reader := tar.NewReader(bytes.NewReader(content)); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[header.Name], err = io.ReadAll(reader); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMissingToolsAreNamed(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{
		"usr/bin/containerd", "usr/bin/containerd-shim-runc-v2", "usr/bin/ctr", "usr/sbin/nft",
		"usr/lib/cni/bridge", "usr/lib/cni/host-local", "usr/lib/cni/loopback",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := locate(tools{root: root}); err == nil || !strings.HasPrefix(err.Error(), "runc missing: on Debian") {
		t.Errorf("got error %v, expected one that names runc alone", err)
	}
	runc := filepath.Join(root, "usr/sbin/runc")
	if err := os.WriteFile(runc, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := locate(tools{root: root})
	if err != nil {
		t.Fatal(err)
	}
	if found.programs["runc"] != runc || found.networking != filepath.Join(root, "usr/lib/cni") {
		t.Errorf("found %v", found)
	}
	if path := found.env()[0]; !strings.HasPrefix(path, "PATH="+root) {
		t.Errorf("the tools are not first: %s", path)
	}
}

func TestInstalledToolsWillDoWithoutPackages(t *testing.T) {
	dir := t.TempDir()
	write := func(content string, names ...string) {
		t.Helper()
		for _, name := range names {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	write("#!/bin/sh\necho no network >&2\nexit 100\n", "apt-get")
	write("", networkPlugins...)
	t.Setenv("PATH", dir)
	folders := networkFolders
	networkFolders = []string{dir}
	t.Cleanup(func() { networkFolders = folders })
	f, report := folder{t.TempDir()}, reporter{t.Output()}

	if _, err := findTools(t.Context(), f, report); err == nil || !strings.Contains(err.Error(), "no network") {
		t.Errorf("got error %v, expected that of apt-get", err)
	}
	write("", toolPrograms...)
	found, err := findTools(t.Context(), f, report)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(dir, "runc"); found.root != "" || found.programs["runc"] != want || found.networking != dir {
		t.Errorf("found %v, expected what is in %s", found, dir)
	}
	if left := names(t, f.base); len(left) > 0 {
		t.Errorf("the download that failed has left %v", left)
	}
}
