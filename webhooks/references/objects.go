// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package references

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers/external"
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
	return r.ofOtherMachine(ctx, p, true, "is controlled by another Machine")
}

// objectOfGoneMachine is R7a. The controller goes by the reference; whether its owner exists is for garbage collection.
func objectOfGoneMachine(ctx context.Context, r *request, p *part) (string, error) {
	return r.ofOtherMachine(ctx, p, false, "is controlled by a Machine that is gone: remove its owner reference")
}

// objectOfStranger is R7d.
func objectOfStranger(ctx context.Context, r *request, p *part) (string, error) {
	ref, owner, err := r.controller(ctx, p, external.OwnerStranger)
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

// ofOtherMachine returns the text, and the name, if another Machine controls the object that the part names, and exists or not.
func (r *request) ofOtherMachine(ctx context.Context, p *part, exists bool, text string) (string, error) {
	ref, owner, err := r.controller(ctx, p, external.OwnerOtherMachine)
	if err != nil || owner == nil {
		return "", err
	}
	if found, err := r.machineExists(ctx, owner.Name); err != nil || found != exists {
		return "", err
	}
	return text + r.revealed(ctx, ref, owner.Name), nil
}

// controller returns the controller of the object that the part names, nil if there is none or it is not of those.
func (r *request) controller(ctx context.Context, p *part, of external.Owner) (*reference, *metav1.OwnerReference, error) {
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

// classify says who the owner is, as the controller of Machines would.
func (r *request) classify(ctx context.Context, owner *metav1.OwnerReference) (external.Owner, error) {
	claim := external.Ownership{Machine: r.now.Machine}
	is, err := claim.Owner(owner)
	if err != nil {
		return external.OwnerStranger, nil //nolint:nilerr // the API server lets it pass, and the controller accepts no such owner
	}
	if is != external.OwnerUnknown {
		return is, nil
	}
	if claim.Cluster, err = r.cluster(ctx); err != nil {
		return external.OwnerUnknown, err
	}
	return claim.Owner(owner)
}

// revealed is what is only told to somebody who could read it in the object itself.
func (r *request) revealed(ctx context.Context, ref *reference, secret string) string {
	if r.mayGetReferenced(ctx, ref) {
		return ": " + secret
	}
	return ""
}
