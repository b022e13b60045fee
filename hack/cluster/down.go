// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// down stops the cluster, if one runs, and removes whatever is left of one.
func down(ctx context.Context, f folder, report reporter) (err error) {
	started := time.Now()
	running, err := stop(ctx, f)
	if err != nil {
		return err
	}
	lock, err := f.lock()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := keepLogs(f); err != nil {
		return err
	}
	if err := remove(ctx, f); err != nil {
		return err
	}
	if running {
		report.say("stopped, and removed without a trace, in %s", time.Since(started).Round(100*time.Millisecond))
	} else {
		report.say("no cluster is running")
	}
	return nil
}

// stop kills the cluster's first process, which is the end of all others, and waits for it. It returns whether there was one.
func stop(ctx context.Context, f folder) (running bool, err error) {
	lock, err := f.lock()
	if err == nil {
		return false, lock.Close()
	}
	if !errors.Is(err, errRunning) {
		return false, err
	}
	pid, err := f.pid()
	if err != nil {
		return false, err
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return false, fmt.Errorf("killing the cluster's first process, %d: %w", pid, err)
	}
	err = until(ctx, removalTimeout, func() bool { return ended(pid) && f.unlocked() })
	if err != nil {
		return false, fmt.Errorf("waiting for the end of the cluster's first process, %d: %w", pid, err)
	}
	return true, nil
}

func (f folder) unlocked() bool {
	lock, err := f.lock()
	return err == nil && lock.Close() == nil
}

// ended says whether a process has ended. One that its parent hasn't asked about yet counts as well: the kernel lets the
// first process of a namespace get there only after all others.
func ended(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return true
	}
	// The name, in parentheses, may hold anything.
	_, rest, found := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
	return !found || bytes.HasPrefix(rest, []byte("Z")) || bytes.HasPrefix(rest, []byte("X"))
}

// keepLogs moves the logs to where the user wants them, if anywhere.
func keepLogs(f folder) error {
	dir := os.Getenv(logVariable)
	if dir == "" || !exists(f.logs()) {
		return nil
	}
	target := filepath.Join(dir, "cluster-"+time.Now().UTC().Format("20060102T150405Z"))
	if err := os.CopyFS(target, os.DirFS(f.logs())); err != nil {
		return fmt.Errorf("keeping the cluster's logs in %s: %w", target, err)
	}
	return nil
}

// remove removes everything of a cluster that does not run any more.
func remove(ctx context.Context, f folder) error {
	if err := clearMachine(ctx); err != nil {
		return err
	}
	if err := os.RemoveAll(f.state()); err != nil {
		return fmt.Errorf("removing the cluster's folder: %w", err)
	}
	return nil
}

// clearMachine removes what a cluster has outside of its folder. It does so also when the user is in a hurry.
func clearMachine(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	return errors.Join(removeCgroups(ctx), disconnect(ctx))
}
