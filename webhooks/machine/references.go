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
	id    string
	parts []part
	// finding is what becomes of a Machine about which something is found: it is denied, or warned about.
	finding meter.Outcome
}

// part is what a rule judges at a time, when it is new or has changed.
type part struct {
	value func(*clusterv1.Machine) any
	// check returns what is wrong with the part of a Machine; stored is nil on CREATE.
	check func(m, stored *clusterv1.Machine) field.ErrorList
}

var ownRules = []ownRule{
	{"R3", eachReference(templateKind), meter.Denied},
	{"R12", eachReference(coreGroup), meter.Denied},
	{"R18", readinessGates(computedGates), meter.Denied},
	{"R18a", readinessGates(contradictoryGates), meter.Warned},
}

// eachReference judges a reference that differs from the stored one as a whole, though only the name may be another: the
// object that it names now would be owned by the Machine, and deleted with it.
func eachReference(check func(clusterv1.ContractVersionedObjectReference, *field.Path) *field.Error) []part {
	reference := func(path *field.Path, of func(*clusterv1.Machine) clusterv1.ContractVersionedObjectReference) part {
		return part{
			value: func(m *clusterv1.Machine) any { return of(m) },
			check: func(m, _ *clusterv1.Machine) field.ErrorList {
				if err := check(of(m), path); err != nil {
					return field.ErrorList{err}
				}
				return nil
			},
		}
	}
	return []part{
		reference(spec.Child("bootstrap", "configRef"), func(m *clusterv1.Machine) clusterv1.ContractVersionedObjectReference {
			return m.Spec.Bootstrap.ConfigRef
		}),
		reference(spec.Child("infrastructureRef"), func(m *clusterv1.Machine) clusterv1.ContractVersionedObjectReference {
			return m.Spec.InfrastructureRef
		}),
	}
}

// readinessGates judges the gates that are not stored yet, wherever they stand in the list.
func readinessGates(check func(*clusterv1.Machine) field.ErrorList) []part {
	return []part{{
		value: func(m *clusterv1.Machine) any { return m.Spec.ReadinessGates },
		check: func(m, stored *clusterv1.Machine) field.ErrorList {
			if stored == nil {
				return check(m)
			}
			return ratchet.Added(check(m), check(stored))
		},
	}}
}

// judgeByOwnRules applies those rules to what is not stored yet, and counts and logs what comes of them; stored is nil on
// CREATE.
func (v *Validator) judgeByOwnRules(ctx context.Context, m, stored *clusterv1.Machine) (admission.Warnings, field.ErrorList) {
	if v.WithoutReferenceRules {
		return nil, nil
	}
	operation := admissionv1.Create
	if stored != nil {
		operation = admissionv1.Update
	}
	ctx = log.IntoContext(ctx, log.FromContext(ctx).WithValues("operation", operation, "dryRun", dryRun(ctx)))
	var warnings admission.Warnings
	var errs field.ErrorList
	exceptions := exempt.By(m.Annotations)
	var used []string
	for i := range ownRules {
		rule := &ownRules[i]
		for _, p := range rule.parts {
			if stored != nil && reflect.DeepEqual(p.value(stored), p.value(m)) {
				continue
			}
			outcome, found := rule.judge(ctx, p, m, stored, exceptions)
			v.Meter.Count(rule.id, outcome, operation)
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
		}
	}
	exempt.LogUse(ctx, used)
	return warnings, errs
}

// dryRun is false if there is no request, as when somebody calls the validator.
func dryRun(ctx context.Context) bool {
	req, err := admission.RequestFromContext(ctx)
	return err == nil && req.DryRun != nil && *req.DryRun
}

// judge returns what comes of the rule for one of its parts, and what it finds, which it logs as webhooks/references does.
func (r *ownRule) judge(ctx context.Context, p part, m, stored *clusterv1.Machine, exceptions exempt.Rules) (meter.Outcome, field.ErrorList) {
	if exceptions.Cover(r.id) {
		return meter.Skipped, nil
	}
	found := p.check(m, stored)
	if len(found) == 0 {
		return meter.Allowed, nil
	}
	text := "A rule of admission denies a Machine"
	if r.finding == meter.Warned {
		text = "A rule of admission warns about a Machine"
	}
	for _, err := range found {
		log.FromContext(ctx).Info(text, "rule", r.id, "field", err.Field, "problem", err.Detail)
		err.Detail += " (" + r.id + ")"
	}
	return r.finding, found
}

// templateKind is R3.
func templateKind(ref clusterv1.ContractVersionedObjectReference, path *field.Path) *field.Error {
	if !strings.HasSuffix(ref.Kind, clusterv1.TemplateSuffix) {
		return nil
	}
	return field.Invalid(path.Child("kind"), ref.Kind,
		"must not be a template, which never becomes ready, and would be deleted with the Machine though others use it")
}

// coreGroup is R12.
func coreGroup(ref clusterv1.ContractVersionedObjectReference, path *field.Path) *field.Error {
	if ref.APIGroup != clusterv1.GroupVersion.Group {
		return nil
	}
	return field.Invalid(path.Child("apiGroup"), ref.APIGroup,
		"must be the group of a provider: an object of Cluster API itself would be owned by the Machine, and deleted with it")
}

// computedGates is R18: what is computed from the gates can't be one of them.
func computedGates(m *clusterv1.Machine) field.ErrorList {
	var errs field.ErrorList
	for i, gate := range m.Spec.ReadinessGates {
		if gate.ConditionType == clusterv1.MachineReadyCondition || gate.ConditionType == clusterv1.MachineAvailableCondition {
			errs = append(errs, field.Invalid(spec.Child("readinessGates").Index(i).Child("conditionType"), gate.ConditionType,
				"is computed from the gates, so the Machine would never become Ready"))
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

// contradictoryGates is R18a: a gate that contradicts what Ready takes into account anyway. Its text, as any warning, is to
// have no more than the 120 characters that Kubernetes recommends.
func contradictoryGates(m *clusterv1.Machine) field.ErrorList {
	var errs field.ErrorList
	for i, gate := range m.Spec.ReadinessGates {
		polarity := gate.Polarity
		if polarity == "" {
			polarity = clusterv1.PositivePolarityCondition
		}
		if built, found := polarities[gate.ConditionType]; found && built != polarity {
			errs = append(errs, field.Invalid(spec.Child("readinessGates").Index(i).Child("polarity"), gate,
				gate.ConditionType+" is "+strings.ToLower(string(built))+" for Ready anyway, the gate changes nothing"))
		}
	}
	return errs
}
