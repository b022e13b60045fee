// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// Ownership is the claim of a Machine to the objects that it references.
type Ownership struct {
	Machine *clusterv1.Machine
	// Cluster is that of the Machine; nil if there is none, or if it isn't known.
	Cluster *clusterv1.Cluster
}

// Owner is who an owner reference names, as far as it matters to the claim of a Machine.
type Owner int

const (
	// OwnerItself is the Machine, by its name: its UID is another after a restore from a backup.
	OwnerItself Owner = iota
	OwnerOtherMachine
	// OwnerCreator makes objects for Machines, and gives way to them: a MachineSet, or the control plane of the Cluster if the
	// Machine is of that. Its name doesn't matter, and of no owner does the API version.
	OwnerCreator
	// OwnerStranger does not give way.
	OwnerStranger
	// OwnerUnknown does not give way either, unless it turns out to be the control plane of the Cluster, which is nil.
	OwnerUnknown
)

// Owner says who the reference names. It fails if the reference has no usable API version.
func (o Ownership) Owner(ref *metav1.OwnerReference) (Owner, error) {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return OwnerStranger, fmt.Errorf("owner reference to %s %s: apiVersion %q is not <group>/<version>", ref.Kind, ref.Name, ref.APIVersion)
	}
	kind := schema.GroupKind{Group: gv.Group, Kind: ref.Kind}
	_, controlPlane := o.Machine.Labels[clusterv1.MachineControlPlaneLabel]
	switch {
	case kind == machineKind.GroupKind() && ref.Name == o.Machine.Name:
		return OwnerItself, nil
	case kind == machineKind.GroupKind():
		return OwnerOtherMachine, nil
	case kind == clusterv1.GroupVersion.WithKind("MachineSet").GroupKind():
		return OwnerCreator, nil
	case !controlPlane:
		return OwnerStranger, nil
	case o.Cluster == nil:
		return OwnerUnknown, nil
	case o.Cluster.Spec.ControlPlaneRef.IsDefined() && kind == o.Cluster.Spec.ControlPlaneRef.GroupKind():
		return OwnerCreator, nil
	}
	return OwnerStranger, nil
}

var machineKind = clusterv1.GroupVersion.WithKind("Machine")

// controller is the owner reference that the objects must carry.
func (o Ownership) controller() metav1.OwnerReference {
	return *metav1.NewControllerRef(o.Machine, machineKind)
}
