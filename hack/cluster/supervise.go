// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// restartDelay is how long a program that has ended stays away.
const restartDelay = time.Second

// program is one of those that the cluster consists of. It runs for ever.
type program struct {
	Name string
	Path string
	Args []string
	// NeedsAPI says that it is started when the API server is ready.
	NeedsAPI bool
}

// plan is what the first process of the cluster is told.
type plan struct {
	Programs []program
	Env      []string
	// Ctr is the program that gives images to containerd.
	Ctr string
}

const planFile = "plan.json"

func (f folder) writePlan(p plan) error {
	content, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the plan of the cluster: %w", err)
	}
	return f.write(content, planFile)
}

func (f folder) readPlan() (plan, error) {
	content, err := os.ReadFile(f.state(planFile))
	if err != nil {
		return plan{}, fmt.Errorf("reading the plan of the cluster: %w", err)
	}
	var p plan
	if err := json.Unmarshal(content, &p); err != nil {
		return plan{}, fmt.Errorf("reading the plan of the cluster, %s: %w", f.state(planFile), err)
	}
	return p, nil
}

// runInit is the first process of the cluster. It waits until its parent has laid the cable, sets up the namespaces, and
// runs the programs until it is killed.
func runInit(ctx context.Context, f folder) error {
	syscall.CloseOnExec(lockFD)
	if _, err := io.ReadFull(os.Stdin, make([]byte, 1)); err != nil {
		return fmt.Errorf("waiting for the parent process: %w", err)
	}
	p, err := f.readPlan()
	if err != nil {
		return err
	}
	if err := isolate(f); err != nil {
		return err
	}
	if err := setUpNode(ctx); err != nil {
		return err
	}
	s := &supervisor{folder: f, env: p.Env, running: map[int]program{}, due: make(chan program), report: reporter{os.Stderr}}
	return s.run(ctx, p.Programs)
}

// supervisor starts programs, and starts them again when they end. Everything of it happens in one goroutine, so that a
// program can't end before it is known.
type supervisor struct {
	folder  folder
	env     []string
	running map[int]program // by process
	due     chan program
	report  reporter
}

// run runs the programs until the context ends.
func (s *supervisor) run(ctx context.Context, programs []program) error {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	ready := make(chan error, 1)
	go func() { ready <- waitForAPI(ctx, s.folder) }()

	s.startAll(programs, false)
	for {
		select {
		case <-ended:
			s.reap(ctx)
		case program := <-s.due:
			s.start(program)
		case err := <-ready:
			if err != nil {
				return err
			}
			s.startAll(programs, true)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *supervisor) startAll(programs []program, needAPI bool) {
	for _, program := range programs {
		if program.NeedsAPI == needAPI {
			s.start(program)
		}
	}
}

func (s *supervisor) start(p program) {
	pid, err := s.fork(p)
	if err != nil {
		s.report.say("starting %s: %v", p.Name, err)
		return
	}
	s.running[pid] = p
	s.report.say("%s is process %d", p.Name, pid)
}

func (s *supervisor) fork(p program) (int, error) {
	log, err := os.OpenFile(filepath.Join("/var/log", p.Name+".log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() { _ = log.Close() }() // the program has its own
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, err
	}
	defer func() { _ = null.Close() }() // only read
	return syscall.ForkExec(p.Path, append([]string{p.Path}, p.Args...), &syscall.ProcAttr{
		Dir:   "/",
		Env:   s.env,
		Files: []uintptr{null.Fd(), log.Fd(), log.Fd()},
	})
}

// reap takes note of processes that have ended: our programs, and what containers and shims leave behind, which becomes
// ours because this is the first process.
func (s *supervisor) reap(ctx context.Context) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		program, ours := s.running[pid]
		if !ours {
			continue
		}
		delete(s.running, pid)
		s.report.say("%s has ended (exit status %d, signal %d) and is started again", program.Name, status.ExitStatus(), status.Signal())
		go s.startLater(ctx, program)
	}
}

func (s *supervisor) startLater(ctx context.Context, p program) {
	timer := time.NewTimer(restartDelay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return
	}
	select {
	case s.due <- p:
	case <-ctx.Done():
	}
}
