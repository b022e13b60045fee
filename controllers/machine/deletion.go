// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers/external"
)

var deletionCompleted = stage{reason: clusterv1.MachineDeletingDeletionCompletedReason, message: "Deletion completed"}

// reconcileDeletion takes a Machine down: the InfraMachine first, when that is gone the BootstrapConfig, then the Node,
// then the finalizer. Each step returns while it waits; what it waits for wakes the Machine.
func (r *Reconciler) reconcileDeletion(ctx context.Context, s *scope) error {
	s.deleting = stage{reason: clusterv1.MachineDeletingReason, message: "Deletion started"}
	if !controllerutil.ContainsFinalizer(s.machine, clusterv1.MachineFinalizer) {
		s.deleting = deletionCompleted // what is left is somebody else's finalizer
		return nil
	}
	infra := infraKind(s.machine)
	gone, err := r.deleteProvided(ctx, s, infra, s.machine.Spec.InfrastructureRef.Name, s.infra.object, s.infra.missing, s.infra.problem)
	if !gone || err != nil {
		s.deleting.waitFor(clusterv1.MachineDeletingWaitingForInfrastructureDeletionReason, infra.Kind, s.infra.problem, err)
		return err
	}
	if ref := s.machine.Spec.Bootstrap.ConfigRef; ref.IsDefined() {
		config := bootstrapKind(s.machine)
		gone, err := r.deleteProvided(ctx, s, config, ref.Name, s.bootstrap.object, s.bootstrap.missing, s.bootstrap.problem)
		if !gone || err != nil {
			s.deleting.waitFor(clusterv1.MachineDeletingWaitingForBootstrapDeletionReason, config.Kind, s.bootstrap.problem, err)
			return err
		}
	}
	if gone, err := r.deleteNode(ctx, s); !gone || err != nil {
		return err
	}
	s.deleting = deletionCompleted
	controllerutil.RemoveFinalizer(s.machine, clusterv1.MachineFinalizer)
	return nil
}

// waitFor says which object the deletion waits for, and why it may take long.
func (d *stage) waitFor(reason, kind string, problem, err error) {
	*d = stage{reason: reason, message: fmt.Sprintf("Waiting for %s to be deleted", kind)}
	switch {
	case err != nil:
		*d = stage{reason: clusterv1.MachineDeletingInternalErrorReason, message: fmt.Sprintf("Failed to delete %s: %v", kind, err)}
	case problem != nil:
		d.message += ": " + problem.Error()
	}
}

// deleteProvided deletes a referenced object and reports whether it is gone.
//
// An object that another owner controls isn't ours to delete and counts as gone. That is, like that there is no object,
// believed only from the API server: the cache may not have heard yet of an object that was created, installed or handed
// over a moment ago.
func (r *Reconciler) deleteProvided(ctx context.Context, s *scope, kind external.Kind, name string, object *external.Object, missing bool, problem error) (bool, error) {
	var owned *external.OwnedError
	var unreadable *external.KindError
	switch {
	case object != nil:
		return false, r.External.Delete(ctx, object)
	case missing, errors.As(problem, &owned), errors.As(problem, &unreadable) && unreadable.Problem == external.CRDMissing:
		if r.gone.has(s.machine.UID, kind) {
			return true, nil
		}
		gone, err := r.External.Gone(ctx, kind, types.NamespacedName{Namespace: s.machine.Namespace, Name: name}, s.ownership())
		if err == nil && !gone {
			s.wakeAfter(behindRetry)
		}
		if gone {
			r.gone.add(s.machine.UID, kind)
		}
		if gone && unreadable != nil {
			s.warning(string(unreadable.Problem), "Delete", fmt.Sprintf("%s is taken to be gone: %s. If it stood for a machine, that may still exist", kind.Kind, unreadable.Message))
		}
		return gone, err
	default:
		return false, nil
	}
}

// nodeRetry is the time between two attempts to delete a Node that could not be deleted.
const nodeRetry = 5 * time.Second

// deleteNode deletes the Node and reports whether the deletion is done with it. It gives up when
// spec.deletion.nodeDeletionTimeoutSeconds have passed since the deletion of the Machine began; 0 or unset is never.
func (r *Reconciler) deleteNode(ctx context.Context, s *scope) (bool, error) {
	needed, err := r.nodeMustBeDeleted(ctx, s)
	if err != nil {
		s.deleting = stage{reason: clusterv1.MachineDeletingInternalErrorReason, message: "Can't tell whether the Node has to go, too: " + err.Error()}
	}
	if !needed || err != nil {
		return err == nil, retriable(err)
	}
	err = r.tryDeleteNode(ctx, s)
	if err == nil {
		return true, nil
	}
	s.nodeDeletionFailed = true
	s.warning("FailedDeleteNode", "DeleteNode", fmt.Sprintf("error deleting Machine's Node: %v", err))
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

// nodeMustBeDeleted is false if there is no Node, or if nobody needs it to go because the workload cluster goes: the Cluster
// or its control plane is gone or being deleted, or all of its control plane Machines are. A control plane that runs on no
// Machines keeps its Nodes in any case.
func (r *Reconciler) nodeMustBeDeleted(ctx context.Context, s *scope) (bool, error) {
	if !s.machine.Status.NodeRef.IsDefined() || s.cluster == nil || !s.cluster.DeletionTimestamp.IsZero() {
		return false, nil
	}
	if says, err := r.askControlPlane(s); err != nil || says != controlPlaneSilent {
		return says == controlPlaneStays, err
	}
	machines := &clusterv1.MachineList{}
	err := r.Client.List(ctx, machines, client.UnsafeDisableDeepCopy,
		client.InNamespace(s.machine.Namespace), client.MatchingFields{indexControlPlane: s.machine.Spec.ClusterName})
	if err != nil {
		return false, fmt.Errorf("listing the control plane Machines of Cluster %s: %w", s.clusterKey(), err)
	}
	for i := range machines.Items {
		if machines.Items[i].DeletionTimestamp.IsZero() {
			return true, nil
		}
	}
	return false, nil
}
