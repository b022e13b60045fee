// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	// lockFD is where the first process finds the lock that it holds.
	lockFD = 3
	// nodeTimeout bounds the time from the start to a node that is ready. It takes about ten seconds on an idle machine.
	nodeTimeout = 3 * time.Minute
)

// up starts the cluster and prints the path of its kubeconfig.
func up(ctx context.Context, f folder, out io.Writer, report reporter) (err error) {
	lock, err := f.lock()
	if errors.Is(err, errRunning) {
		return fmt.Errorf("%w already: use it by KUBECONFIG=%s, or stop it by `make cluster-down`", err, f.kubeconfig())
	}
	if err != nil {
		return err
	}
	// The cluster's first process has inherited the lock by then.
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := remove(ctx, f); err != nil {
		return fmt.Errorf("removing what an earlier cluster has left: %w", err)
	}
	loader, err := prepare(ctx, f, report)
	if err != nil {
		return err
	}
	started := time.Now()
	if err := makeCgroups(); err != nil {
		return errors.Join(err, clearMachine(ctx))
	}
	first, err := startInit(ctx, f, lock)
	if err != nil {
		return errors.Join(err, clearMachine(ctx))
	}
	if err := first.follow(ctx, f, loader); err != nil {
		err = errors.Join(err, first.explain(f), ctx.Err())
		return errors.Join(err, first.kill(ctx), clearMachine(ctx))
	}
	report.say("node %s is ready after %s", nodeName, time.Since(started).Round(100*time.Millisecond))
	fmt.Fprintln(out, f.kubeconfig())
	return nil
}

// prepare makes everything that the cluster is started with.
func prepare(ctx context.Context, f folder, report reporter) (imageLoader, error) {
	root, err := moduleRoot(ctx)
	if err != nil {
		return imageLoader{}, err
	}
	assets, err := kubernetesPrograms(ctx, root)
	if err != nil {
		return imageLoader{}, err
	}
	found, err := findTools(ctx, f, report)
	if err != nil {
		return imageLoader{}, err
	}
	if err := prepareIsolation(f); err != nil {
		return imageLoader{}, err
	}
	if err := writeCredentials(f); err != nil {
		return imageLoader{}, err
	}
	if err := writeConfiguration(f, found); err != nil {
		return imageLoader{}, err
	}
	if err := buildPause(ctx, f, root); err != nil {
		return imageLoader{}, err
	}
	p := plan{Programs: programs(f, assets, found), Env: found.env(), Ctr: found.programs["ctr"]}
	return imageLoader{ctr: p.Ctr, env: p.Env}, f.writePlan(p)
}

// moduleRoot finds the folder of the source, from which part of the cluster is built.
func moduleRoot(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/machinist-dev/machinist")
	cmd.Stderr = os.Stderr
	output, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("finding the folder of the source: %w: run this inside of it", err)
	}
	return strings.TrimSpace(string(output)), nil
}

// kubernetesPrograms builds, or finds, what comes from Go modules, and returns its folder.
func kubernetesPrograms(ctx context.Context, root string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "-C", root+"/hack/controlplane", "run", "./ensure",
		"-components=etcd,kube-apiserver,kube-controller-manager,kube-scheduler,kubelet,kube-proxy")
	// A folder of envtest's binaries has no kubelet. An empty value is the same as none.
	cmd.Env = append(os.Environ(), "KUBEBUILDER_ASSETS=")
	cmd.Stderr = os.Stderr
	// `go run` passes no signal on, so the whole group gets it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = 10 * time.Second
	output, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("getting the programs of Kubernetes: %w", errors.Join(err, ctx.Err()))
	}
	return strings.TrimSpace(string(output)), nil
}

// firstProcess is the cluster's, seen from outside.
type firstProcess struct {
	pid  int
	gate *os.File // it goes on when it can read a byte from there
	// ended is closed when it has ended, and err says how.
	ended chan struct{}
	err   error
}

// startInit starts this program in namespaces of its own, where it waits.
func startInit(ctx context.Context, f folder, lock *os.File) (*firstProcess, error) {
	log, err := os.Create(f.logs("init.log"))
	if err != nil {
		return nil, fmt.Errorf("making the log of the cluster's first process: %w", err)
	}
	defer func() { _ = log.Close() }() // the process has its own
	stdin, gate, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("making a pipe: %w", err)
	}
	defer func() { _ = stdin.Close() }() // likewise
	// It outlives us, so it does not end with our context.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), "/proc/self/exe", initCommand, f.base)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, log, log
	cmd.ExtraFiles = []*os.File{lock}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid:     true,
		Cloneflags: namespaces,
	}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting a process in namespaces of its own: %w", err), gate.Close())
	}
	p := &firstProcess{pid: cmd.Process.Pid, gate: gate, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		p.err = cmd.Wait()
	}()
	return p, nil
}

// follow takes the process through its start until the node is ready.
func (p *firstProcess) follow(ctx context.Context, f folder, loader imageLoader) error {
	ctx, cancel := context.WithTimeoutCause(ctx, nodeTimeout, fmt.Errorf("not ready after %s", nodeTimeout))
	defer cancel()
	go func() {
		select {
		case <-p.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	if err := f.setPID(p.pid); err != nil {
		return err
	}
	if err := connect(ctx, p.pid); err != nil {
		return err
	}
	if _, err := p.gate.Write([]byte("\n")); err != nil {
		return fmt.Errorf("telling the cluster's first process to go on: %w", err)
	}
	loader.pid = p.pid
	if err := loader.waitForSocket(ctx); err != nil {
		return err
	}
	if err := loader.load(ctx, f.state(pauseTar)); err != nil {
		return err
	}
	return waitForNode(ctx, f)
}

// explain says where to look for the reason why the cluster did not start.
func (p *firstProcess) explain(f folder) error {
	select {
	case <-p.ended:
		content, _ := os.ReadFile(f.logs("init.log")) // the error below says enough
		return fmt.Errorf("the cluster's first process has ended: %w: %s", p.err, strings.TrimSpace(string(content)))
	default:
		return fmt.Errorf("the logs are in %s", f.logs())
	}
}

// kill ends the process, and with it everything in its namespaces.
func (p *firstProcess) kill(ctx context.Context) error {
	if err := syscall.Kill(p.pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("killing the cluster's first process: %w", err)
	}
	ctx = context.WithoutCancel(ctx)
	return until(ctx, removalTimeout, func() bool {
		select {
		case <-p.ended:
			return true
		default:
			return false
		}
	})
}
