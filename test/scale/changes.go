// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/scale/measure"
	"github.com/machinist-dev/machinist/test/scale/report"
	"github.com/machinist-dev/machinist/test/simulator"
)

const (
	// changeTimeout is when a change that no Machine shows is given up.
	changeTimeout = 5 * time.Second
	// changePause is between two changes, so that each finds everybody idle.
	changePause = 50 * time.Millisecond
)

var errNotShown = errors.New("no change of the Machine was seen in time")

// timeProviderChanges measures the time from a change of an InfraMachine's addresses to that of its Machine's, as two
// watches of ours see them, one change at a time.
func (t *trial) timeProviderChanges(ctx context.Context) error {
	var providers sightings
	stop, err := follow(ctx, t.config, providerObject(simulator.SimMachine, types.NamespacedName{}), nil,
		func(object client.Object, _ bool) { providers.seen(object, time.Now()) })
	if err != nil {
		return fmt.Errorf("watching InfraMachines: %w", err)
	}
	defer stop()
	var took measure.Durations
	lost := 0
	for i := range t.options.samples {
		// Another one each time: a manager may hold back reconciles of the same Machine in quick succession.
		member := t.members[i%len(t.members)]
		latency, err := t.timeProviderChange(ctx, &providers, member, fmt.Sprintf("10.200.%d.%d", i/256%256, i%256))
		switch {
		case errors.Is(err, errNotShown):
			lost++
			took = append(took, changeTimeout) // at least
		case err != nil:
			return err
		default:
			took = append(took, latency)
		}
		if err := pause(ctx, changePause); err != nil {
			return err
		}
	}
	t.result.ProviderChange = &report.Latency{
		Samples: len(took), Lost: lost,
		P50Seconds: took.Quantile(0.5).Seconds(), P99Seconds: took.Quantile(0.99).Seconds(), MaxSeconds: took.Quantile(1).Seconds(),
	}
	return nil
}

func (t *trial) timeProviderChange(ctx context.Context, providers *sightings, m *member, address string) (time.Duration, error) {
	changed := providers.expect(m.key, func(client.Object) bool { return true })
	shown, err := t.changeAddresses(ctx, m, address)
	if err != nil {
		return 0, err
	}
	timeout := time.NewTimer(changeTimeout)
	defer timeout.Stop()
	var from, to time.Time
	for from.IsZero() || to.IsZero() {
		select {
		case from = <-changed:
		case to = <-shown:
		case <-timeout.C:
			return 0, errNotShown
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
	return to.Sub(from), nil
}

// awaitProviderChange makes an InfraMachine report an address, another one each time, and waits until its Machine shows it.
func (t *trial) awaitProviderChange(ctx context.Context, m *member, address string) error {
	shown, err := t.changeAddresses(ctx, m, address)
	if err != nil {
		return err
	}
	select {
	case <-shown:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting until Machine %s shows address %s of its InfraMachine: %w", m.key, address, context.Cause(ctx))
	}
}

// changeAddresses makes an InfraMachine report one address, and returns a channel that gets the moment at which its
// Machine shows it.
func (t *trial) changeAddresses(ctx context.Context, m *member, address string) (shown <-chan time.Time, err error) {
	shown = t.machines.sightings.expect(m.key, func(object client.Object) bool {
		return slices.ContainsFunc(object.(*clusterv1.Machine).Status.Addresses, func(a clusterv1.MachineAddress) bool {
			return a.Address == address
		})
	})
	patch, err := mergePatch(map[string]any{"status": map[string]any{
		"addresses": []map[string]string{{"type": string(clusterv1.MachineExternalIP), "address": address}},
	}})
	if err != nil {
		return nil, err
	}
	if err := t.client.Status().Patch(ctx, providerObject(simulator.SimMachine, m.key), patch); err != nil {
		return nil, fmt.Errorf("changing the addresses of InfraMachine %s: %w", m.key, err)
	}
	return shown, nil
}
