// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package ha

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/machinist-dev/machinist/test/environment/suite"
)

// process is a manager that runs.
type process struct {
	*os.Process

	health  string // the address of /readyz
	logPath string
	// exited is closed when it has ended, and err, which is how, can be read from then on.
	exited chan struct{}
	err    error
}

// start starts a manager that ends with the node which calls it at the latest.
func start(ctx context.Context, flags ...string) *process {
	GinkgoHelper()
	p := &process{health: suite.FreeAddress(ctx).String(), exited: make(chan struct{})}
	p.logPath = filepath.Join(GinkgoT().TempDir(), "manager-"+p.health+".log")
	log, err := os.Create(p.logPath)
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = log.Close() }()               // the process has its own end
	command := exec.Command(binary, append([]string{ //nolint:noctx // the end of a context would be a SIGKILL
		"--kubeconfig=" + env.KubeconfigPath, "--health-addr=" + p.health, "--diagnostics-address=0", "--sync-period=10h",
	}, flags...)...)
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C in a terminal is for the suite
	Expect(command.Start()).To(Succeed())
	p.Process = command.Process
	release := guard(p.Pid)
	go func() {
		p.err = command.Wait()
		release()
		close(p.exited)
	}()
	DeferCleanup(func() {
		p.kill()
		if CurrentSpecReport().Failed() {
			content, err := os.ReadFile(p.logPath)
			fmt.Fprintf(GinkgoWriter, "log of process %d (%v):\n%s\n", p.Pid, err, content)
		}
	})
	return p
}

// guard kills the process if this one dies without a chance to do so: a shell waits for the end of a pipe whose other end only
// we hold. The guard itself ends when it is released.
func guard(pid int) (release func()) {
	GinkgoHelper()
	shell := exec.Command("/bin/sh", "-c", `read -r released || kill -s KILL "$0"`, strconv.Itoa(pid)) //nolint:noctx // it outlives everything
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	pipe, err := shell.StdinPipe()
	Expect(err).NotTo(HaveOccurred())
	Expect(shell.Start()).To(Succeed())
	return func() {
		_, _ = io.WriteString(pipe, "released\n")
		_ = pipe.Close()
		_ = shell.Wait()
	}
}

// expectAlive fails the spec if the process has ended.
func (p *process) expectAlive() {
	GinkgoHelper()
	Expect(p.exited).NotTo(BeClosed(), "process %d has ended by itself", p.Pid)
}

// kill is what happens to the processes of a machine that fails.
func (p *process) kill() {
	GinkgoHelper()
	_ = p.Signal(syscall.SIGKILL) // fails only if it has ended
	Eventually(p.exited).Should(BeClosed())
}

// terminate is what happens to a pod that is deleted. It returns when the process has ended, and how.
func (p *process) terminate() error {
	GinkgoHelper()
	Expect(p.Signal(syscall.SIGTERM)).To(Succeed())
	Eventually(p.exited).Should(BeClosed())
	return p.err
}

// ready is what /readyz says.
func (p *process) ready(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.health+"/readyz", http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // only read
	if response.StatusCode != http.StatusOK {
		content, err := io.ReadAll(response.Body)
		return fmt.Errorf("%s: %s (%w)", response.Status, content, err)
	}
	return nil
}

// log is what it has logged so far.
func (p *process) log() string {
	GinkgoHelper()
	content, err := os.ReadFile(p.logPath)
	Expect(err).NotTo(HaveOccurred())
	return string(content)
}
