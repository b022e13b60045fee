// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package references

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// objectOfOtherCluster is R6. The controller would overwrite the label, and later delete a machine of the other Cluster.
func objectOfOtherCluster(ctx context.Context, r *request, p *part) (string, error) {
	ref, object, err := r.object(ctx, p)
	if err != nil || object == nil {
		return "", err
	}
	owner := object.Labels[clusterv1.ClusterNameLabel]
	if owner == "" || owner == r.now.Spec.ClusterName {
		return "", nil
	}
	return "is labelled for another Cluster" + r.revealed(ctx, ref, owner), nil
}

// objectOfOtherMachine is R7.
func objectOfOtherMachine(ctx context.Context, r *request, p *part) (string, error) {
	ref, owner, err := r.controller(ctx, p, ofOtherMachine)
	if err != nil || owner == nil {
		return "", err
	}
	exists, err := r.machineExists(ctx, owner.Name)
	if err != nil || !exists {
		return "", err
	}
	return "is controlled by another Machine" + r.revealed(ctx, ref, owner.Name), nil
}

// objectOfGoneMachine is R7a. The controller goes by the reference; whether its owner exists is for garbage collection.
func objectOfGoneMachine(ctx context.Context, r *request, p *part) (string, error) {
	ref, owner, err := r.controller(ctx, p, ofOtherMachine)
	if err != nil || owner == nil {
		return "", err
	}
	exists, err := r.machineExists(ctx, owner.Name)
	if err != nil || exists {
		return "", err
	}
	return "is controlled by a Machine that is gone: remove its owner reference" + r.revealed(ctx, ref, owner.Name), nil
}

// objectOfStranger is R7d.
func objectOfStranger(ctx context.Context, r *request, p *part) (string, error) {
	ref, owner, err := r.controller(ctx, p, ofStranger)
	if err != nil || owner == nil {
		return "", err
	}
	return "is controlled by an object that does not give way to a Machine" + r.revealed(ctx, ref, owner.Kind+" "+owner.Name), nil
}

// leavingObject is R22.
func leavingObject(ctx context.Context, r *request, p *part) (string, error) {
	_, object, err := r.object(ctx, p)
	if err != nil || object == nil || object.DeletionTimestamp.IsZero() {
		return "", err
	}
	return "is being deleted", nil
}

// owners are who may control an object, as far as rules tell them apart.
type owners int

const (
	// ofMachine is the Machine itself, by name: after a restore its UID is another (R7b).
	ofMachine owners = iota
	ofOtherMachine
	// ofCreator is who makes objects for Machines and gives way to them (R7c).
	ofCreator
	ofStranger
	// ofUnknown is an owner that might be the control plane of a Cluster that does not exist yet.
	ofUnknown
)

// controller returns the controller of the object that the part names, nil if there is none or it is not of those.
func (r *request) controller(ctx context.Context, p *part, of owners) (*reference, *metav1.OwnerReference, error) {
	ref, object, err := r.object(ctx, p)
	if err != nil || object == nil {
		return nil, nil, err
	}
	owner := metav1.GetControllerOfNoCopy(object)
	if owner == nil {
		return nil, nil, nil
	}
	is, err := r.classify(ctx, owner)
	if err != nil || is != of {
		return nil, nil, err
	}
	return ref, owner, nil
}

// classify says who the owner is, as the controller of Machines would: see scope.ownership there.
func (r *request) classify(ctx context.Context, owner *metav1.OwnerReference) (owners, error) {
	gv, err := schema.ParseGroupVersion(owner.APIVersion)
	if err != nil {
		return ofStranger, nil //nolint:nilerr // the API server lets it pass, and the controller accepts no such owner
	}
	kind := schema.GroupKind{Group: gv.Group, Kind: owner.Kind}
	switch kind {
	case schema.GroupKind{Group: clusterv1.GroupVersion.Group, Kind: "Machine"}:
		if owner.Name == r.now.Name {
			return ofMachine, nil
		}
		return ofOtherMachine, nil
	case schema.GroupKind{Group: clusterv1.GroupVersion.Group, Kind: "MachineSet"}:
		return ofCreator, nil
	}
	if _, controlPlane := r.now.Labels[clusterv1.MachineControlPlaneLabel]; !controlPlane {
		return ofStranger, nil
	}
	cluster, err := r.cluster(ctx)
	switch {
	case err != nil || cluster == nil:
		return ofUnknown, err
	case cluster.Spec.ControlPlaneRef.IsDefined() && cluster.Spec.ControlPlaneRef.GroupKind() == kind:
		return ofCreator, nil
	}
	return ofStranger, nil
}

// revealed is what is only told to somebody who could read it in the object itself.
func (r *request) revealed(ctx context.Context, ref *reference, secret string) string {
	if r.mayGetReferenced(ctx, ref) {
		return ": " + secret
	}
	return ""
}
