// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// traces is what a cluster might leave on the machine, by kind.
type traces map[string][]string

// watchedSysctls are those that kubelet and kube-proxy want to change, and that of the machine's network that pods need
// in theirs.
var watchedSysctls = slices.Concat(slices.Collect(maps.Keys(machineWide)), []string{"net/ipv4/ip_forward", "net/netfilter/nf_conntrack_max"})

// watchedFolders are those that the programs write to elsewhere.
var watchedFolders = []string{
	"/run", "/var/lib", "/var/log", "/etc", "/opt", "/usr/libexec", "/var/lib/cni", "/var/lib/kubelet", "/var/lib/containerd",
	"/etc/cni", "/etc/containerd", "/opt/cni", "/opt/containerd", "/run/containerd",
}

// lookForTraces looks at the machine.
func lookForTraces(t *testing.T, f folder) traces {
	t.Helper()
	found := traces{"sysctls": nil, "mounts": mountPoints(t), "links": names(t, "/sys/class/net"), "processes": processesOf(t, f)}
	for _, name := range watchedSysctls {
		// One that the kernel does not have is as telling.
		value, _ := os.ReadFile(filepath.Join("/proc/sys", name))
		found["sysctls"] = append(found["sysctls"], name+"="+strings.TrimSpace(string(value)))
	}
	slices.Sort(found["sysctls"])
	for _, dir := range watchedFolders {
		found[dir] = names(t, dir)
	}
	dirs, err := hierarchies(cgroupRoot)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		if exists(filepath.Join(dir, cgroupName)) {
			found["cgroups"] = append(found["cgroups"], dir)
		}
	}
	routes, err := os.ReadFile("/proc/net/route")
	if err != nil {
		t.Fatal(err)
	}
	found["routes"] = strings.Split(string(routes), "\n")
	return found
}

// names lists a folder; one that does not exist has no names.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if ignoreMissing(err) != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func mountPoints(t *testing.T) []string {
	t.Helper()
	content, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	var points []string
	for line := range strings.Lines(string(content)) {
		points = append(points, strings.Fields(line)[4])
	}
	return points
}

// processesOf lists the processes that run a program of the cluster's folder, or that are in a cgroup of the cluster.
func processesOf(t *testing.T, f folder) []string {
	t.Helper()
	var found []string
	for _, pid := range names(t, "/proc") {
		// A process may end at any moment.
		program, _ := os.Readlink(filepath.Join("/proc", pid, "exe"))
		arguments, _ := os.ReadFile(filepath.Join("/proc", pid, "cmdline"))
		cgroups, _ := os.ReadFile(filepath.Join("/proc", pid, "cgroup"))
		if strings.HasPrefix(program, f.base+"/") || strings.Contains(string(arguments), f.state()) ||
			strings.Contains(string(cgroups), ":/"+cgroupName) {
			found = append(found, pid+" "+program)
		}
	}
	return found
}
