// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Machinist's manager runs Cluster API Machines; see README.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	goruntime "runtime"

	"github.com/spf13/pflag"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/machinist-dev/machinist/controllers"
)

// version is stamped in by the build.
var version = "dev"

func main() {
	if err := run(ctrl.SetupSignalHandler(), os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "machinist: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	var options controllers.Options
	var asked questions
	logging := logsapi.NewLoggingConfiguration()
	groups := flagGroups(&options, logging, &asked)
	flags := pflag.NewFlagSet("machinist", pflag.ContinueOnError)
	groups.AddTo(flags)
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("%w; --help lists all flags", err)
	}
	if asked.help {
		printHelp(os.Stdout, terminalWidth(os.Stdout), groups)
		return nil
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: there are only flags; a flag that is true or false is written as --flag=false", flags.Arg(0))
	}
	if asked.version {
		fmt.Println("machinist", version, goruntime.Version())
		return nil
	}
	if err := errors.Join(options.Validate(), logsapi.ValidateAndApply(logging, nil)); err != nil {
		return err
	}
	ctrl.SetLogger(klog.Background())
	if options.ContentionProfiling {
		goruntime.SetBlockProfileRate(1)
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("no management cluster to work with: set --kubeconfig or KUBECONFIG, or run in a cluster: %w", err)
	}
	manager, err := controllers.NewManager(config, options)
	if err != nil {
		return err
	}
	if err := controllers.Setup(ctx, manager, options); err != nil {
		return err
	}
	klog.FromContext(ctx).Info("Starting manager", "version", version, "goVersion", goruntime.Version())
	return manager.Start(ctx)
}
