// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("ensure", flag.ContinueOnError)
	flags.SetOutput(stderr)
	list := flags.String("components", names(defaultComponents()),
		"`names` of the components that have to be there, of "+names(components))
	onlyPrint := flags.Bool("print", false, "print the folder that would be used, and put nothing there")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: see -h", flags.Arg(0))
	}
	wanted, err := parseComponents(*list)
	if err != nil {
		return err
	}
	dir, err := ensure(ctx, wanted, *onlyPrint, reporter{stderr})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(stdout, dir)
	return err
}

// ensure returns the folder that holds the wanted components.
func ensure(ctx context.Context, wanted []component, onlyPrint bool, report reporter) (string, error) {
	if assets := os.Getenv(assetsVariable); assets != "" {
		return assets, checkAssets(assets, wanted)
	}
	module, err := openModule(".")
	if err != nil {
		return "", err
	}
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "controlplane", module.hash, platform)
	if onlyPrint || len(missing(dir, wanted)) == 0 {
		return dir, nil
	}
	return dir, fill(ctx, module, dir, wanted, report)
}

// fill puts the wanted components that are missing into dir, which other processes may be doing as well.
func fill(ctx context.Context, module module, dir string, wanted []component, report reporter) (err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the cache folder: %w", err)
	}
	lock, err := acquire(ctx, filepath.Join(dir, "lock"), report)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.release()) }()

	partial, err := newPartialDir(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(partial)) }()

	// Another process may have put them there while this one waited.
	if needed := downloadable(missing(dir, wanted)); len(needed) > 0 {
		download(ctx, module, needed, partial, dir, report)
	}
	for _, c := range missing(dir, wanted) {
		if err := build(ctx, module, c, partial, report); err != nil {
			return err
		}
		if err := install(partial, dir, c); err != nil {
			return err
		}
	}
	return nil
}
