// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of CPU times in /proc, 1/USER_HZ, which is the same on every Linux that Go runs on.
const clockTick = 10 * time.Millisecond

// CPUTime returns the CPU time that a process has used, to 10 ms. It works on Linux only.
func CPUTime(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("reading the CPU time of process %d: %w", pid, err)
	}
	used, err := parseCPUTime(string(stat))
	if err != nil {
		return 0, fmt.Errorf("reading the CPU time of process %d: %w", pid, err)
	}
	return used, nil
}

// parseCPUTime adds user and system time: the 14th and 15th field, counted from behind the name of the program, which may
// hold spaces and parentheses.
func parseCPUTime(stat string) (time.Duration, error) {
	const user, system = 11, 12 // the name is the second field
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) <= system {
		return 0, fmt.Errorf("expected at least %d fields after the name, found %d", system+1, len(fields))
	}
	var used time.Duration
	for _, field := range []string{fields[user], fields[system]} {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		used += time.Duration(ticks) * clockTick
	}
	return used, nil
}

// Resident is the memory of a process that is in RAM, in bytes.
type Resident struct {
	Now int64
	// Peak is the most that it has ever been.
	Peak int64
}

// ResidentMemory returns the resident memory of a process. It works on Linux only.
func ResidentMemory(pid int) (Resident, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Resident{}, fmt.Errorf("reading the memory of process %d: %w", pid, err)
	}
	resident, err := parseResident(string(status))
	if err != nil {
		return Resident{}, fmt.Errorf("reading the memory of process %d: %w", pid, err)
	}
	return resident, nil
}

func parseResident(status string) (Resident, error) {
	var resident Resident
	for name, value := range map[string]*int64{"VmRSS": &resident.Now, "VmHWM": &resident.Peak} {
		_, after, found := strings.Cut(status, name+":")
		if !found {
			return resident, fmt.Errorf("expected a line %s, found none", name)
		}
		line, _, _ := strings.Cut(after, "\n")
		kilobytes, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(line), " kB"), 10, 64)
		if err != nil {
			return resident, fmt.Errorf("%s: %w", name, err)
		}
		*value = kilobytes << 10
	}
	return resident, nil
}
