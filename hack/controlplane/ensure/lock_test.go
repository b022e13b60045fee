// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// lockHolderVariable makes the test binary a process that holds the lock at the path in it, until it is killed.
const lockHolderVariable = "ENSURE_TEST_HOLD_LOCK"

func TestMain(m *testing.M) {
	if path := os.Getenv(lockHolderVariable); path != "" {
		lock, err := acquire(context.Background(), path, reporter{os.Stderr})
		if err != nil {
			panic(err)
		}
		fmt.Fprintln(os.Stdout, "held")
		_, _ = os.Stdin.Read(make([]byte, 1)) // until this process is killed, or the test has ended
		_ = lock.release()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// holdLock starts another process that holds the lock.
func holdLock(t *testing.T, path string) *exec.Cmd {
	t.Helper()
	holder := exec.CommandContext(t.Context(), os.Args[0])
	holder.Env = append(os.Environ(), lockHolderVariable+"="+path)
	if _, err := holder.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	output, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = holder.Process.Kill() })
	if line, err := bufio.NewReader(output).ReadString('\n'); line != "held\n" {
		t.Fatalf("the process that should hold the lock says %q (%v)", line, err)
	}
	return holder
}

func TestLockIsWaitedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	holder := holdLock(t, path)
	ctx, cancel := context.WithTimeout(t.Context(), 2*lockInterval)
	defer cancel()
	report := &strings.Builder{}

	_, err := acquire(ctx, path, reporter{report})

	process := "process " + strconv.Itoa(holder.Process.Pid)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), process) {
		t.Errorf("got error %v, expected one that names %s", err, process)
	}
	if count := strings.Count(report.String(), process+" is at it already"); count != 1 {
		t.Errorf("the report names %s %d times, expected once:\n%s", process, count, report)
	}
}

func TestLockIsFreeWhenItsHolderIsKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	holder := holdLock(t, path)
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()

	lock, err := acquire(ctx, path, reporter{io.Discard})

	if err != nil {
		t.Fatal(err)
	}
	if err := lock.release(); err != nil {
		t.Error(err)
	}
	if content, err := os.ReadFile(path); string(content) != strconv.Itoa(os.Getpid()) {
		t.Errorf("the lock names %q (%v) as its holder, expected this process", content, err)
	}
}
