// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	cgroupRoot = "/sys/fs/cgroup"
	// cgroupName is the cgroup below which kubelet keeps those of pods.
	cgroupName = "machinist"
	// removalTimeout bounds the wait for processes that were killed to be gone.
	removalTimeout = 20 * time.Second
	pollInterval   = 200 * time.Millisecond
)

// hierarchies returns the root of each tree of cgroups below root: one with cgroup v2, one per controller with v1.
func hierarchies(root string) ([]string, error) {
	if exists(filepath.Join(root, "cgroup.controllers")) {
		return []string{root}, nil
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, fmt.Errorf("looking for cgroups: %w", err)
	}
	var dirs []string
	for _, entry := range entries {
		// A link, such as cpu to cpu,cpuacct, is a second name.
		if dir := filepath.Join(root, entry.Name()); entry.IsDir() && exists(filepath.Join(dir, "cgroup.procs")) {
			dirs = append(dirs, dir)
		}
	}
	if len(dirs) == 0 {
		return nil, fmt.Errorf("no cgroups are mounted below %s, and containers need them", root)
	}
	return dirs, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// makeCgroups makes the cluster's cgroup in each hierarchy.
func makeCgroups() error {
	dirs, err := hierarchies(cgroupRoot)
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		ours := filepath.Join(dir, cgroupName)
		if err := os.Mkdir(ours, 0o755); err != nil {
			return fmt.Errorf("making the cluster's cgroup: %w", err)
		}
		// With v1 a new cpuset is empty, and nothing may run in it.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			if err := inherit(dir, ours, file); err != nil {
				return err
			}
		}
		if err := delegateControllers(ours); err != nil {
			return err
		}
	}
	return nil
}

// inherit copies a setting of the parent to a cgroup that has the setting, and no value for it.
func inherit(parent, child, file string) error {
	own, err := os.ReadFile(filepath.Join(child, file))
	if errors.Is(err, os.ErrNotExist) || err == nil && strings.TrimSpace(string(own)) != "" {
		return nil
	}
	value, err := os.ReadFile(filepath.Join(parent, file))
	if errors.Is(err, os.ErrNotExist) { // the root of v2
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading a setting of cgroups: %w", err)
	}
	if err := os.WriteFile(filepath.Join(child, file), value, 0o644); err != nil {
		return fmt.Errorf("setting up the cluster's cgroup: %w", err)
	}
	return nil
}

// delegateControllers makes controllers available below a cgroup of v2.
func delegateControllers(dir string) error {
	available, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the controllers of a cgroup: %w", err)
	}
	for controller := range strings.FieldsSeq(string(available)) {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+controller), 0o644); err != nil {
			return fmt.Errorf("setting up the cluster's cgroup: %w", err)
		}
	}
	return nil
}

// removeCgroups removes the cluster's cgroups. It waits for the end of the processes in them, which have been killed.
func removeCgroups(ctx context.Context) error {
	dirs, err := hierarchies(cgroupRoot)
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		var last error
		err := until(ctx, removalTimeout, func() bool {
			last = removeTree(filepath.Join(dir, cgroupName))
			return last == nil
		})
		if err != nil {
			return fmt.Errorf("removing the cluster's cgroup: %w", errors.Join(last, err))
		}
	}
	return nil
}

// removeTree removes a folder with nothing but folders in it that can be removed: innermost first, as cgroups ask for.
func removeTree(root string) error {
	var dirs []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			dirs = append(dirs, path)
		}
		return ignoreMissing(err)
	})
	if err != nil {
		return err
	}
	for _, dir := range slices.Backward(dirs) {
		if err := ignoreMissing(os.Remove(dir)); err != nil {
			return err
		}
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// until calls done again and again until it returns true, or until the timeout or the end of the context, which are errors.
func until(ctx context.Context, timeout time.Duration, done func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for !done() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
