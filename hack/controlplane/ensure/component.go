// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

const (
	// assetsVariable is the variable by which envtest's users everywhere name the folder of their binaries.
	assetsVariable = "KUBEBUILDER_ASSETS"
	// cacheVariable overrides the user's cache folder.
	cacheVariable = "MACHINIST_CACHE"
	// platform keeps apart what machines of different kinds build into a cache that they share.
	platform = runtime.GOOS + "-" + runtime.GOARCH
	// partialPrefix starts the names of folders in which binaries are made. They are rubbish once their maker has ended.
	partialPrefix = "partial-"
)

// component is a binary of the control plane.
type component struct {
	name         string
	pkg          string // its main package
	downloadable bool   // whether setup-envtest has it
	optional     bool   // whether it is left out unless it is named
}

// components lists what this module can make. Its go.mod has a tool line for each.
var components = []component{
	{name: "etcd", pkg: "go.etcd.io/etcd/server/v3", downloadable: true},
	{name: "kube-apiserver", pkg: "k8s.io/kubernetes/cmd/kube-apiserver", downloadable: true},
	{name: "kube-controller-manager", pkg: "k8s.io/kubernetes/cmd/kube-controller-manager"},
	{name: "kubectl", pkg: "k8s.io/kubernetes/cmd/kubectl", downloadable: true, optional: true},
	// What makes a node of it, for hack/cluster.
	{name: "kube-scheduler", pkg: "k8s.io/kubernetes/cmd/kube-scheduler", optional: true},
	{name: "kubelet", pkg: "k8s.io/kubernetes/cmd/kubelet", optional: true},
	{name: "kube-proxy", pkg: "k8s.io/kubernetes/cmd/kube-proxy", optional: true},
}

// defaultComponents returns what a control plane consists of.
func defaultComponents() []component {
	return slices.DeleteFunc(slices.Clone(components), func(c component) bool { return c.optional })
}

// names returns the components' names, separated by commas.
func names(components []component) string {
	var names []string
	for _, c := range components {
		names = append(names, c.name)
	}
	return strings.Join(names, ",")
}

// parseComponents turns a comma-separated list of names into components.
func parseComponents(list string) ([]component, error) {
	var wanted []component
	for name := range strings.SplitSeq(list, ",") {
		index := slices.IndexFunc(components, func(c component) bool { return c.name == name })
		if index < 0 {
			return nil, fmt.Errorf("unknown component %q: have %s", name, names(components))
		}
		wanted = append(wanted, components[index])
	}
	return wanted, nil
}

// missing returns the components that dir does not hold.
func missing(dir string, wanted []component) []component {
	var absent []component
	for _, c := range wanted {
		if info, err := os.Stat(filepath.Join(dir, c.name)); err != nil || !info.Mode().IsRegular() {
			absent = append(absent, c)
		}
	}
	return absent
}

// checkAssets reports what the folder that the user has named lacks. Nothing is put there: it is not ours.
func checkAssets(dir string, wanted []component) error {
	absent := missing(dir, wanted)
	if len(absent) == 0 {
		return nil
	}
	return fmt.Errorf("%s is %s, which lacks %s: unset the variable, and what is missing is built from source, "+
		"or name a folder that has it", assetsVariable, dir, names(absent))
}

// cacheDir returns the folder under which everything is kept.
func cacheDir() (string, error) {
	if dir := os.Getenv(cacheVariable); dir != "" {
		absolute, err := filepath.Abs(dir)
		if err != nil {
			return "", fmt.Errorf("resolving %s, which is %q: %w", cacheVariable, dir, err)
		}
		return absolute, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding the user's cache folder: %w: set %s to a folder", err, cacheVariable)
	}
	return filepath.Join(dir, "machinist"), nil
}

// newPartialDir makes a folder inside dir to make binaries in, and removes those of processes that were killed. The caller
// holds the lock of dir, so none of them is in use.
func newPartialDir(dir string) (string, error) {
	leftovers, err := filepath.Glob(filepath.Join(dir, partialPrefix+"*"))
	if err != nil {
		return "", fmt.Errorf("looking for leftovers in the cache folder: %w", err)
	}
	for _, leftover := range leftovers {
		if err := os.RemoveAll(leftover); err != nil {
			return "", fmt.Errorf("removing what an interrupted run left: %w", err)
		}
	}
	partial, err := os.MkdirTemp(dir, partialPrefix)
	if err != nil {
		return "", fmt.Errorf("making a folder to build in: %w", err)
	}
	return partial, nil
}

// install moves a finished component from partial to dir in one step.
func install(partial, dir string, c component) error {
	if err := os.Rename(filepath.Join(partial, c.name), filepath.Join(dir, c.name)); err != nil {
		return fmt.Errorf("installing %s: %w", c.name, err)
	}
	return nil
}
