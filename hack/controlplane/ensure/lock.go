// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// lockInterval is how often a process that waits for another tries again.
const lockInterval = 250 * time.Millisecond

// fileLock is held by one process at a time, and given back by the kernel when that process dies, however it dies.
type fileLock struct {
	file *os.File
}

// acquire takes the lock at path, and waits for it if another process has it, until ctx ends.
func acquire(ctx context.Context, path string, report reporter) (*fileLock, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the lock file: %w", err)
	}
	if err := lockFile(ctx, file, report); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	// For the message of those who wait; the lock does not depend on it.
	_ = file.Truncate(0)
	_, _ = file.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0)
	return &fileLock{file: file}, nil
}

func lockFile(ctx context.Context, file *os.File, report reporter) error {
	started := time.Now()
	retry := time.NewTicker(lockInterval)
	defer retry.Stop()
	var said time.Time
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return fmt.Errorf("locking %s: %w", file.Name(), err)
		}
		if time.Since(said) >= progressInterval {
			said = time.Now()
			report.say("%s is at it already; waiting for it since %s", holder(file), elapsed(started))
		}
		select {
		case <-retry.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s, which holds %s: %w", holder(file), file.Name(), ctx.Err())
		}
	}
}

// holder names the process that holds the lock.
func holder(file *os.File) string {
	content := make([]byte, 20)
	n, _ := file.ReadAt(content, 0)
	if pid := strings.TrimSpace(string(content[:n])); pid != "" {
		return "process " + pid
	}
	return "another process"
}

// release gives the lock to whoever waits. The file stays: removing it would let two processes lock two files.
func (l *fileLock) release() error {
	if err := l.file.Close(); err != nil {
		return fmt.Errorf("releasing the lock: %w", err)
	}
	return nil
}
