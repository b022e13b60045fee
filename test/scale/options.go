// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/machinist-dev/machinist/test/scale/report"
	"github.com/machinist-dev/machinist/test/simulator"
)

// options are what is run, and with what.
type options struct {
	report.Settings

	// root is the folder of this repository.
	root string
	// manager is the binary of our manager.
	manager string
	// peer says whether the peer is measured, too.
	peer bool
	// peerBinary is the peer's binary, if it is not to be built.
	peerBinary string
	// window is how long nothing is done, to see what a manager does by itself.
	window time.Duration
	// samples is how many provider changes are timed, and the least number of events of each other kind.
	samples int
	// json is where the report is written.
	json string
	// logs is a folder that keeps the logs of the managers.
	logs string
}

func (o *options) bind(flags *pflag.FlagSet) {
	flags.IntVar(&o.Machines, "machines", 1000, "Number of Machines.")
	flags.IntVar(&o.Clusters, "clusters", 10, "Number of Clusters that the Machines are spread over.")
	flags.IntVar(&o.PayloadSize, "payload", simulator.DefaultPayloadSize,
		"Content outside the contract in each provider object, in bytes of JSON, half of it in spec and half in status.")
	flags.Float64Var(&o.MachinesPerSecond, "rate", 0,
		"Machines created, and later deleted, per second; 0 is as fast as it goes.")
	flags.DurationVar(&o.ProviderDelay, "provider-delay", time.Second,
		"Time that the providers take for each step (bootstrap data, server, Node, deletion), give or take a half.")
	flags.Uint64Var(&o.Seed, "seed", 1, "Seed of the delays and of the content of objects.")
	flags.IntVar(&o.QPS, "qps", 100, "Requests per second that each manager may make to the management cluster.")
	flags.IntVar(&o.Burst, "burst", 200, "Requests that may exceed --qps for a moment.")
	flags.IntVar(&o.Concurrency, "concurrency", 100, "Machines that each manager reconciles at the same time.")
	flags.DurationVar(&o.window, "window", time.Minute, "Time for which settled managers are watched.")
	flags.IntVar(&o.samples, "samples", 500,
		"Number of provider changes that are timed, and least number of heartbeats and of changes of Machines.")
	flags.StringVar(&o.root, "root", "../..", "Folder of the repository.")
	flags.StringVar(&o.manager, "manager", "../../bin/manager", "Binary of our manager.")
	flags.BoolVar(&o.peer, "peer", true, "Measure Cluster API's core manager, too.")
	flags.StringVar(&o.peerBinary, "peer-binary", "", "Binary of Cluster API's core manager; empty to build it.")
	flags.StringVar(&o.json, "json", "", "File to write the report to, as JSON.")
	flags.StringVar(&o.logs, "logs", "", "Folder to keep the logs of the managers in; empty to throw them away.")
}

// validate returns all that is wrong, each with the flag to correct.
func (o *options) validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(o.Clusters >= 1, "--clusters must be at least 1, found %d", o.Clusters)
	check(o.Machines >= o.Clusters, "--machines must be at least one per Cluster, %d, found %d", o.Clusters, o.Machines)
	check(o.PayloadSize >= 2, "--payload must be at least 2, found %d", o.PayloadSize)
	check(o.MachinesPerSecond >= 0, "--rate must not be negative, found %v", o.MachinesPerSecond)
	check(o.ProviderDelay >= 0, "--provider-delay must not be negative, found %s", o.ProviderDelay)
	check(o.QPS >= 1, "--qps must be at least 1, found %d", o.QPS)
	check(o.Burst >= 1, "--burst must be at least 1, found %d", o.Burst)
	check(o.Concurrency >= 1, "--concurrency must be at least 1, found %d", o.Concurrency)
	check(o.window >= time.Second, "--window must be at least 1s, found %s", o.window)
	check(o.samples >= 1, "--samples must be at least 1, found %d", o.samples)
	return errors.Join(errs...)
}
