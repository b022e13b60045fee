// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// reconcileOwner gives the Machine its finalizer, its cluster label and, if nobody controls it, an owner reference to
// its Cluster. All three are written at once and before anything else is touched, so that a Machine whose objects were
// adopted is never gone before them.
func (r *Reconciler) reconcileOwner(ctx context.Context, s *scope) error {
	if !s.isDeleting() {
		controllerutil.AddFinalizer(s.machine, clusterv1.MachineFinalizer)
	}
	if s.machine.Labels[clusterv1.ClusterNameLabel] != s.machine.Spec.ClusterName {
		if s.machine.Labels == nil {
			s.machine.Labels = map[string]string{}
		}
		s.machine.Labels[clusterv1.ClusterNameLabel] = s.machine.Spec.ClusterName
	}
	if s.cluster != nil && isStandAlone(s.machine) {
		s.machine.OwnerReferences = append(s.machine.OwnerReferences, metav1.OwnerReference{
			APIVersion: clusterv1.GroupVersion.String(),
			Kind:       clusterv1.ClusterKind,
			Name:       s.cluster.Name,
			UID:        s.cluster.UID,
		})
	}
	return r.writeMachine(ctx, s)
}

// isStandAlone reports whether the Cluster should own the Machine itself: no controller does, no Cluster does yet, and
// no label says that a MachineSet, a MachinePool or a control plane is about to adopt it.
func isStandAlone(machine *clusterv1.Machine) bool {
	if metav1.GetControllerOfNoCopy(machine) != nil {
		return false
	}
	for _, label := range []string{clusterv1.MachineSetNameLabel, clusterv1.MachinePoolNameLabel, clusterv1.MachineControlPlaneNameLabel} {
		if _, ok := machine.Labels[label]; ok {
			return false
		}
	}
	for _, ref := range machine.OwnerReferences {
		gv, err := schema.ParseGroupVersion(ref.APIVersion)
		if err == nil && gv.Group == clusterv1.GroupVersion.Group && ref.Kind == clusterv1.ClusterKind {
			return false
		}
	}
	return true
}
