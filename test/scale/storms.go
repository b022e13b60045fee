// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/machinist-dev/machinist/test/scale/report"
	"github.com/machinist-dev/machinist/test/simulator"
	"github.com/machinist-dev/machinist/test/simulator/workload"
)

const (
	// mostPerSecond is the pace of a storm, if there are enough Machines: that of thousands of objects that change every minute.
	mostPerSecond = 100
	// leastPause is the time between two events of one Machine: a manager may hold back reconciles in quick succession.
	leastPause = 2 * time.Second
	// afterwards is left for the manager to finish.
	afterwards = 2 * time.Second
)

// beatProviderObjects changes, in every InfraMachine, a field of status that the contract does not know.
func (t *trial) beatProviderObjects(ctx context.Context) (err error) {
	t.result.ProviderHeartbeats, err = t.storm(ctx, func(ctx context.Context, m *member) error {
		patch, err := mergePatch(map[string]any{"status": map[string]any{"heartbeat": time.Now().UTC().Format(time.RFC3339Nano)}})
		if err != nil {
			return err
		}
		return t.client.Status().Patch(ctx, providerObject(simulator.SimMachine, m.key), patch)
	})
	return err
}

// beatNodes does to every Node what its kubelet does when nothing has changed.
func (t *trial) beatNodes(ctx context.Context) (err error) {
	t.result.NodeHeartbeats, err = t.storm(ctx, func(_ context.Context, m *member) error {
		cluster, err := t.workloadCluster(m)
		if err != nil {
			return err
		}
		now := metav1.Now()
		return workload.Update(cluster, types.NamespacedName{Name: m.key.Name}, func(node *corev1.Node) {
			for i := range node.Status.Conditions {
				node.Status.Conditions[i].LastHeartbeatTime = now
			}
		})
	})
	return err
}

// storm does something to every member, or several times if they are few, at a steady pace, and measures what that makes
// the manager do.
func (t *trial) storm(ctx context.Context, do func(context.Context, *member) error) (*report.Activity, error) {
	count := max(t.options.samples, len(t.members))
	pace := min(mostPerSecond, float64(len(t.members))/leastPause.Seconds())
	activity, err := t.observe(ctx, count, func(ctx context.Context) error {
		err := paced(ctx, count, pace, parallel, func(ctx context.Context, i int) error {
			return do(ctx, t.members[i%len(t.members)])
		})
		if err != nil {
			return err
		}
		return pause(ctx, afterwards)
	})
	return &activity, err
}
