// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/machinist-dev/machinist/test/scale/measure"
)

// subject is a manager to measure.
type subject struct {
	name, version string
	binary        string
	// crds is a folder with the definitions of Machine, Cluster and whatever else the manager watches.
	crds string
	// userAgent is how the user agents of its requests start.
	userAgent string
	// reconciles tells of the Machine controller's work. turns counts every time that a worker was busy, which may be more.
	reconciles, turns measure.ReconcileMetrics
	// ownClusterController says that the manager reconciles Clusters, too.
	ownClusterController bool
	// flags are its own, besides those that both managers get.
	flags func(addresses) []string
}

// addresses are those on which a manager listens.
type addresses struct{ health, metrics, profiler, webhooks netip.AddrPort }

// controllerRuntimeMetrics are what every manager has that is built with controller-runtime.
var controllerRuntimeMetrics = measure.ReconcileMetrics{
	Controller: "machine", Total: "controller_runtime_reconcile_total", Time: "controller_runtime_reconcile_time_seconds",
}

// subjects returns our manager and, if it is wanted, the peer, which is built if it must be.
func subjects(ctx context.Context, options options, scratch string) ([]subject, error) {
	ours, err := machinist(ctx, options)
	if err != nil || !options.peer {
		return []subject{ours}, err
	}
	peer, err := clusterAPI(ctx, options, scratch)
	return []subject{ours, peer}, err
}

func machinist(ctx context.Context, options options) (subject, error) {
	if _, err := os.Stat(options.manager); err != nil {
		return subject{}, fmt.Errorf("finding our manager, which `make build` makes: %w", err)
	}
	version, err := output(exec.CommandContext(ctx, options.manager, "--version"))
	if err != nil {
		return subject{}, fmt.Errorf("asking our manager for its version: %w", err)
	}
	return subject{
		name:       "Machinist",
		version:    strings.TrimPrefix(version, "machinist "),
		binary:     options.manager,
		crds:       filepath.Join(options.root, "config", "crd", "bases"),
		userAgent:  "machinist-manager",
		reconciles: controllerRuntimeMetrics,
		turns:      controllerRuntimeMetrics,
		flags:      func(addresses) []string { return []string{"--webhook-port=0"} },
	}, nil
}

// arguments are the command line of a manager: what both get, and what is its own.
func (s subject) arguments(options options, kubeconfig string, serves addresses) []string {
	common := []string{
		"--kubeconfig=" + kubeconfig,
		"--machine-concurrency=" + strconv.Itoa(options.Concurrency),
		"--kube-api-qps=" + strconv.Itoa(options.QPS),
		"--kube-api-burst=" + strconv.Itoa(options.Burst),
		"--sync-period=10h", // what is not woken by an event does not happen
		"--health-addr=" + serves.health.String(),
		"--diagnostics-address=" + serves.metrics.String(),
		"--insecure-diagnostics",
		"--profiler-address=" + serves.profiler.String(),
	}
	return append(common, s.flags(serves)...)
}

// output returns what a command writes to standard output; its error holds what it writes to standard error.
func output(command *exec.Cmd) (string, error) {
	content, err := command.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("`%s`: %w", command, err)
	}
	return strings.TrimSpace(string(content)), nil
}
