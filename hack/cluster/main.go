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
	"os/signal"
	"strings"
	"syscall"
)

// exitNotAllowed is the exit code where there can be no cluster, as documented in doc.go.
const exitNotAllowed = 2

// initCommand makes this program the first process of the cluster's namespaces. It is no part of its usage.
const initCommand = "init"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, reporter{os.Stderr}); err != nil {
		fmt.Fprintf(os.Stderr, "cluster: %v\n", err)
		if _, notAllowed := errors.AsType[notAllowedError](err); notAllowed {
			os.Exit(exitNotAllowed)
		}
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer, report reporter) error {
	command, args, err := parse(args)
	if err != nil {
		return err
	}
	if err := checkHost(); err != nil {
		return err
	}
	if command == initCommand {
		return runInit(ctx, folder{args[0]})
	}
	f, err := openFolder()
	if err != nil {
		return err
	}
	switch command {
	case "up":
		return up(ctx, f, out, report)
	case "down":
		return down(ctx, f, report)
	case "check":
		return check(ctx, f, report)
	default:
		return loadImages(ctx, f, args)
	}
}

// parse checks the command line. Each command but load-image stands alone.
func parse(args []string) (command string, rest []string, err error) {
	usage := errors.New("expected up, down, check, or load-image with one file or more")
	if len(args) == 0 {
		return "", nil, usage
	}
	command, rest = args[0], args[1:]
	switch {
	case (command == "up" || command == "down" || command == "check") && len(rest) == 0,
		command == "load-image" && len(rest) > 0,
		command == initCommand && len(rest) == 1:
		return command, rest, nil
	default:
		return "", nil, fmt.Errorf("%w; found %q", usage, strings.Join(args, " "))
	}
}

// checkHost refuses what could only fail half-way.
func checkHost() error {
	if os.Geteuid() != 0 {
		return notAllowedError{errors.New("this needs root, for namespaces, mounts and a veth pair: run it as root, for example by " +
			"`sudo --preserve-env=PATH,HOME make cluster-up`, or set KUBECONFIG to use another cluster")}
	}
	if _, err := exec.LookPath("ip"); err != nil {
		return notAllowedError{fmt.Errorf("this needs the program ip, of the package iproute2: %w", err)}
	}
	return nil
}

// reporter writes lines for the person who waits.
type reporter struct{ out io.Writer }

func (r reporter) say(format string, args ...any) {
	// Progress that can't be written is no reason to stop.
	_, _ = fmt.Fprintf(r.out, "cluster: "+format+"\n", args...)
}

// execute runs a program whose complaints become part of the error.
func execute(ctx context.Context, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	output, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("`%s`: %w: %s", strings.Join(append([]string{name}, args...), " "), errors.Join(err, ctx.Err()),
			strings.TrimSpace(string(output)))
	}
	return nil
}
