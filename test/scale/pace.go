// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"golang.org/x/sync/errgroup"
)

// say reports progress. Standard output is for the table alone.
var say = log.New(os.Stderr, "", log.Ltime).Printf

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// poll asks again and again until done or failed says so, or the context ends.
func poll(ctx context.Context, interval time.Duration, ask func(context.Context) (done bool, failed error)) error {
	for {
		done, err := ask(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil || done {
			return err
		}
		if err := pause(ctx, interval); err != nil {
			return err
		}
	}
}

// paced does count things, perSecond of them each second and up to parallel at the same time. With perSecond 0 it does
// them as fast as it goes. The first error ends it.
func paced(ctx context.Context, count int, perSecond float64, parallel int, do func(ctx context.Context, i int) error) error {
	group, working := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	begin := time.Now()
	for i := range count {
		if perSecond > 0 {
			due := begin.Add(time.Duration(float64(i) / perSecond * float64(time.Second)))
			_ = pause(working, time.Until(due)) // whether it was cut short is asked below
		}
		if working.Err() != nil {
			break
		}
		group.Go(func() error { return do(working, i) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// withDeadline is context.WithTimeout with an error that says what took too long.
func withDeadline(ctx context.Context, limit time.Duration, what string) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("%s took longer than %s", what, limit))
}
