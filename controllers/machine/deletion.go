// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers/external"
)

var deletionCompleted = stage{reason: clusterv1.MachineDeletingDeletionCompletedReason, message: "Deletion completed"}

// reconcileDeletion takes a Machine down. Each step is looked at in each reconcile, and the first that is not done ends it:
// what it waits for, or the time that it asks for, wakes the Machine.
func (r *Reconciler) reconcileDeletion(ctx context.Context, s *scope) error {
	s.deleting = stage{reason: clusterv1.MachineDeletingReason, message: "Deletion started"}
	if !controllerutil.ContainsFinalizer(s.machine, clusterv1.MachineFinalizer) {
		s.deleting = deletionCompleted // what is left is somebody else's finalizer
		return nil
	}
	for _, step := range []func(context.Context, *scope) (done bool, err error){
		r.decideAboutNode,
		r.awaitPreDrainHooks,
		r.knowInfraMachine,
		r.drainNode,
		r.awaitVolumes,
		r.awaitPreTerminateHooks,
		r.deleteInfraMachine,
		r.deleteBootstrapConfig,
		r.deleteNode,
	} {
		if done, err := step(ctx, s); !done || err != nil {
			return err
		}
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

// knowInfraMachine stops the deletion while nobody can tell whether there is an InfraMachine: if there is none, its Node is
// not drained, and a hook that is waited for would even forbid that for good.
func (r *Reconciler) knowInfraMachine(_ context.Context, s *scope) (bool, error) {
	s.infraGoes = s.infra.object == nil || s.infra.object.Deleting()
	if s.infra.object != nil || presumedGone(s.infra.missing, s.infra.problem) {
		return true, nil
	}
	s.waitForInfraMachine(nil)
	return false, nil
}

func (s *scope) waitForInfraMachine(err error) {
	s.deleting.waitFor(clusterv1.MachineDeletingWaitingForInfrastructureDeletionReason, s.machine.Spec.InfrastructureRef.Kind, s.infra.problem, err)
}

func (r *Reconciler) deleteInfraMachine(ctx context.Context, s *scope) (bool, error) {
	gone, err := r.deleteProvided(ctx, s, infraKind(s.machine), s.machine.Spec.InfrastructureRef.Name, s.infra.object, s.infra.missing, s.infra.problem)
	s.infraGoes = s.infraGoes || err == nil // the cache may not say so yet
	if !gone || err != nil {
		s.waitForInfraMachine(err)
	}
	return gone, err
}

func (r *Reconciler) deleteBootstrapConfig(ctx context.Context, s *scope) (bool, error) {
	ref := s.machine.Spec.Bootstrap.ConfigRef
	if !ref.IsDefined() {
		return true, nil
	}
	gone, err := r.deleteProvided(ctx, s, bootstrapKind(s.machine), ref.Name, s.bootstrap.object, s.bootstrap.missing, s.bootstrap.problem)
	if !gone || err != nil {
		s.deleting.waitFor(clusterv1.MachineDeletingWaitingForBootstrapDeletionReason, ref.Kind, s.bootstrap.problem, err)
	}
	return gone, err
}

// presumedGone reports whether, as far as the caches know, there is no object that this Machine would have to delete: it
// does not exist, its kind isn't installed any more, or another owner controls it.
func presumedGone(missing bool, problem error) bool {
	_, owned := errors.AsType[*external.OwnedError](problem)
	return missing || owned || crdMissing(problem) != nil
}

// crdMissing returns the problem if it is that the object's kind isn't installed, nil otherwise.
func crdMissing(problem error) *external.KindError {
	if unreadable, ok := errors.AsType[*external.KindError](problem); ok && unreadable.Problem == external.CRDMissing {
		return unreadable
	}
	return nil
}

// deleteProvided deletes a referenced object and reports whether it is gone. That an object is presumed to be gone is
// believed only from the API server: the cache may not have heard yet of an object that was created, installed or handed
// over a moment ago.
func (r *Reconciler) deleteProvided(ctx context.Context, s *scope, kind external.Kind, name string, object *external.Object, missing bool, problem error) (bool, error) {
	switch {
	case object != nil:
		return false, r.External.Delete(ctx, object)
	case !presumedGone(missing, problem):
		return false, nil
	case r.gone.has(s.machine.UID, kind):
		return true, nil
	}
	gone, err := r.External.Gone(ctx, kind, types.NamespacedName{Namespace: s.machine.Namespace, Name: name}, s.ownership())
	if err == nil && !gone {
		s.wakeAfter(behindRetry)
	}
	if gone {
		r.gone.add(s.machine.UID, kind)
	}
	if unreadable := crdMissing(problem); gone && unreadable != nil {
		r.send(s, eventNote{
			warning: true, reason: string(unreadable.Problem), action: "Delete" + kind.Role.String(),
			note: fmt.Sprintf("%s is taken to be gone: %s. If it stood for a machine, that may still exist", kind.Kind, unreadable.Message),
		})
	}
	return gone, err
}
