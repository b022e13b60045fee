// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// said takes out of a Machine what it shows of the object that has the role.
func said(m *clusterv1.Machine, role string) shown {
	s := shown{Phase: m.Status.Phase}
	initialization := m.Status.Initialization
	switch role {
	case bootstrapConfig:
		s.Done = initialization.BootstrapDataSecretCreated != nil && *initialization.BootstrapDataSecretCreated
		if m.Spec.Bootstrap.DataSecretName != nil {
			s.DataSecretName = *m.Spec.Bootstrap.DataSecretName
		}
		s.Ready = conditionOf(m, clusterv1.MachineBootstrapConfigReadyCondition)
		s.DeprecatedReady = deprecatedConditionOf(m, clusterv1.BootstrapReadyV1Beta1Condition)
	default:
		s.Done = initialization.InfrastructureProvisioned != nil && *initialization.InfrastructureProvisioned
		s.ProviderID = m.Spec.ProviderID
		for _, address := range m.Status.Addresses {
			s.Addresses = append(s.Addresses, string(address.Type)+" "+address.Address)
		}
		s.FailureDomain, s.SpecFailureDomain = m.Status.FailureDomain, m.Spec.FailureDomain
		s.Ready = conditionOf(m, clusterv1.MachineInfrastructureReadyCondition)
		s.DeprecatedReady = deprecatedConditionOf(m, clusterv1.InfrastructureReadyV1Beta1Condition)
	}
	if m.Status.Deprecated != nil && m.Status.Deprecated.V1Beta1 != nil {
		if reason := m.Status.Deprecated.V1Beta1.FailureReason; reason != nil {
			s.FailureReason = string(*reason)
		}
		if message := m.Status.Deprecated.V1Beta1.FailureMessage; message != nil {
			s.FailureMessage = *message
		}
	}
	return s
}

func conditionOf(m *clusterv1.Machine, conditionType string) condition {
	c := meta.FindStatusCondition(m.Status.Conditions, conditionType)
	if c == nil {
		return condition{}
	}
	return condition{string(c.Status), c.Reason, c.Message, c.LastTransitionTime.UTC().Format(time.RFC3339)}
}

func deprecatedConditionOf(m *clusterv1.Machine, conditionType clusterv1.ConditionType) deprecatedCondition {
	for _, c := range m.GetV1Beta1Conditions() {
		if c.Type == conditionType {
			return deprecatedCondition{string(c.Status), string(c.Severity), c.Reason, c.Message}
		}
	}
	return deprecatedCondition{}
}
