// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// stopTimeout bounds the graceful end of a manager.
const stopTimeout = 30 * time.Second

// errExitZero is how a program ends that has no error to report.
var errExitZero = errors.New("exit status 0")

// process is a program that runs beside us.
type process struct {
	pid     int
	started time.Time
	log     string
	cancel  context.CancelFunc
	// exited is closed when it has ended, and err, which is how, can be read from then on.
	exited chan struct{}
	err    error
}

// startProcess starts a program, which runs until stop is called, also after the end of ctx. Its output goes to the file
// log.
func startProcess(ctx context.Context, log, binary string, arguments ...string) (*process, error) {
	file, err := os.Create(log)
	if err != nil {
		return nil, fmt.Errorf("making the log of %s: %w", filepath.Base(binary), err)
	}
	defer func() { _ = file.Close() }() // the program has its own end
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	command := exec.CommandContext(ctx, binary, arguments...)
	command.Stdout, command.Stderr = file, file
	// A group of its own, so that Ctrl-C in a terminal leaves the order of the end to us.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = stopTimeout
	started := time.Now()
	if err := command.Start(); err != nil {
		cancel()
		return nil, fmt.Errorf("starting %s: %w", filepath.Base(binary), err)
	}
	p := &process{pid: command.Process.Pid, started: started, log: log, cancel: cancel, exited: make(chan struct{})}
	release, err := guard(`kill -s KILL -- "-$1"`, strconv.Itoa(p.pid))
	if err != nil {
		cancel()
	}
	go func() {
		p.err = cmp.Or(command.Wait(), errExitZero)
		if release != nil {
			release()
		}
		close(p.exited)
	}()
	if err != nil {
		<-p.exited
		return nil, err
	}
	return p, nil
}

// guard runs a shell command, with its arguments as $1 and so on, if we die without a chance to do what it does: a shell
// waits for the end of a pipe whose other end only we hold. Call release when there is nothing left to do.
func guard(command string, arguments ...string) (release func(), err error) {
	arguments = append([]string{"-c", "cat >/dev/null; " + command, "guard"}, arguments...)
	shell := exec.Command("/bin/sh", arguments...) //nolint:noctx // it has to outlive us
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	shell.Dir = "/"
	pipe, err := shell.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("making the pipe of a guard: %w", err)
	}
	if err := shell.Start(); err != nil {
		return nil, fmt.Errorf("starting a guard: %w", err)
	}
	return func() {
		// Before the pipe is closed: a process id may be that of another process by now.
		_ = syscall.Kill(-shell.Process.Pid, syscall.SIGKILL)
		_ = pipe.Close()
		_ = shell.Wait()
	}, nil
}

// stop asks the process to end, and waits for it. It is an error if it ended before, or had to be killed.
func (p *process) stop() error {
	select {
	case <-p.exited:
		return fmt.Errorf("it had ended by itself: %w", p.err)
	default:
	}
	p.cancel()
	<-p.exited
	if exit, ok := errors.AsType[*exec.ExitError](p.err); ok {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signal() == syscall.SIGKILL {
			return fmt.Errorf("it did not end within %s of SIGTERM and was killed; %s", stopTimeout, p.logTail())
		}
	}
	return nil
}

// alive returns an error, with the end of the log, if the process has ended.
func (p *process) alive() error {
	select {
	case <-p.exited:
		return fmt.Errorf("it ended by itself (%w); %s", p.err, p.logTail())
	default:
		return nil
	}
}

// logTail returns the end of the log, for an error.
func (p *process) logTail() string {
	const lines = 15
	content, err := os.ReadFile(p.log)
	if err != nil {
		return "its log can't be read: " + err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(content)), "\n")
	return "the end of its log:\n" + strings.Join(all[max(0, len(all)-lines):], "\n")
}
