// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/machinist-dev/machinist/test/scale/report"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch err := run(ctx, os.Args[1:]); {
	case errors.Is(err, pflag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	var options options
	flags := pflag.NewFlagSet("scale", pflag.ContinueOnError)
	flags.SortFlags = false
	options.bind(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := options.validate(); err != nil {
		return err
	}
	result, err := compare(ctx, options)
	if result != nil {
		err = errors.Join(err, result.Print(os.Stdout), save(result, options.json))
	}
	return err
}

// save writes the report as JSON. An empty path means nowhere.
func save(result *report.Report, path string) error {
	if path == "" {
		return nil
	}
	content, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the report: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	if err := os.WriteFile(path, append(content, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}
