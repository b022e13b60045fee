// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// packages are those of Debian and Ubuntu that hold what pods need. What they depend on comes with them, unless the
// machine has it.
var packages = []string{"containerd", "runc", "containernetworking-plugins", "nftables"}

var (
	// toolPrograms have to be there: what we run, and what that runs.
	toolPrograms = []string{"containerd", "containerd-shim-runc-v2", "ctr", "runc", "nft"}
	// networkPlugins likewise, in a folder of their own.
	networkPlugins = []string{"bridge", "host-local", "loopback"}
	// networkFolders are where distributions put those.
	networkFolders = []string{"/usr/lib/cni", "/usr/libexec/cni", "/opt/cni/bin"}
	binFolders     = []string{"usr/sbin", "usr/bin", "sbin", "bin"}
	libraryFolders = []string{"usr/lib/*-linux-gnu*", "lib/*-linux-gnu*"}
)

// tools are the programs that do not come from hack/controlplane.
type tools struct {
	root       string // what the packages are unpacked in; empty if they are not used
	programs   map[string]string
	networking string // the folder of the network plugins
}

// findTools returns the tools. Where there is apt they are those of its packages, so that they fit together; a Docker that
// is installed has a containerd as well, but its own.
func findTools(ctx context.Context, f folder, report reporter) (tools, error) {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return locate(tools{})
	}
	name, err := packagesFolder()
	if err != nil {
		return tools{}, err
	}
	root := filepath.Join(f.base, name)
	if !exists(root) {
		report.say("downloading %s; they are unpacked into the cache, not installed", strings.Join(packages, ", "))
		if err := unpack(ctx, root, report); err != nil {
			installed, missing := locate(tools{})
			if missing != nil || ctx.Err() != nil {
				return tools{}, err
			}
			report.say("taking what is installed instead: %v", err)
			return installed, nil
		}
	}
	return locate(tools{root: root})
}

// packagesFolder is named by what is in it: packages of one release of one distribution.
func packagesFolder() (string, error) {
	release, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return "", fmt.Errorf("asking which distribution this is: %w", err)
	}
	hash := sha256.Sum256(append(release, strings.Join(packages, " ")...))
	return fmt.Sprintf("packages-%x", hash[:8]), nil
}

// locate fills in where the programs are, and complains about all that are nowhere.
func locate(t tools) (tools, error) {
	t.programs = map[string]string{}
	var missing []string
	for _, name := range toolPrograms {
		path, err := t.lookUp(name)
		if err != nil {
			missing = append(missing, name)
		}
		t.programs[name] = path
	}
	for _, dir := range networkFolders {
		if t.networking == "" && hasAll(filepath.Join(t.root, dir), networkPlugins) {
			t.networking = filepath.Join(t.root, dir)
		}
	}
	if t.networking == "" {
		missing = append(missing, networkPlugins...)
	}
	if len(missing) > 0 {
		return tools{}, fmt.Errorf("%s missing: on Debian and Ubuntu they come from the packages %s by themselves; elsewhere install "+
			"them, the last three in %s", strings.Join(missing, ", "), strings.Join(packages, ", "), strings.Join(networkFolders, " or "))
	}
	return t, nil
}

func (t tools) lookUp(name string) (string, error) {
	if t.root == "" {
		return exec.LookPath(name)
	}
	for _, dir := range binFolders {
		if path := filepath.Join(t.root, dir, name); exists(path) {
			return path, nil
		}
	}
	return "", os.ErrNotExist
}

func hasAll(dir string, names []string) bool {
	for _, name := range names {
		if !exists(filepath.Join(dir, name)) {
			return false
		}
	}
	return true
}

// env is what programs need to find the tools and their libraries.
func (t tools) env() []string {
	paths := []string{os.Getenv("PATH"), "/usr/sbin:/usr/bin:/sbin:/bin"}
	if t.root == "" {
		return []string{"PATH=" + strings.Join(paths, ":")}
	}
	var own []string
	for _, dir := range binFolders {
		own = append(own, filepath.Join(t.root, dir))
	}
	var libraries []string
	for _, pattern := range libraryFolders {
		found, _ := filepath.Glob(filepath.Join(t.root, pattern)) // the pattern is a good one
		libraries = append(libraries, found...)
	}
	return []string{
		"PATH=" + strings.Join(append(own, paths...), ":"),
		"LD_LIBRARY_PATH=" + strings.Join(libraries, ":"),
	}
}

// unpack downloads the packages and unpacks them into a folder that appears in one step.
func unpack(ctx context.Context, root string, report reporter) (err error) {
	partial, err := os.MkdirTemp(filepath.Dir(root), "partial-")
	if err != nil {
		return fmt.Errorf("making a folder to unpack packages in: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(partial)) }()
	if err := downloadPackages(ctx, partial, report); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(partial, "archives", "*.deb"))
	if err != nil || len(files) == 0 {
		return errors.Join(errors.New("apt-get has downloaded no packages"), err)
	}
	tree := filepath.Join(partial, "tree")
	for _, file := range files {
		if err := execute(ctx, nil, "dpkg-deb", "--extract", file, tree); err != nil {
			return fmt.Errorf("unpacking a package: %w", err)
		}
	}
	if err := os.Rename(tree, root); err != nil {
		return fmt.Errorf("unpacking packages: %w", err)
	}
	return nil
}

// downloadPackages asks apt for the packages. If what it knows of them is missing or too old, it learns anew, but into
// our folder: nothing of the machine's changes.
func downloadPackages(ctx context.Context, dir string, report reporter) error {
	for _, folder := range []string{"archives/partial", "lists/partial"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			return fmt.Errorf("making a folder for packages: %w", err)
		}
	}
	options := []string{
		"--option=Dir::Cache=" + dir,
		"--option=Debug::NoLocking=true",   // nothing is installed
		"--option=APT::Sandbox::User=root", // who may write there
		"--quiet=2", "--yes",
	}
	install := append([]string{"install", "--download-only", "--reinstall", "--no-install-recommends"}, packages...)
	first := execute(ctx, nil, "apt-get", append(options, install...)...)
	if first == nil || ctx.Err() != nil {
		return first
	}
	report.say("asking for the present versions of the packages")
	options = append(options, "--option=Dir::State::Lists="+filepath.Join(dir, "lists"))
	if err := execute(ctx, nil, "apt-get", append(options, "update")...); err != nil {
		return fmt.Errorf("downloading packages: %w", errors.Join(first, err))
	}
	if err := execute(ctx, nil, "apt-get", append(options, install...)...); err != nil {
		return fmt.Errorf("downloading packages: %w", err)
	}
	return nil
}
