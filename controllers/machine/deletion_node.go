// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers/workload"
)

// nodeRetry is the time between two attempts to delete a Node that could not be deleted.
const nodeRetry = 5 * time.Second

// decideAboutNode finds out whether the Node is drained and deleted; see nodeMustGo.
func (r *Reconciler) decideAboutNode(ctx context.Context, s *scope) (bool, error) {
	var err error
	if s.nodeGoes, err = r.nodeMustGo(ctx, s); err != nil {
		s.deleting = stage{reason: clusterv1.MachineDeletingInternalErrorReason, message: "Can't tell whether the Node has to go, too: " + err.Error()}
	}
	return err == nil, retriable(err)
}

// nodeMustGo is false if there is no Node, or if nobody needs it to go because the workload cluster goes: the Cluster or its
// control plane is gone or being deleted, or all of its control plane Machines are. A control plane that runs on no Machines
// keeps its Nodes in any case.
func (r *Reconciler) nodeMustGo(ctx context.Context, s *scope) (bool, error) {
	if !s.machine.Status.NodeRef.IsDefined() || s.cluster == nil || !s.cluster.DeletionTimestamp.IsZero() {
		return false, nil
	}
	if says, err := r.askControlPlane(s); err != nil || says != controlPlaneSilent {
		return says == controlPlaneStays, err
	}
	return r.hasControlPlane(ctx, s)
}

// hasControlPlane reports whether the Cluster has a control plane Machine that is not being deleted. The cache has only the
// Machines of our own share if there is a watch filter: if it has none that stays, the API server is asked for the others.
func (r *Reconciler) hasControlPlane(ctx context.Context, s *scope) (bool, error) {
	stays := func(reader client.Reader, options ...client.ListOption) (bool, error) {
		machines := &clusterv1.MachineList{}
		if err := reader.List(ctx, machines, append(options, client.InNamespace(s.machine.Namespace))...); err != nil {
			return false, fmt.Errorf("listing the control plane Machines of Cluster %s: %w", s.clusterKey(), err)
		}
		return slices.ContainsFunc(machines.Items, func(m clusterv1.Machine) bool {
			return m.Spec.ClusterName == s.machine.Spec.ClusterName && m.DeletionTimestamp.IsZero()
		}), nil
	}
	found, err := stays(r.Client, client.MatchingFields{indexControlPlane: s.machine.Spec.ClusterName}, client.UnsafeDisableDeepCopy)
	if found || err != nil || r.WatchFilter == "" {
		return found, err
	}
	return stays(r.Live, client.HasLabels{clusterv1.MachineControlPlaneLabel})
}

// deleteNode deletes the Node and reports whether the deletion is done with it. It gives up when
// spec.deletion.nodeDeletionTimeoutSeconds have passed since the deletion of the Machine began; 0 or unset is never.
func (r *Reconciler) deleteNode(ctx context.Context, s *scope) (bool, error) {
	if !s.nodeGoes {
		return true, nil
	}
	err := r.tryDeleteNode(ctx, s)
	if err == nil {
		return true, nil
	}
	s.nodeDeletionFailed = true
	s.warning("FailedDeleteNode", "DeleteNode", fmt.Sprintf("error deleting Machine's Node: %v", err))
	if r.outOfReach(s, err) {
		return true, nil
	}
	if timeout := s.machine.Spec.Deletion.NodeDeletionTimeoutSeconds; timeout != nil && *timeout > 0 {
		left := time.Duration(*timeout)*time.Second - s.now.Sub(s.machine.DeletionTimestamp.Time)
		if left <= 0 {
			return true, nil
		}
		s.wakeAfter(left)
	}
	s.deleting = stage{reason: clusterv1.MachineDeletingDeletingNodeReason, message: fmt.Sprintf("Error deleting Node %s: %v", s.machine.Status.NodeRef.Name, err)}
	s.wakeAfter(nodeRetry)
	return false, nil
}

func (r *Reconciler) tryDeleteNode(ctx context.Context, s *scope) error {
	connection, err := r.Workload.Get(s.cluster)
	if err != nil {
		return err
	}
	return connection.DeleteNode(ctx, s.machine.Status.NodeRef.Name)
}

// outOfReach reports whether the error of Workload.Get means that nobody can reach the workload cluster: there is no
// kubeconfig, and several attempts to reach it have failed, so that the Secret isn't just being replaced. Other errors may
// pass.
func (r *Reconciler) outOfReach(s *scope, err error) bool {
	return errors.Is(err, workload.ErrNoKubeconfig) && r.Workload.Health(s.clusterKey()).Failures >= workload.ProbeFailures
}
