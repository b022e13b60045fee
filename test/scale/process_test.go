// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// victimVariable makes the test binary a process that starts another one, prints its id and waits to be killed.
const victimVariable = "SCALE_TEST_VICTIM"

func TestMain(m *testing.M) {
	if log := os.Getenv(victimVariable); log != "" {
		p, err := startProcess(context.Background(), log, "/bin/sleep", "600")
		if err != nil {
			panic(err)
		}
		fmt.Fprintln(os.Stdout, p.pid)
		_, _ = os.Stdin.Read(make([]byte, 1)) // until this process is killed, or the test has ended
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// exists says whether there is a process of this id.
func exists(pid int) bool { return syscall.Kill(pid, 0) == nil }

func logFile(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "log")
}

func TestStopEndsTheProcess(t *testing.T) {
	g := NewWithT(t)
	ctx, cancel := context.WithCancel(t.Context())
	p, err := startProcess(ctx, logFile(t), "/bin/sleep", "600")
	g.Expect(err).NotTo(HaveOccurred())
	cancel() // it has a life of its own
	g.Consistently(p.exited, "200ms").ShouldNot(BeClosed())
	g.Expect(p.stop()).To(Succeed())
	g.Expect(exists(p.pid)).To(BeFalse())
}

func TestUnexpectedEndShowsTheLog(t *testing.T) {
	g := NewWithT(t)
	p, err := startProcess(t.Context(), logFile(t), "/bin/sh", "-c", "echo oh dear; exit 3")
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(p.exited, "10s").Should(BeClosed())
	g.Expect(p.alive()).To(MatchError(And(ContainSubstring("exit status 3"), ContainSubstring("oh dear"))))
	g.Expect(p.stop()).To(MatchError(ContainSubstring("exit status 3")))
}

func TestNothingIsLeftOfAKilledHarness(t *testing.T) {
	g := NewWithT(t)
	victim := exec.CommandContext(t.Context(), os.Args[0])
	victim.Env = append(os.Environ(), victimVariable+"="+logFile(t))
	output, err := victim.StdoutPipe()
	g.Expect(err).NotTo(HaveOccurred())
	input, err := victim.StdinPipe()
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = input.Close() }()
	g.Expect(victim.Start()).To(Succeed())
	line, err := bufio.NewReader(output).ReadString('\n')
	g.Expect(err).NotTo(HaveOccurred())
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(exists(pid)).To(BeTrue())

	g.Expect(victim.Process.Kill()).To(Succeed())
	_ = victim.Wait() // it was killed
	g.Eventually(func() bool { return exists(pid) }, 10*time.Second, 20*time.Millisecond).Should(BeFalse())
}
