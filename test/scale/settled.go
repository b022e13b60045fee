// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/machinist-dev/machinist/test/scale/report"
	"github.com/machinist-dev/machinist/test/simulator"
)

// settle measures the manager while nothing happens.
func (t *trial) settle(ctx context.Context) error {
	activity, err := t.observe(ctx, 0, func(ctx context.Context) error { return pause(ctx, t.options.window) })
	if err != nil {
		return err
	}
	footprint, err := t.manager.footprint(ctx)
	if err != nil {
		return err
	}
	t.result.Settled = &report.Settled{Activity: activity, Footprint: footprint}
	return nil
}

// addProviderObjects measures by how much the memory grows with provider objects that no Machine refers to.
func (t *trial) addProviderObjects(ctx context.Context) error {
	// Enough to stand out from what the heap varies by anyway, and no more than a small control plane takes.
	const least, most = 200, 1000
	count := min(max(least, len(t.members)), most)
	before, err := t.manager.footprint(ctx)
	if err != nil {
		return err
	}
	objects, size, err := t.orphans(count)
	if err != nil {
		return err
	}
	if err := simulator.Create(ctx, t.client, parallel, objects...); err != nil {
		return err
	}
	// The informer's watch is in order: when the manager acts on a later change, it has these objects.
	if err := t.awaitProviderChange(ctx, t.members[0], "198.51.100.1"); err != nil {
		return err
	}
	if _, err := t.manager.waitQuiet(ctx, quietInterval); err != nil {
		return err
	}
	after, err := t.manager.footprint(ctx)
	if err != nil {
		return err
	}
	err = paced(ctx, count, 0, parallel, func(ctx context.Context, i int) error { return t.client.Delete(ctx, objects[i]) })
	if err != nil {
		return fmt.Errorf("deleting the objects again: %w", err)
	}
	t.result.ProviderObject = &report.ObjectFootprint{
		Objects:       count,
		ObjectBytes:   size,
		HeapBytes:     float64(after.HeapBytes-before.HeapBytes) / float64(count),
		ResidentBytes: float64(after.ResidentBytes-before.ResidentBytes) / float64(count),
	}
	_, err = t.manager.waitQuiet(ctx, quietInterval)
	return err
}

// orphans builds InfraMachines without Machines, with all of their payload in spec, and returns the size of one.
func (t *trial) orphans(count int) (objects []client.Object, size int, err error) {
	shape := simulator.Shape{Prefix: "orphan", PayloadSize: t.options.PayloadSize}
	for _, object := range simulator.Machines(t.clusters[0], 0, count, shape) {
		if object.GetObjectKind().GroupVersionKind().Kind == simulator.SimMachine.Kind {
			objects = append(objects, object)
		}
	}
	if err := addSize(&size, objects[0]); err != nil {
		return nil, 0, err
	}
	return objects, size, nil
}

// touchMachines changes, on every Machine, an annotation that means nothing, so that each is reconciled without anything
// to do.
func (t *trial) touchMachines(ctx context.Context) (err error) {
	t.result.Unchanged, err = t.storm(ctx, func(ctx context.Context, m *member) error {
		patch, err := mergePatch(map[string]any{"metadata": map[string]any{"annotations": map[string]any{
			"example.com/touched": time.Now().Format(time.RFC3339Nano),
		}}})
		if err != nil {
			return err
		}
		return t.client.Patch(ctx, m.machine(), patch)
	})
	return err
}
