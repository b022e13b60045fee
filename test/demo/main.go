// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Demo shows Machinist at work on a laptop: a real control plane, the manager, simulated providers and workload clusters,
// and a table of Machines that become Running. It is what "make run" runs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	machines        int
	exitWhenRunning bool
	timeout         time.Duration
}

// sampleMachines is how many Machines config/samples has.
const sampleMachines = 10

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintf(os.Stderr, "\ndemo: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	opts, err := parse(args)
	if err != nil {
		return err
	}
	d := &demo{options: opts, screen: newScreen(out)}
	return errors.Join(d.run(ctx), d.cleanUp())
}

func parse(args []string) (options, error) {
	var opts options
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.IntVar(&opts.machines, "machines", sampleMachines,
		"Number of Machines. With 10 they are those of config/samples, with any other number they are generated.")
	flags.BoolVar(&opts.exitWhenRunning, "exit-when-running", false,
		"When all Machines are Running, delete one, see it go, and exit.")
	flags.DurationVar(&opts.timeout, "timeout", 10*time.Minute,
		"Time after which the Machines must be Running.")
	if err := flags.Parse(args); err != nil {
		return opts, err
	}
	switch {
	case flags.NArg() > 0:
		return opts, fmt.Errorf("unexpected argument %q: there are only flags", flags.Arg(0))
	case opts.machines < 1:
		return opts, fmt.Errorf("--machines is %d, expected 1 or more", opts.machines)
	case opts.timeout <= 0:
		return opts, fmt.Errorf("--timeout is %s, expected more than 0", opts.timeout)
	}
	return opts, nil
}
