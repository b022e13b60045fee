// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

var spec = field.NewPath("spec")

// bootstrapGiven is V1.
func bootstrapGiven(m *clusterv1.Machine) field.ErrorList {
	if m.Spec.Bootstrap.ConfigRef.IsDefined() || m.Spec.Bootstrap.DataSecretName != nil || OwnedByPool(m) {
		return nil
	}
	return field.ErrorList{field.Required(spec.Child("bootstrap"),
		"expected either spec.bootstrap.dataSecretName or spec.bootstrap.configRef to be populated").WithOrigin("V1")}
}

// OwnedByPool reports whether the Machine stands for an instance of a MachinePool, which has the bootstrap data for all of them.
// Any MachinePool will do: those of some providers have groups of their own.
func OwnedByPool(m *clusterv1.Machine) bool {
	_, labelled := m.Labels[clusterv1.MachinePoolNameLabel]
	return labelled || slices.ContainsFunc(m.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == "MachinePool" })
}

// clusterNameKept is V2.
func clusterNameKept(old, m *clusterv1.Machine) field.ErrorList {
	if m.Spec.ClusterName == old.Spec.ClusterName {
		return nil
	}
	return field.ErrorList{field.Forbidden(spec.Child("clusterName"), "field is immutable").WithOrigin("V2")}
}

// clusterNameUsable says of a name that M1 can't make a label what the API server would otherwise say of the label.
func clusterNameUsable(m *clusterv1.Machine) field.ErrorList {
	var errs field.ErrorList
	for _, problem := range content.IsLabelValue(m.Spec.ClusterName) {
		errs = append(errs, field.Invalid(spec.Child("clusterName"), m.Spec.ClusterName,
			"must be usable as the value of the label "+clusterv1.ClusterNameLabel+": "+problem).WithOrigin("M1"))
	}
	return errs
}

// versionValid is V3 and V5.
func versionValid(m *clusterv1.Machine) field.ErrorList {
	version := m.Spec.Version
	if version == "" {
		return nil
	}
	var errs field.ErrorList
	number, hasPrefix := strings.CutPrefix(version, "v")
	if _, err := semver.Parse(number); err != nil {
		errs = append(errs, field.Invalid(spec.Child("version"), version, "must be a valid semantic version").WithOrigin("V3"))
	}
	if !hasPrefix {
		errs = append(errs, field.Invalid(spec.Child("version"), version, "must start with v").WithOrigin("V5"))
	}
	return errs
}
