// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Command providerid-index says which Machine is behind a provider ID: the question that an autoscaler or a
// termination handler asks, who know an instance of a cloud and need the Machine.
//
//	go run ./examples/providerid-index aws:///eu-west-1a/i-0abc aws:///eu-west-1b/i-0def
//
// It shows how a program uses our generated client: one shared informer keeps the Machines in memory, and an index on
// spec.providerID answers each lookup without a request to the API server. See index.go.
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

	"k8s.io/client-go/tools/clientcmd"

	"github.com/machinist-dev/machinist/generated/clientset/versioned"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "providerid-index:", err)
		os.Exit(1)
	}
}

// run answers for each provider ID in args, one line per Machine.
func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("providerid-index", flag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", "", "kubeconfig file; without one $KUBECONFIG, ~/.kube/config or the Pod's own account")
	namespace := flags.String("namespace", "", "namespace to look in; all of them if empty")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return errors.New("name one or more provider IDs, as in: providerid-index aws:///eu-west-1a/i-0abc")
	}

	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = *kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return err
	}
	client, err := versioned.NewForConfig(config)
	if err != nil {
		return err
	}
	index, err := StartIndex(ctx, client, *namespace)
	if err != nil {
		return err
	}
	defer index.Stop()

	for _, id := range flags.Args() {
		machines, err := index.Machines(id)
		if err != nil {
			return err
		}
		if len(machines) == 0 {
			fmt.Fprintf(out, "%s\tno Machine\n", id)
		}
		for _, machine := range machines {
			fmt.Fprintf(out, "%s\t%s/%s\t%s\n", id, machine.Namespace, machine.Name, machine.Status.Phase)
		}
	}
	return nil
}
