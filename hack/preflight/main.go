// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Command preflight finds out whether make may change a cluster as it is asked to, before anything is changed.
//
//	preflight TARGET KUBECTL [ARG...] <MANIFESTS
//
// TARGET is what make is asked for: install, uninstall, deploy or undeploy. MANIFESTS are what it is about to apply or to delete.
// It asks the cluster by KUBECTL with its arguments, and so the one that make changes by the same command.
//
// For undeploy it prints what there is to delete: all of the manifests but the CustomResourceDefinitions, with which would go what
// people have stored, and but the kinds that the cluster doesn't have any more, which kubectl would end with an error for.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintf(os.Stderr, "preflight: %v\n", err)
		os.Exit(1)
	}
}

// run writes what is to be deleted to out, and to log what is worth knowing.
func run(ctx context.Context, args []string, in io.Reader, out, log io.Writer) error {
	if len(args) < 2 {
		return errors.New("expected a target of make, and kubectl with its arguments")
	}
	target, cluster := args[0], kubectl{command: args[1:], stderr: log}
	m, err := read(in)
	if err != nil {
		return err
	}
	switch target {
	case "install", "uninstall":
		return refuseForeignDefinitions(ctx, cluster, m, target)
	case "deploy":
		if err := refuseForeignDefinitions(ctx, cluster, m, target); err != nil {
			return err
		}
		if err := refuseOtherFlavour(ctx, cluster, m, log); err != nil {
			return err
		}
		return refuseWithoutNeeds(ctx, cluster, m)
	case "undeploy":
		if err := refuseMissing(ctx, cluster, m, log); err != nil {
			return err
		}
		return printDeletable(ctx, cluster, m, out)
	default:
		return fmt.Errorf("what is %s? Expected install, uninstall, deploy or undeploy", target)
	}
}
