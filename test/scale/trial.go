// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/machinist-dev/machinist/test/scale/report"
)

// trial is the measurement of one manager.
type trial struct {
	*world
	manager *manager
	options options
	subject subject
	members []*member
	starts  int
	result  report.Result
}

// progressInterval is how often a phase tells that it goes on.
const progressInterval = 10 * time.Second

// phase is something that is done to a manager, and measured. Each needs those before it.
type phase struct {
	name string
	do   func(*trial, context.Context) error
	// base and perMachine bound how long it may take.
	base, perMachine time.Duration
}

// phases are in the order in which they run.
var phases = []phase{
	{"idle, no Machines", (*trial).idle, 2 * time.Minute, 0},
	{"provisioning", (*trial).provision, 5 * time.Minute, time.Second},
	{"settled", (*trial).settle, 10 * time.Minute, 0},
	{"memory of provider objects", (*trial).addProviderObjects, 5 * time.Minute, 100 * time.Millisecond},
	{"unchanged Machines", (*trial).touchMachines, 5 * time.Minute, 100 * time.Millisecond},
	{"heartbeats of provider objects", (*trial).beatProviderObjects, 5 * time.Minute, 100 * time.Millisecond},
	{"heartbeats of Nodes", (*trial).beatNodes, 5 * time.Minute, 100 * time.Millisecond},
	{"provider changes", (*trial).timeProviderChanges, 10 * time.Minute, 0},
	{"restart", (*trial).restart, 5 * time.Minute, 200 * time.Millisecond},
	{"deletion", (*trial).deleteMachines, 5 * time.Minute, time.Second},
}

// measureSubject measures a manager in a world of its own. After an error the result has what was measured before.
func measureSubject(ctx context.Context, options options, subject subject) (_ report.Result, kubernetes string, err error) {
	say("%s %s: starting a control plane", subject.name, subject.version)
	w, err := startWorld(ctx, options, subject)
	t := &trial{
		world: w, options: options, subject: subject, result: report.Result{Manager: subject.name, Version: subject.version},
	}
	defer func() {
		if t.manager != nil {
			err = errors.Join(err, t.manager.stop())
		}
		err = errors.Join(err, w.stop())
	}()
	if err != nil {
		return t.result, w.kubernetes, err
	}
	t.members = populate(t.clusters, options.Settings)
	if err := t.startManager(ctx); err != nil {
		return t.result, t.kubernetes, err
	}
	for _, phase := range phases {
		if err := t.measure(ctx, phase); err != nil {
			return t.result, t.kubernetes, fmt.Errorf("%s: %w", phase.name, err)
		}
	}
	return t.result, t.kubernetes, nil
}

// measure runs a phase until its deadline at the latest.
func (t *trial) measure(ctx context.Context, phase phase) error {
	say("%s: %s", t.subject.name, phase.name)
	limit := phase.base + time.Duration(t.options.Machines)*phase.perMachine
	ctx, cancel := withDeadline(ctx, limit, phase.name)
	defer cancel()
	begin := time.Now()
	go func() {
		for pause(ctx, progressInterval) == nil {
			present, running := t.machines.counts()
			say("  %3.0f s: %d Machines, %d have been Running", time.Since(begin).Seconds(), present, running)
		}
	}()
	if err := phase.do(t, ctx); err != nil {
		return err
	}
	say("%s: %s took %.1f s", t.subject.name, phase.name, time.Since(begin).Seconds())
	return nil
}

// startManager starts the manager, or starts it again.
func (t *trial) startManager(ctx context.Context) (err error) {
	t.starts++
	name := strings.ReplaceAll(strings.ToLower(t.subject.name), " ", "-")
	log := filepath.Join(t.options.logs, fmt.Sprintf("%s-%d.log", name, t.starts))
	t.manager, err = startManager(ctx, t.options, t.subject, t.env.KubeconfigPath, log)
	return err
}
