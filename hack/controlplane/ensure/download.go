// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// indexTimeout is how long the download index may take to answer. Where it can't be reached it is not waited for long.
	indexTimeout = 5 * time.Second
	// downloadTimeout bounds the download once the index has answered: about 60 MB, instead of minutes of building.
	downloadTimeout = time.Minute
)

// downloadable returns those of the components that setup-envtest has.
func downloadable(components []component) []component {
	return slices.DeleteFunc(slices.Clone(components), func(c component) bool { return !c.downloadable })
}

// download gets components from setup-envtest into dir. That it can't is ordinary, since many networks reach a module proxy
// and nothing else, so it is one line of progress and no error; the build follows.
func download(ctx context.Context, m module, needed []component, partial, dir string, report reporter) {
	if err := tryDownload(ctx, m, needed, partial, dir, report); err != nil {
		report.say("setup-envtest can't fetch anything here (%s)", cause(err))
	}
}

func tryDownload(ctx context.Context, m module, needed []component, partial, dir string, report reporter) error {
	v, err := m.kubernetesVersion(ctx)
	if err != nil {
		return err
	}
	tool, err := setupEnvtest(ctx, m)
	if err != nil {
		return err
	}
	selector := fmt.Sprintf("%s.%s.x", v.major, v.minor)
	// Listing asks the same server as downloading does, and is quick to fail.
	if _, err := runTool(ctx, indexTimeout, tool, "list", selector); err != nil {
		return err
	}
	report.say("downloading %s %s", names(needed), selector)
	assets, err := runTool(ctx, downloadTimeout, tool, "use", "-p", "path", selector)
	if err != nil {
		return err
	}
	for _, c := range needed {
		if err := copyBinary(filepath.Join(assets, c.name), filepath.Join(partial, c.name)); err != nil {
			return err
		}
		if err := install(partial, dir, c); err != nil {
			return err
		}
	}
	return nil
}

// setupEnvtest compiles the tool, which may take longer than its use may, and returns its path.
func setupEnvtest(ctx context.Context, m module) (string, error) {
	command := m.goCommand(ctx, "tool", "-n", "setup-envtest")
	command.Dir = filepath.Join(m.dir, "..", "tools")
	output, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("compiling setup-envtest: %w", explain(err))
	}
	return strings.TrimSpace(string(output)), nil
}

func runTool(ctx context.Context, timeout time.Duration, tool string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	output, err := exec.CommandContext(ctx, tool, args...).Output()
	if ctx.Err() != nil {
		return "", fmt.Errorf("no answer within %s", timeout)
	}
	if err != nil {
		return "", explain(err)
	}
	return strings.TrimSpace(string(output)), nil
}

func copyBinary(from, to string) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("opening what setup-envtest downloaded: %w", err)
	}
	defer func() { _ = source.Close() }() // only read
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o755)
	if err != nil {
		return fmt.Errorf("copying %s: %w", from, err)
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	if _, err := io.Copy(target, source); err != nil {
		return fmt.Errorf("copying %s: %w", from, err)
	}
	return nil
}

// cause shortens a tool's page of output to the end of its first line, which is where Go programs name the cause.
func cause(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	parts := strings.Split(line, ": ")
	return parts[len(parts)-1]
}
