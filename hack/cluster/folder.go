// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const (
	// cacheVariable overrides the user's cache folder, as it does for the control plane.
	cacheVariable = "MACHINIST_CACHE"
	// logVariable names a folder for logs that outlive the cluster.
	logVariable = "MACHINIST_LOG_DIR"
)

// folder is where everything of the cluster is kept.
type folder struct{ base string }

// hidden are the folders in whose place the cluster sees its own.
var hidden = []string{"/run", "/var/run", "/var/lib", "/var/log", "/sys", "/proc"}

// openFolder makes the folder, in the cache.
func openFolder() (folder, error) {
	cache := os.Getenv(cacheVariable)
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return folder{}, fmt.Errorf("finding the user's cache folder: %w: set %s to a folder", err, cacheVariable)
		}
		cache = filepath.Join(user, "machinist")
	}
	base, err := filepath.Abs(filepath.Join(cache, "cluster"))
	if err != nil {
		return folder{}, fmt.Errorf("resolving the cache folder: %w", err)
	}
	if err := os.MkdirAll(base, 0o755); err != nil {
		return folder{}, fmt.Errorf("making the cache folder: %w", err)
	}
	// What is mounted inside hides by real paths.
	if base, err = filepath.EvalSymlinks(base); err != nil {
		return folder{}, fmt.Errorf("resolving the cache folder: %w", err)
	}
	for _, dir := range hidden {
		if strings.HasPrefix(base, dir+"/") {
			return folder{}, fmt.Errorf("the cache folder is %s, and the cluster has a %s of its own: set %s to a folder elsewhere",
				base, dir, cacheVariable)
		}
	}
	return folder{base}, nil
}

// state returns a path in the folder that lives as long as the cluster.
func (f folder) state(elements ...string) string {
	return filepath.Join(append([]string{f.base, "state"}, elements...)...)
}

// kubeconfig is the administrator's.
func (f folder) kubeconfig() string { return f.state("kubeconfig") }

// logs becomes the cluster's /var/log.
func (f folder) logs(elements ...string) string {
	return f.state(append([]string{"log"}, elements...)...)
}

// lib becomes the cluster's /var/lib.
func (f folder) lib(elements ...string) string {
	return f.state(append([]string{"lib"}, elements...)...)
}

// write writes a file for root's eyes only, and the folders above it.
func (f folder) write(content []byte, elements ...string) error {
	path := f.state(elements...)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("making the folder of %s: %w", path, err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return fmt.Errorf("writing the cluster's files: %w", err)
	}
	return nil
}

// errRunning says that the lock is held: a cluster is running, or starts.
var errRunning = errors.New("a cluster is running")

// lock makes this process the one that the cluster belongs to. The cluster's first process inherits the lock, so it is
// held as long as that lives, and the kernel gives it back.
func (f folder) lock() (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(f.base, "lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the lock file: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(errRunning, file.Close())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", file.Name(), err), file.Close())
	}
	return file, nil
}

// setPID writes down the process whose end is that of the cluster, as seen from here.
func (f folder) setPID(pid int) error {
	return f.write([]byte(strconv.Itoa(pid)), "pid")
}

// pid returns that process, of a cluster that runs: the lock is held.
func (f folder) pid() (int, error) {
	content, err := os.ReadFile(f.state("pid"))
	if errors.Is(err, os.ErrNotExist) {
		return 0, errors.New("a cluster is being started: wait until it has, or end the process that starts it")
	}
	if err != nil {
		return 0, fmt.Errorf("looking for the cluster's first process: %w", err)
	}
	pid, err := strconv.Atoi(string(content))
	if err != nil || pid <= 1 {
		return 0, fmt.Errorf("%s holds %q, expected the number of a process", f.state("pid"), content)
	}
	return pid, nil
}
