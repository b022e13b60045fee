// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/machinist-dev/machinist/controllers/external"
)

// controlPlaneSays is what the control plane object of a Cluster says about the Nodes of Machines that go.
type controlPlaneSays int

const (
	// controlPlaneSilent: there is no such object, or it leaves the answer to the control plane Machines.
	controlPlaneSilent controlPlaneSays = iota
	// controlPlaneGoes: the whole cluster goes, and nobody will miss a Node.
	controlPlaneGoes
	// controlPlaneStays: it runs on no Machines, so that it stays when none of them does.
	controlPlaneStays
)

// asksControlPlane reports whether the control plane object decides what becomes of the Node: when both Machine and Node
// would go, in a Cluster that stays. No other Machine reads that object, so the first one that does starts its informer.
func (s *scope) asksControlPlane() bool {
	return s.isDeleting() && s.machine.Status.NodeRef.IsDefined() &&
		s.cluster != nil && s.cluster.DeletionTimestamp.IsZero() && s.cluster.Spec.ControlPlaneRef.IsDefined()
}

// askControlPlane reads the object of Cluster.spec.controlPlaneRef from memory. An object that does not exist, like one of a
// kind that is not installed any more, leaves the answer to the Machines: a deletion must not wait for it.
//
// The error says why nothing can be known at the moment. Whether it should be retried is up to retriable: a change of the
// object, or of its kind, wakes the Machine.
func (r *Reconciler) askControlPlane(s *scope) (controlPlaneSays, error) {
	if !s.asksControlPlane() {
		return controlPlaneSilent, nil
	}
	kind := controlPlaneKind(s.cluster)
	object, err := r.External.Get(kind, types.NamespacedName{Namespace: s.cluster.Namespace, Name: s.cluster.Spec.ControlPlaneRef.Name})
	return readControlPlane(kind, object, err)
}

func readControlPlane(kind external.Kind, object *external.Object, err error) (controlPlaneSays, error) {
	unreadable, isKind := errors.AsType[*external.KindError](err)
	switch {
	case apierrors.IsNotFound(err), isKind && unreadable.Problem == external.CRDMissing:
		return controlPlaneSilent, nil
	case err != nil:
		return controlPlaneSilent, fmt.Errorf("reading the control plane object: %w", err)
	case object.Deleting():
		return controlPlaneGoes, nil
	}
	fields, err := object.ControlPlane()
	switch {
	case err != nil:
		return controlPlaneSilent, fmt.Errorf("reading %s %s: %w", kind.Kind, object.Key(), err)
	case fields.ExternallyManaged():
		return controlPlaneStays, nil
	}
	return controlPlaneSilent, nil
}
