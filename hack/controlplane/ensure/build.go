// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// versionPackages hold the variables by which Kubernetes' binaries and their clients tell their version.
var versionPackages = []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"}

// buildFlags are the flags of every build. Without the stamps the API server calls itself v0.0.0, which clients refuse.
func buildFlags(v version) []string {
	stamps := map[string]string{
		"gitVersion":   v.full,
		"gitMajor":     v.major,
		"gitMinor":     v.minor,
		"gitCommit":    "unknown", // a module does not carry it
		"gitTreeState": "archive", // Kubernetes' word for a source tree without git
	}
	if !v.date.IsZero() {
		stamps["buildDate"] = v.date.UTC().Format(time.RFC3339)
	}
	ldflags := []string{"-s", "-w"}
	for _, pkg := range versionPackages {
		for _, name := range []string{"gitVersion", "gitMajor", "gitMinor", "gitCommit", "gitTreeState", "buildDate"} {
			if value, ok := stamps[name]; ok {
				ldflags = append(ldflags, fmt.Sprintf("-X %s.%s=%s", pkg, name, value))
			}
		}
	}
	return []string{"-trimpath", "-ldflags=" + strings.Join(ldflags, " ")}
}

// build compiles a component into the folder partial.
func build(ctx context.Context, m module, c component, partial string, report reporter) error {
	v, err := m.kubernetesVersion(ctx)
	if err != nil {
		return err
	}
	report.say("building %s from source; this happens once, and takes minutes on a small machine", c.name)
	args := append([]string{"build", "-v", "-o", filepath.Join(partial, c.name)}, buildFlags(v)...)
	command := m.goCommand(ctx, append(args, c.pkg)...)
	output := &buildOutput{}
	command.Stdout = output
	command.Stderr = output

	started := time.Now()
	stop := report.every(progressInterval, func() {
		report.say("building %s: %s, %s", c.name, elapsed(started), output.progress())
	})
	err = command.Run()
	stop()
	if ctx.Err() != nil {
		return fmt.Errorf("building %s was interrupted after %s; the next run goes on from there", c.name, elapsed(started))
	}
	if err != nil {
		return fmt.Errorf("building %s with `%s`: %w\n%s", c.name, command, err, output.complaints())
	}
	report.say("built %s in %s", c.name, elapsed(started))
	return nil
}

// explain adds to the error of a command what it wrote to standard error.
func explain(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	return err
}
