// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// machineWide are sysctls that kubelet sets and no namespace separates, with the values that it wants to find. It is shown
// files instead of them.
var machineWide = map[string]string{
	"vm/overcommit_memory":      "1",
	"vm/panic_on_oom":           "0",
	"kernel/panic":              "10",
	"kernel/panic_on_oops":      "1",
	"kernel/keys/root_maxkeys":  "1000000",
	"kernel/keys/root_maxbytes": "25000000",
}

// isolate gives the namespaces that this process is the first one of their own view of the machine.
func isolate(f folder) error {
	var failed error
	mount := func(source, target, kind string, flags uintptr) {
		if failed == nil {
			if err := syscall.Mount(source, target, kind, flags, ""); err != nil {
				failed = fmt.Errorf("mounting %s on %s: %w", source, target, err)
			}
		}
	}
	mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE)
	mount("proc", "/proc", "proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC)

	// The new /sys shows the new network; the cgroups mounted below the old one are carried over. All this comes before
	// mounts are shared, as the unmount would spread otherwise.
	aside := f.state("cgroup")
	mount(cgroupRoot, aside, "", syscall.MS_BIND|syscall.MS_REC)
	mount("sysfs", "/sys", "sysfs", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC)
	mount(aside, cgroupRoot, "", syscall.MS_BIND|syscall.MS_REC)
	if failed == nil {
		if err := syscall.Unmount(aside, syscall.MNT_DETACH); err != nil {
			return fmt.Errorf("unmounting %s: %w", aside, err)
		}
	}
	for name := range machineWide {
		mount(f.state(sysctlFile(name)), filepath.Join("/proc/sys", name), "", syscall.MS_BIND)
	}
	// The whole folders are covered, because a mount point that is made inside of them would stay on the machine.
	mount("tmpfs", "/run", "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV)
	mount(f.lib(), "/var/lib", "", syscall.MS_BIND)
	mount(f.logs(), "/var/log", "", syscall.MS_BIND)

	// containerd and kubelet expect that what one mounts the other sees.
	mount("none", "/", "", syscall.MS_REC|syscall.MS_SHARED)
	if failed != nil {
		return failed
	}
	if err := syscall.Sethostname([]byte(nodeName)); err != nil {
		return fmt.Errorf("naming the host: %w", err)
	}
	return nil
}

// sysctlFile is the file that stands for a sysctl.
func sysctlFile(name string) string {
	return filepath.Join("sysctl", strings.ReplaceAll(name, "/", "."))
}

// prepareIsolation makes what isolate mounts.
func prepareIsolation(f folder) error {
	for _, dir := range []string{f.state("cgroup"), f.lib("kubelet"), f.lib("containerd"), f.lib("cni"), f.logs("pods")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("making the cluster's folders: %w", err)
		}
	}
	for name, value := range machineWide {
		if err := f.write([]byte(value+"\n"), sysctlFile(name)); err != nil {
			return err
		}
	}
	return nil
}
