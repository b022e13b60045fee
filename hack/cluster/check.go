// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// namespaces are those that the cluster has of its own.
const namespaces = syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC

// notAllowedError says why there can be no cluster on a machine.
type notAllowedError struct{ error }

func (e notAllowedError) Unwrap() error { return e.error }

// check tries what a sandbox or a container often forbids, and finds or downloads the tools, so that whoever can do without
// a cluster learns early that there can be none: that is a notAllowedError. It leaves nothing but the unpacked tools.
func check(ctx context.Context, f folder, report reporter) error {
	_, missing := findTools(ctx, f, report)
	if err := errors.Join(checkCgroups(cgroupRoot), checkNamespaces(ctx, f), missing); err != nil {
		return notAllowedError{err}
	}
	report.say("a cluster can run here")
	return nil
}

// checkCgroups makes a cgroup in each hierarchy, and removes it.
func checkCgroups(root string) error {
	dirs, err := hierarchies(root)
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		trial, err := os.MkdirTemp(dir, cgroupName+"-check-")
		if err != nil {
			return fmt.Errorf("cgroups can't be made, and containers need them: %w", err)
		}
		if err := os.Remove(trial); err != nil {
			return fmt.Errorf("removing a cgroup: %w", err)
		}
	}
	return nil
}

// checkNamespaces mounts, in namespaces of their own, what the cluster and its containers have mounted, and connects two
// network interfaces there.
func checkNamespaces(ctx context.Context, f folder) (err error) {
	trial, err := os.MkdirTemp(f.base, "check-")
	if err != nil {
		return fmt.Errorf("making a folder to try mounts in: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(trial)) }()
	layers := map[string]string{}
	for _, name := range []string{"lower", "upper", "work", "merged"} {
		layers[name] = filepath.Join(trial, name)
		if err := os.Mkdir(layers[name], 0o755); err != nil {
			return fmt.Errorf("making a folder to try mounts in: %w", err)
		}
	}
	cmd := exec.CommandContext(ctx, "sh", "-e", "-c", `
		mount --make-rprivate /
		mount -t proc none /proc
		mount -t sysfs none /sys
		mount -t overlay -o "lowerdir=$1,upperdir=$2,workdir=$3" none "$4"
		ip link add check type veth peer name check-peer`,
		"check", layers["lower"], layers["upper"], layers["work"], layers["merged"])
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces}
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("namespaces with their own mounts and network are not allowed here, or not with %s: %w: %s",
			f.base, errors.Join(err, ctx.Err()), strings.TrimSpace(string(output)))
	}
	return nil
}
