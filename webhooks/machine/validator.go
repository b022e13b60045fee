// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/webhooks/ratchet"
)

// +kubebuilder:webhook:path=/validate-cluster-x-k8s-io-v1beta2-machine,mutating=false,name=validation.machine.cluster.x-k8s.io,groups=cluster.x-k8s.io,versions=v1beta2,resources=machines,verbs=create;update,failurePolicy=fail,matchPolicy=Equivalent,sideEffects=None,admissionReviewVersions=v1

// Validator refuses Machines that can't work. It knows nothing but the Machine, so it fails only if the manager is down.
// An error is an Invalid with every cause.
type Validator struct{ Options }

// ValidateCreate judges the whole Machine.
func (v *Validator) ValidateCreate(ctx context.Context, m *clusterv1.Machine) (admission.Warnings, error) {
	warnings, own := v.judgeByOwnRules(ctx, m, nil)
	return warnings, invalid(m, slices.Concat(v.judge(m), v.taintsFeature(m, nil), own))
}

// ValidateUpdate judges what is changed, unless the Machine is being deleted.
func (v *Validator) ValidateUpdate(ctx context.Context, old, m *clusterv1.Machine) (admission.Warnings, error) {
	if !old.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	// The stored spec under the new metadata: some rules look at labels and owners, and a change of those alone is never
	// refused. That the defaulter has put a v in front of the version is no change by anybody.
	stored := &clusterv1.Machine{ObjectMeta: m.ObjectMeta, Spec: old.Spec}
	if m.Spec.Version == prefixed(old.Spec.Version) {
		stored.Spec.Version = m.Spec.Version
	}
	warnings, own := v.judgeByOwnRules(ctx, m, stored)
	return warnings, invalid(m, slices.Concat(
		clusterNameKept(old, m), ratchet.Added(v.judge(m), v.judge(stored)), v.taintsFeature(m, old.Spec.Taints), own))
}

// ValidateDelete allows it. It is not asked: deletions are not registered, as one that is refused can keep a whole
// namespace from going.
func (v *Validator) ValidateDelete(context.Context, *clusterv1.Machine) (admission.Warnings, error) {
	return nil, nil
}

// judge returns what is wrong with the Machine by itself, by the rules of Cluster API. Each error has the name of its rule as
// origin.
func (v *Validator) judge(m *clusterv1.Machine) field.ErrorList {
	return slices.Concat(bootstrapGiven(m), clusterNameUsable(m), versionValid(m), v.taintKeys(m))
}

func invalid(m *clusterv1.Machine, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(clusterv1.GroupVersion.WithKind("Machine").GroupKind(), m.Name, errs)
}
