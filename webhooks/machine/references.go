// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/webhooks/exempt"
)

// skipped is whether the Machine is not judged by the rule. Each use that makes a difference is logged.
func skipped(ctx context.Context, m *clusterv1.Machine, rule string) bool {
	if !exempt.By(m.Annotations).Cover(rule) {
		return false
	}
	log.FromContext(ctx).Info("Rule skipped as the annotation asks for", "rule", rule, "annotation", exempt.Annotation)
	return true
}

// unlessSkipped returns the errors but for those of rules that the Machine is not judged by. The slice is used up.
func (v *Validator) unlessSkipped(ctx context.Context, m *clusterv1.Machine, errs field.ErrorList) field.ErrorList {
	return slices.DeleteFunc(errs, func(err *field.Error) bool {
		return strings.HasPrefix(err.Origin, "R") && skipped(ctx, m, err.Origin)
	})
}

// referencesUsable is R3 and R12.
func referencesUsable(m *clusterv1.Machine) field.ErrorList {
	return slices.Concat(
		referenceUsable(m.Spec.Bootstrap.ConfigRef, spec.Child("bootstrap", "configRef")),
		referenceUsable(m.Spec.InfrastructureRef, spec.Child("infrastructureRef")),
	)
}

func referenceUsable(ref clusterv1.ContractVersionedObjectReference, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if strings.HasSuffix(ref.Kind, clusterv1.TemplateSuffix) {
		errs = append(errs, field.Invalid(path.Child("kind"), ref.Kind,
			"must not be a template, which never becomes ready, and would be deleted with the Machine though others use it (R3)").WithOrigin("R3"))
	}
	if ref.APIGroup == clusterv1.GroupVersion.Group {
		errs = append(errs, field.Invalid(path.Child("apiGroup"), ref.APIGroup,
			"must be the group of a provider: an object of Cluster API itself would be owned by the Machine, and deleted with it (R12)").WithOrigin("R12"))
	}
	return errs
}

// gatesPossible is R18: what is computed from the gates can't be one of them.
func gatesPossible(m *clusterv1.Machine) field.ErrorList {
	var errs field.ErrorList
	for i, gate := range m.Spec.ReadinessGates {
		if gate.ConditionType == clusterv1.MachineReadyCondition || gate.ConditionType == clusterv1.MachineAvailableCondition {
			errs = append(errs, field.Invalid(spec.Child("readinessGates").Index(i).Child("conditionType"), gate.ConditionType,
				"is computed from the gates, so the Machine would never become Ready (R18)").WithOrigin("R18"))
		}
	}
	return errs
}

// polarities are those of the conditions that Ready takes into account without a gate.
var polarities = map[string]clusterv1.ConditionPolarity{
	clusterv1.MachineDeletingCondition:             clusterv1.NegativePolarityCondition,
	clusterv1.MachineUpdatingCondition:             clusterv1.NegativePolarityCondition,
	clusterv1.MachineBootstrapConfigReadyCondition: clusterv1.PositivePolarityCondition,
	clusterv1.MachineInfrastructureReadyCondition:  clusterv1.PositivePolarityCondition,
	clusterv1.MachineNodeHealthyCondition:          clusterv1.PositivePolarityCondition,
	clusterv1.MachineHealthCheckSucceededCondition: clusterv1.PositivePolarityCondition,
}

// gateWarnings is R18a: a gate that is not stored yet and contradicts what Ready takes into account anyway. The API server
// cuts warnings off after 120 characters if there are many.
func (v *Validator) gateWarnings(ctx context.Context, m *clusterv1.Machine, stored []clusterv1.MachineReadinessGate) admission.Warnings {
	if v.WithoutReferenceRules {
		return nil
	}
	var warnings admission.Warnings
	for i, gate := range m.Spec.ReadinessGates {
		polarity := gate.Polarity
		if polarity == "" {
			polarity = clusterv1.PositivePolarityCondition
		}
		built, found := polarities[gate.ConditionType]
		if found && built != polarity && !slices.Contains(stored, gate) && !skipped(ctx, m, "R18a") {
			warnings = append(warnings, fmt.Sprintf("spec.readinessGates[%d].polarity: %s is %s for Ready anyway, the gate changes nothing (R18a)",
				i, gate.ConditionType, strings.ToLower(string(built))))
		}
	}
	return warnings
}
