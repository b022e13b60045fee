// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

const (
	// managerStopTimeout is what the manager gets to end; it needs a second at most.
	managerStopTimeout = 30 * time.Second
	// logTailLines is how much of the log explains why the manager ended.
	logTailLines = 30
	// logDirVariable names a folder that keeps logs, as it does in test/environment.
	logDirVariable = "MACHINIST_LOG_DIR"
)

// manager is the manager's process.
type manager struct {
	process *os.Process
	guard   *guard
	logPath string
	// exited is closed when the process has ended; then err is set.
	exited chan struct{}
	err    error
}

// build makes bin/manager. Without -trimpath, unlike "make build", it can use what tests have compiled.
func build(ctx context.Context, root string) error {
	command := exec.CommandContext(ctx, "go", "build", "-o", managerPath(root), ".")
	command.Dir = root
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build the manager: %w\n%s", err, output)
	}
	return nil
}

func managerPath(root string) string { return filepath.Join(root, "bin", "manager") }

// startManager starts bin/manager with its log in a file.
func startManager(root, dir, kubeconfig string) (*manager, error) {
	if keep := os.Getenv(logDirVariable); keep != "" {
		dir = keep
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, fmt.Errorf("make the folder named by %s: %w", logDirVariable, err)
		}
	}
	m := &manager{logPath: filepath.Join(dir, "manager.log"), exited: make(chan struct{})}
	log, err := os.Create(m.logPath)
	if err != nil {
		return nil, err
	}
	defer log.Close() //nolint:errcheck // the child has the file open on its own; nothing is written here

	// Deliberately without a context: an interrupt must leave the order of the end to stop.
	command := exec.Command(managerPath(root), //nolint:noctx // see above
		"--kubeconfig="+kubeconfig,
		// Any free port, no metrics and no webhooks: nobody looks at them here, and several demos may run at once.
		"--health-addr=127.0.0.1:0",
		"--diagnostics-address=0",
		"--webhook-port=0",
	)
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start the manager: %w", err)
	}
	m.process = command.Process
	go func() {
		m.err = command.Wait()
		close(m.exited)
	}()
	if m.guard, err = startGuard(m.process.Pid); err != nil {
		return nil, errors.Join(err, m.stop())
	}
	return m, nil
}

func (m *manager) stop() error {
	_ = m.process.Signal(syscall.SIGTERM) // fails only if it has ended
	var late error
	select {
	case <-m.exited:
	case <-time.After(managerStopTimeout):
		_ = m.process.Kill() // fails only if it has ended
		<-m.exited
		late = fmt.Errorf("the manager did not end within %s of SIGTERM and was killed", managerStopTimeout)
	}
	if m.guard == nil {
		return late
	}
	return errors.Join(late, m.guard.release())
}

// failure says how the manager ended by itself. Call it when exited is closed.
func (m *manager) failure() error {
	how := "without an error"
	if m.err != nil {
		how = m.err.Error()
	}
	tail, err := logTail(m.logPath)
	if err != nil {
		return fmt.Errorf("the manager ended: %s; its log can't be read: %w", how, err)
	}
	return fmt.Errorf("the manager ended: %s; the end of its log:\n%s", how, tail)
}

func logTail(path string) ([]byte, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	lines := bytes.Split(bytes.TrimSpace(content), []byte("\n"))
	return bytes.Join(lines[max(0, len(lines)-logTailLines):], []byte("\n")), nil
}

// guard ends the manager if this process dies without a chance to do so: a shell that waits for the end of a pipe whose
// other end only this process holds.
type guard struct {
	command *exec.Cmd
	pipe    io.WriteCloser
}

func startGuard(pid int) (*guard, error) {
	command := exec.Command("sh", "-c", `read -r done || kill "$0"`, strconv.Itoa(pid)) //nolint:noctx // it outlives everything
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	pipe, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start the guard of the manager: %w", err)
	}
	return &guard{command: command, pipe: pipe}, nil
}

// release ends the guard when there is nothing to guard any more.
func (g *guard) release() error {
	_, err := io.WriteString(g.pipe, "done\n")
	return errors.Join(err, g.pipe.Close(), g.command.Wait())
}
