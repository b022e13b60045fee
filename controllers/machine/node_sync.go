// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"errors"
	"fmt"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers/machine/nodesync"
	"github.com/machinist-dev/machinist/controllers/status"
	"github.com/machinist-dev/machinist/controllers/workload"
)

// syncNode gives the Node of the scope what the Machine asks for, in one patch or in none.
func (r *Reconciler) syncNode(ctx context.Context, s *scope, connection *workload.Connection) error {
	node := s.node.node
	want := r.NodeRules.Want(s.machine)
	if s.infra.object != nil && s.infra.problem == nil {
		want.Interruptible = new(s.infra.fields.Interruptible())
	}
	var unread error
	want.OutdatedRevision, unread = r.Revisions.Outdated(s.machine)
	desired, problem := nodesync.Desired(node, want)
	if err := errors.Join(unread, problem); err != nil {
		s.warning("FailedSyncNode", "SyncNode", err.Error()) // only a change of these objects can help, and wakes the Machine
	}
	if desired == nil {
		return nil
	}
	patched, err := connection.PatchNode(ctx, node, desired)
	if errors.Is(err, workload.ErrNotConnected) {
		return nil // the Machine is woken when the cluster answers again
	}
	if err != nil {
		if !errors.Is(err, workload.ErrBehind) {
			s.warning("FailedSyncNode", "PatchNode", err.Error())
		}
		return fmt.Errorf("failed to reconcile Node %s: %w", node.Name, err)
	}
	_, before := node.Labels[clusterv1.InterruptibleLabel]
	if _, now := desired.Labels[clusterv1.InterruptibleLabel]; now && !before {
		r.send(s, eventNote{reason: "SuccessfulSetInterruptibleNodeLabel", action: "SetNodeLabel", note: node.Name})
	}
	s.node.node = patched
	return nil
}

// warnOfLookup sends an event when the Node can't be looked up for a reason that the Machine did not have before.
func warnOfLookup(s *scope) {
	before := status.Get(s.stored, clusterv1.MachineNodeReadyCondition)
	if before == nil || before.Message != s.node.err.Error() {
		// The reason is Cluster API's, spaces and all.
		s.warning("Failed to retrieve Node by ProviderID", "GetNode", s.node.err.Error())
	}
}
