// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/simulator/workload"
)

// setUpHeartbeats changes, at each interval, a field of every object of the kind that no contract knows.
func (s *Simulator) setUpHeartbeats(p *provider) error {
	if s.options.HeartbeatInterval == 0 {
		return nil
	}
	return s.manager.Add(manager.RunnableFunc(func(ctx context.Context) error {
		beat(ctx, s.options.HeartbeatInterval, func() []metav1.PartialObjectMetadata { return p.list(ctx) }, p.heartbeat)
		return nil
	}))
}

func (p *provider) heartbeat(ctx context.Context, obj metav1.PartialObjectMetadata) {
	patch, err := mergePatch(map[string]any{"status": map[string]any{"heartbeat": time.Now().UTC().Format(time.RFC3339Nano)}})
	if err == nil {
		err = p.client.Status().Patch(ctx, p.empty(client.ObjectKeyFromObject(&obj)), patch)
	}
	if client.IgnoreNotFound(err) != nil && ctx.Err() == nil {
		p.manager.GetLogger().Error(err, "Heartbeat of a provider object", "kind", p.kind, "object", client.ObjectKeyFromObject(&obj))
	}
}

// setUpNodeHeartbeats does to every Node what its kubelet does.
func (s *Simulator) setUpNodeHeartbeats() error {
	if s.options.NodeHeartbeatInterval == 0 {
		return nil
	}
	return s.manager.Add(manager.RunnableFunc(func(ctx context.Context) error {
		beat(ctx, s.options.NodeHeartbeatInterval, func() []clusterv1.Machine {
			machines := &clusterv1.MachineList{}
			if err := s.client.List(ctx, machines, client.UnsafeDisableDeepCopy); err != nil && ctx.Err() == nil {
				s.manager.GetLogger().Error(err, "List Machines")
			}
			return machines.Items
		}, s.nodeHeartbeat)
		return nil
	}))
}

// nodeHeartbeat does nothing for a Machine without a Node.
func (s *Simulator) nodeHeartbeat(_ context.Context, machine clusterv1.Machine) {
	cluster, found := s.workload.Cluster(clusterKeyOf(&machine))
	if !found {
		return
	}
	now := metav1.Now().Rfc3339Copy()
	err := workload.Update(cluster, types.NamespacedName{Name: machine.Name}, func(node *corev1.Node) {
		for i := range node.Status.Conditions {
			node.Status.Conditions[i].LastHeartbeatTime = now
		}
	})
	if err != nil && !apierrors.IsNotFound(err) {
		s.manager.GetLogger().Error(err, "Heartbeat of a Node", "node", machine.Name)
	}
}

// beat calls do for each item once per interval, one after another at an even pace, so that heartbeats are a steady load
// and not a burst. It returns when the context ends.
func beat[T any](ctx context.Context, interval time.Duration, items func() []T, do func(context.Context, T)) {
	timer := time.NewTimer(interval)
	defer timer.Stop()
	pause := func(d time.Duration) bool {
		timer.Reset(d)
		select {
		case <-timer.C:
			return true
		case <-ctx.Done():
			return false
		}
	}
	for {
		round := items()
		if len(round) == 0 {
			if !pause(interval) {
				return
			}
			continue
		}
		begin := time.Now()
		for i, item := range round {
			if !pause(time.Until(begin.Add(interval * time.Duration(i+1) / time.Duration(len(round))))) {
				return
			}
			do(ctx, item)
		}
	}
}
