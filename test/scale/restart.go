// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/machinist-dev/machinist/test/scale/measure"
	"github.com/machinist-dev/machinist/test/scale/report"
)

// restartInterval is how often is looked after a restart, and so the resolution of what is measured.
const restartInterval = 100 * time.Millisecond

// restart ends the manager and starts it again, while all Machines are settled.
func (t *trial) restart(ctx context.Context) error {
	requests, err := t.env.Requests(ctx)
	if err != nil {
		return err
	}
	if err := t.manager.stop(); err != nil {
		return err
	}
	before := counters{requests: len(requests)}
	if err := t.startManager(ctx); err != nil {
		return err
	}
	restart := report.Restart{ReadySeconds: time.Since(t.manager.started).Seconds()}
	all := uint64(len(t.members))
	var reconciles measure.Reconciles
	err = poll(ctx, restartInterval, func(ctx context.Context) (bool, error) {
		reconciles, err = t.manager.scrape(ctx, t.subject.reconciles)
		return reconciles.Time.Count >= all, err
	})
	if err != nil {
		return fmt.Errorf("waiting for %d reconciles, found %d: %w", all, reconciles.Time.Count, err)
	}
	// As long as objects are still being listed, reconciles find nothing out; and what is measured next must not begin before
	// the manager is at work.
	if err := t.awaitProviderChange(ctx, t.members[0], "198.51.100.2"); err != nil {
		return err
	}
	restart.AllSeconds = time.Since(t.manager.started).Seconds()
	last, err := t.manager.waitQuiet(ctx, restartInterval)
	if err != nil {
		return err
	}
	restart.QuietSeconds = last.Sub(t.manager.started).Seconds()
	used, err := measure.CPUTime(t.manager.pid)
	if err != nil {
		return err
	}
	restart.CPUSeconds = used.Seconds()
	resident, err := measure.ResidentMemory(t.manager.pid)
	if err != nil {
		return err
	}
	restart.PeakResidentBytes = resident.Peak
	if reconciles, err = t.manager.scrape(ctx, t.subject.reconciles); err != nil {
		return err
	}
	restart.Reconciles = report.Summarize(reconciles)
	if restart.Requests, err = t.requestsSince(ctx, before); err != nil {
		return err
	}
	t.result.Restart = &restart
	return nil
}
