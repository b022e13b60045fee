// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/machinist-dev/machinist/test/scale/measure"
	"github.com/machinist-dev/machinist/test/scale/report"
	"github.com/machinist-dev/machinist/test/simulator/workload"
)

// counters are what a manager has done up to a moment.
type counters struct {
	reconciles measure.Reconciles
	// requests is how many requests the API server had received, from all clients.
	requests int
	workload map[workload.Request]int
}

func (t *trial) counters(ctx context.Context) (counters, error) {
	reconciles, err := t.manager.scrape(ctx, t.subject.reconciles)
	if err != nil {
		return counters{}, err
	}
	requests, err := t.env.Requests(ctx)
	if err != nil {
		return counters{}, err
	}
	return counters{reconciles: reconciles, requests: len(requests), workload: t.simulator.Workload().Requests()}, nil
}

// observe measures what the manager does while do runs, and until it is quiet again. The manager must be quiet now. CPU
// time is counted until do returns; do should leave some time for the manager to finish.
func (t *trial) observe(ctx context.Context, events int, do func(context.Context) error) (report.Activity, error) {
	before, err := t.counters(ctx)
	if err != nil {
		return report.Activity{}, err
	}
	// Read last before and first after, so that our own questions are not in it.
	usedBefore, err := measure.CPUTime(t.manager.pid)
	if err != nil {
		return report.Activity{}, err
	}
	begin := time.Now()
	if err := do(ctx); err != nil {
		return report.Activity{}, err
	}
	seconds := time.Since(begin).Seconds()
	usedAfter, err := measure.CPUTime(t.manager.pid)
	if err != nil {
		return report.Activity{}, err
	}
	if _, err := t.manager.waitQuiet(ctx, quietInterval); err != nil {
		return report.Activity{}, err
	}
	reconciles, err := t.manager.scrape(ctx, t.subject.reconciles)
	if err != nil {
		return report.Activity{}, err
	}
	requests, err := t.requestsSince(ctx, before)
	if err != nil {
		return report.Activity{}, err
	}
	return report.Activity{
		Events:           events,
		Seconds:          seconds,
		TotalSeconds:     time.Since(begin).Seconds(),
		CPUSeconds:       (usedAfter - usedBefore).Seconds(),
		Reconciles:       report.Summarize(reconciles.Since(before.reconciles)),
		Requests:         requests,
		WorkloadRequests: t.workloadRequestsSince(before),
	}, nil
}

// requestsSince counts the manager's requests to the management cluster.
func (t *trial) requestsSince(ctx context.Context, before counters) (measure.Requests, error) {
	requests, err := t.env.Requests(ctx)
	if err != nil {
		return nil, err
	}
	return measure.CountRequests(requests[before.requests:].From(t.subject.userAgent)), nil
}

// workloadRequestsSince counts the manager's requests to the workload clusters. What they were answered is not known.
func (t *trial) workloadRequestsSince(before counters) measure.Requests {
	counts := measure.Requests{}
	for request, count := range t.simulator.Workload().Requests() {
		if count -= before.workload[request]; count == 0 || !strings.HasPrefix(request.UserAgent, t.subject.userAgent) {
			continue
		}
		what := fmt.Sprintf("%s %s", request.Verb, request.Resource)
		counts[what] = measure.Responses{All: counts[what].All + count}
	}
	return counts
}
