// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/scale/measure"
	"github.com/machinist-dev/machinist/test/scale/report"
)

// stateInterval is how often the state of all Machines is looked at. The moments that count are recorded by a watch.
const stateInterval = 100 * time.Millisecond

// idle measures the manager before there is any Machine.
func (t *trial) idle(ctx context.Context) error {
	err := poll(ctx, stateInterval, func(ctx context.Context) (bool, error) {
		var clusters clusterv1.ClusterList
		if err := t.client.List(ctx, &clusters, client.InNamespace(namespace)); err != nil {
			return false, err
		}
		for i := range clusters.Items {
			if provisioned := clusters.Items[i].Status.Initialization.InfrastructureProvisioned; provisioned == nil || !*provisioned {
				return false, t.manager.alive()
			}
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("waiting until the infrastructure of all Clusters is provisioned: %w", err)
	}
	// A manager may look at its Clusters again and again before it connects to them.
	const connect = 12 * time.Second
	if err := pause(ctx, connect); err != nil {
		return err
	}
	footprint, err := t.manager.footprint(ctx)
	t.result.Idle = &footprint
	return err
}

// provision creates all Machines and waits until they are Running.
func (t *trial) provision(ctx context.Context) error {
	var provisioning report.Provisioning
	activity, err := t.observe(ctx, len(t.members), func(ctx context.Context) error {
		begin := time.Now()
		err := paced(ctx, len(t.members), t.options.MachinesPerSecond, parallel, func(ctx context.Context, i int) error {
			return t.members[i].create(ctx, t.client)
		})
		if err != nil {
			return err
		}
		provisioning.CreatedSeconds = time.Since(begin).Seconds()
		err = poll(ctx, stateInterval, func(context.Context) (bool, error) {
			_, running := t.machines.counts()
			return running == len(t.members), t.manager.alive()
		})
		if err != nil {
			_, running := t.machines.counts()
			return fmt.Errorf("%w: %d of %d Machines were Running", err, running, len(t.members))
		}
		provisioning.RunningSeconds = t.lastRunning().Sub(begin).Seconds()
		_, err = t.manager.waitQuiet(ctx, quietInterval)
		return err
	})
	if err != nil {
		return err
	}
	var took measure.Durations
	for _, m := range t.members {
		took = append(took, t.machines.runningSince(m.key).Sub(m.created))
	}
	provisioning.Activity = activity
	provisioning.P50Seconds, provisioning.P99Seconds = took.Quantile(0.5).Seconds(), took.Quantile(0.99).Seconds()
	if provisioning.Sizes, err = t.sizes(ctx, t.members); err != nil {
		return err
	}
	t.result.Provisioning = &provisioning
	return nil
}

func (t *trial) lastRunning() (last time.Time) {
	for _, m := range t.members {
		if at := t.machines.runningSince(m.key); at.After(last) {
			last = at
		}
	}
	return last
}

// deleteMachines deletes all Machines and waits until they are gone.
func (t *trial) deleteMachines(ctx context.Context) error {
	var deletion report.Deletion
	activity, err := t.observe(ctx, len(t.members), func(ctx context.Context) error {
		begin := time.Now()
		err := paced(ctx, len(t.members), t.options.MachinesPerSecond, parallel, func(ctx context.Context, i int) error {
			return t.client.Delete(ctx, t.members[i].machine())
		})
		if err != nil {
			return err
		}
		err = poll(ctx, stateInterval, func(context.Context) (bool, error) {
			present, _ := t.machines.counts()
			return present == 0, t.manager.alive()
		})
		if err != nil {
			present, _ := t.machines.counts()
			return fmt.Errorf("%w: %d of %d Machines were left", err, present, len(t.members))
		}
		deletion.GoneSeconds = time.Since(begin).Seconds()
		return nil
	})
	if err != nil {
		return err
	}
	deletion.Activity = activity
	t.result.Deletion = &deletion
	return nil
}
