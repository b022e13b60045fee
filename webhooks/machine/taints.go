// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// The parts of taint keys that belong to others.
const (
	nodeLifecyclePrefix = "node.kubernetes.io/"
	cloudProviderPrefix = "node.cloudprovider.kubernetes.io/"
	masterTaint         = clusterv1.NodeRoleLabelPrefix + "/master"
	controlPlaneTaint   = clusterv1.NodeRoleLabelPrefix + "/control-plane"
)

// taintsFeature is V6: without the feature a Machine gets no taint that it does not have. Those that it has may stay and be
// removed, or turning the feature off would lock the Machine, and its finalizers, up.
func (v *Validator) taintsFeature(m *clusterv1.Machine, stored []clusterv1.MachineTaint) field.ErrorList {
	had := func(taint clusterv1.MachineTaint) bool { return slices.Contains(stored, taint) }
	if v.MachineTaintPropagation || !slices.ContainsFunc(m.Spec.Taints, func(t clusterv1.MachineTaint) bool { return !had(t) }) {
		return nil
	}
	return field.ErrorList{field.Forbidden(spec.Child("taints"),
		"taints are not allowed to be set when the feature gate MachineTaintPropagation is disabled").WithOrigin("V6")}
}

// taintKeys is V7 to V12.
func (v *Validator) taintKeys(m *clusterv1.Machine) field.ErrorList {
	_, controlPlane := m.Labels[clusterv1.MachineControlPlaneLabel]
	var errs field.ErrorList
	for i, taint := range m.Spec.Taints {
		path := spec.Child("taints").Index(i).Child("key")
		if rule, problem := reserved(taint.Key); rule != "" {
			errs = append(errs, field.Invalid(path, taint.Key, problem).WithOrigin(rule))
		}
		errs = append(errs, metav1validation.ValidateLabelName(taint.Key, path)...) // V11
		if v.MachineTaintPropagation && !controlPlane && taint.Key == controlPlaneTaint {
			errs = append(errs, field.Invalid(path, taint.Key, "taint is not allowed for worker Machines").WithOrigin("V12"))
		}
	}
	return errs
}

// reserved returns the rule that keeps a Machine from having the taint, and its text; "" if none does.
func reserved(key string) (rule, problem string) {
	switch {
	case key == clusterv1.NodeUninitializedTaint.Key, key == clusterv1.NodeOutdatedRevisionTaint.Key:
		return "V7", "taint key is not allowed"
	case key == corev1.TaintNodeOutOfService: // set by people, unlike the others of its domain
		return "", ""
	case strings.HasPrefix(key, nodeLifecyclePrefix):
		return "V8", "taint key must not have the prefix node.kubernetes.io/, except for node.kubernetes.io/out-of-service"
	case strings.HasPrefix(key, cloudProviderPrefix):
		return "V9", "taint key must not have the prefix node.cloudprovider.kubernetes.io/"
	case key == masterTaint:
		return "V10", "taint is deprecated since 1.24 and should not be used anymore"
	default:
		return "", ""
	}
}
