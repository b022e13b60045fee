// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/machinist-dev/machinist/test/environment"
	"github.com/machinist-dev/machinist/test/scale/measure"
	"github.com/machinist-dev/machinist/test/scale/report"
)

const (
	// readyTimeout bounds the start of a manager.
	readyTimeout = 2 * time.Minute
	// readyInterval is how often a starting manager is asked whether it is ready.
	readyInterval = 50 * time.Millisecond
	// quietTime is how long a manager must have done nothing before it counts as settled. A Machine that waits for longer
	// with nothing else happening would be overlooked.
	quietTime = 4 * time.Second
	// quietInterval is how often is looked meanwhile, if nothing depends on it.
	quietInterval = time.Second
)

// manager is a running manager.
type manager struct {
	*process
	subject subject
	serves  addresses
}

// startManager starts a manager and returns when it is ready.
func startManager(ctx context.Context, options options, subject subject, kubeconfig, log string) (*manager, error) {
	var serves addresses
	for _, address := range []*netip.AddrPort{&serves.health, &serves.metrics, &serves.profiler, &serves.webhooks} {
		var err error
		if *address, err = environment.FreeAddress(ctx); err != nil {
			return nil, err
		}
	}
	process, err := startProcess(ctx, log, subject.binary, subject.arguments(options, kubeconfig, serves)...)
	if err != nil {
		return nil, err
	}
	m := &manager{process: process, subject: subject, serves: serves}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	err = poll(ctx, readyInterval, func(ctx context.Context) (bool, error) { return m.ready(ctx), m.alive() })
	if err != nil && m.alive() == nil {
		err = errors.Join(fmt.Errorf("%w; %s", err, m.logTail()), m.stop())
	}
	if err != nil {
		return nil, fmt.Errorf("waiting until it is ready: %w", err)
	}
	return m, nil
}

func (m *manager) ready(ctx context.Context) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.serves.health.String()+"/readyz", http.NoBody)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close() // only the status matters
	return response.StatusCode == http.StatusOK
}

func (m *manager) scrape(ctx context.Context, metrics measure.ReconcileMetrics) (measure.Reconciles, error) {
	reconciles, err := measure.ScrapeReconciles(ctx, "http://"+m.serves.metrics.String()+"/metrics", metrics)
	if err != nil {
		return reconciles, errors.Join(m.alive(), err)
	}
	return reconciles, nil
}

// footprint reads the resident memory before the live heap: reading that one makes the process collect its garbage.
func (m *manager) footprint(ctx context.Context) (report.Footprint, error) {
	resident, err := measure.ResidentMemory(m.pid)
	if err != nil {
		return report.Footprint{}, err
	}
	heap, err := measure.LiveHeap(ctx, m.serves.profiler.String())
	if err != nil {
		return report.Footprint{}, err
	}
	return report.Footprint{HeapBytes: heap, ResidentBytes: resident.Now, PeakResidentBytes: resident.Peak}, nil
}

// waitQuiet returns when no worker has turned to a Machine for quietTime, with the moment of the last change that it saw.
// Each look costs the manager some milliseconds of CPU.
func (m *manager) waitQuiet(ctx context.Context, interval time.Duration) (last time.Time, err error) {
	last = time.Now()
	var seen uint64
	err = poll(ctx, interval, func(ctx context.Context) (bool, error) {
		turns, err := m.scrape(ctx, m.subject.turns)
		if err != nil {
			return false, err
		}
		if turns.Time.Count != seen {
			seen, last = turns.Time.Count, time.Now()
		}
		return time.Since(last) >= quietTime, nil
	})
	if err != nil {
		return last, fmt.Errorf("waiting until it has nothing to do for %s: %w", quietTime, err)
	}
	return last, nil
}
