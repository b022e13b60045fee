// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/machinist-dev/machinist/test/scale/report"
)

// describeHost says where we are. What the system does not tell is left out.
func describeHost() report.Host {
	host := report.Host{CPUs: runtime.NumCPU(), System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version()}
	host.CPUModel = fieldOf("/proc/cpuinfo", "model name")
	if kilobytes, err := strconv.ParseInt(strings.TrimSuffix(fieldOf("/proc/meminfo", "MemTotal"), " kB"), 10, 64); err == nil {
		host.MemoryBytes = kilobytes << 10
	}
	return host
}

// fieldOf returns the first value of a name in a file of lines "name: value", empty if there is none.
func fieldOf(path, name string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(content)) {
		if key, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
