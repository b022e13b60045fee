// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"reflect"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/webhooks/exempt"
	"github.com/machinist-dev/machinist/webhooks/meter"
	"github.com/machinist-dev/machinist/webhooks/ratchet"
)

// ownRule is one that Cluster API does not have. A Machine can be exempt from it, and it is counted.
type ownRule struct {
	id string
	// part is what is judged, when it is new or has changed.
	part  func(*clusterv1.Machine) any
	check func(*clusterv1.Machine) field.ErrorList
	// finding is what becomes of a Machine about which something is found: it is denied, or warned about.
	finding meter.Outcome
}

var ownRules = []ownRule{
	{"R3", bothReferences, kindsUsable, meter.Denied},
	{"R12", bothReferences, groupsUsable, meter.Denied},
	{"R18", readinessGates, gatesPossible, meter.Denied},
	{"R18a", readinessGates, gatesUseful, meter.Warned},
}

func bothReferences(m *clusterv1.Machine) any {
	return [...]clusterv1.ContractVersionedObjectReference{m.Spec.Bootstrap.ConfigRef, m.Spec.InfrastructureRef}
}

func readinessGates(m *clusterv1.Machine) any { return m.Spec.ReadinessGates }

// judgeByOwnRules applies those rules to what is not stored yet, and counts what comes of them; stored is nil on CREATE.
func (v *Validator) judgeByOwnRules(ctx context.Context, m, stored *clusterv1.Machine) (admission.Warnings, field.ErrorList) {
	if v.WithoutReferenceRules {
		return nil, nil
	}
	operation := admissionv1.Create
	if stored != nil {
		operation = admissionv1.Update
	}
	var warnings admission.Warnings
	var errs field.ErrorList
	var used []string
	for i := range ownRules {
		rule := &ownRules[i]
		if stored != nil && reflect.DeepEqual(rule.part(stored), rule.part(m)) {
			continue
		}
		outcome, found := rule.judge(m, stored)
		switch outcome {
		case meter.Skipped:
			used = append(used, rule.id)
		case meter.Warned:
			for _, err := range found {
				warnings = append(warnings, err.Field+": "+err.Detail)
			}
		case meter.Denied:
			errs = append(errs, found...)
		}
		v.Meter.Count(rule.id, outcome, operation)
	}
	if len(used) > 0 {
		log.FromContext(ctx).Info("Rules are skipped", "annotation", clusterv1.SkipReferenceValidationAnnotation, "rules", used)
	}
	return warnings, errs
}

// judge returns what comes of the rule, and what it finds.
func (r *ownRule) judge(m, stored *clusterv1.Machine) (meter.Outcome, field.ErrorList) {
	if exempt.By(m.Annotations).Cover(r.id) {
		return meter.Skipped, nil
	}
	found := r.check(m)
	if stored != nil {
		found = ratchet.Added(found, r.check(stored))
	}
	if len(found) == 0 {
		return meter.Allowed, nil
	}
	return r.finding, found
}

// eachReference checks both references of the Machine.
func eachReference(m *clusterv1.Machine, check func(clusterv1.ContractVersionedObjectReference, *field.Path) *field.Error) field.ErrorList {
	var errs field.ErrorList
	for _, err := range []*field.Error{
		check(m.Spec.Bootstrap.ConfigRef, spec.Child("bootstrap", "configRef")),
		check(m.Spec.InfrastructureRef, spec.Child("infrastructureRef")),
	} {
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// kindsUsable is R3.
func kindsUsable(m *clusterv1.Machine) field.ErrorList {
	return eachReference(m, func(ref clusterv1.ContractVersionedObjectReference, path *field.Path) *field.Error {
		if !strings.HasSuffix(ref.Kind, clusterv1.TemplateSuffix) {
			return nil
		}
		return field.Invalid(path.Child("kind"), ref.Kind,
			"must not be a template, which never becomes ready, and would be deleted with the Machine though others use it (R3)")
	})
}

// groupsUsable is R12.
func groupsUsable(m *clusterv1.Machine) field.ErrorList {
	return eachReference(m, func(ref clusterv1.ContractVersionedObjectReference, path *field.Path) *field.Error {
		if ref.APIGroup != clusterv1.GroupVersion.Group {
			return nil
		}
		return field.Invalid(path.Child("apiGroup"), ref.APIGroup,
			"must be the group of a provider: an object of Cluster API itself would be owned by the Machine, and deleted with it (R12)")
	})
}

// gatesPossible is R18: what is computed from the gates can't be one of them.
func gatesPossible(m *clusterv1.Machine) field.ErrorList {
	var errs field.ErrorList
	for i, gate := range m.Spec.ReadinessGates {
		if gate.ConditionType == clusterv1.MachineReadyCondition || gate.ConditionType == clusterv1.MachineAvailableCondition {
			errs = append(errs, field.Invalid(spec.Child("readinessGates").Index(i).Child("conditionType"), gate.ConditionType,
				"is computed from the gates, so the Machine would never become Ready (R18)"))
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

// gatesUseful is R18a: a gate that contradicts what Ready takes into account anyway. The API server cuts warnings off after
// 120 characters if there are many.
func gatesUseful(m *clusterv1.Machine) field.ErrorList {
	var errs field.ErrorList
	for i, gate := range m.Spec.ReadinessGates {
		polarity := gate.Polarity
		if polarity == "" {
			polarity = clusterv1.PositivePolarityCondition
		}
		if built, found := polarities[gate.ConditionType]; found && built != polarity {
			errs = append(errs, field.Invalid(spec.Child("readinessGates").Index(i).Child("polarity"), gate,
				gate.ConditionType+" is "+strings.ToLower(string(built))+" for Ready anyway, the gate changes nothing (R18a)"))
		}
	}
	return errs
}
