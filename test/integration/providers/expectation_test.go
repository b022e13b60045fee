// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// shown is what a Machine shows of one object that it references. What it doesn't show is empty.
type shown struct {
	// Done is whether the Machine has recorded that it is provisioned, or that its data secret is created.
	Done bool
	// DataSecretName comes from a BootstrapConfig, the next ones from an InfraMachine, all others from either.
	DataSecretName    string
	ProviderID        string
	Addresses         []string
	FailureDomain     string
	SpecFailureDomain string
	FailureReason     string
	FailureMessage    string
	Ready             condition
	DeprecatedReady   deprecatedCondition
	Phase             string
}

// condition is InfrastructureReady or BootstrapConfigReady. Since is empty where it depends on when the Machine has
// heard of something, instead of on what the object says.
type condition struct{ Status, Reason, Message, Since string }

// deprecatedCondition is InfrastructureReady or BootstrapReady of the older style.
type deprecatedCondition struct{ Status, Severity, Reason, Message string }

// donePaths are where an object says that it is done, by role and contract version.
var donePaths = map[string]map[string]string{
	infraMachine:    {v1beta1: "status.ready", v1beta2: "status.initialization.provisioned"},
	bootstrapConfig: {v1beta1: "status.ready", v1beta2: "status.initialization.dataSecretCreated"},
}

// doneFields is how messages call it.
var doneFields = map[string]string{infraMachine: "Provisioned", bootstrapConfig: "DataSecretCreated"}

func otherContract(contract string) string {
	if contract == v1beta1 {
		return v1beta2
	}
	return v1beta1
}

// expected works out what a fresh Machine shows of the object, by the rules of the provider contract. The error says
// that the object breaks them in a way for which an exception must be written down.
func expected(d definition, r reading, object *unstructured.Unstructured) (shown, error) {
	if r.contract == "" {
		return undeclared(d), nil
	}
	o := &lookup{object: object.Object}
	done := valueAt[bool](o, donePaths[d.Role][r.contract])
	name := valueAt[string](o, "status.dataSecretName")
	providerID := valueAt[string](o, "spec.providerID")
	want := shown{Phase: "Pending"}
	switch d.Role {
	case bootstrapConfig:
		want.Done = done && name != ""
		if want.Done {
			want.DataSecretName = name
			want.Phase = "Provisioning"
		}
	default: // the data secret is given
		want.Phase = "Provisioning"
		if want.Done = done && providerID != ""; want.Done {
			want.Phase = "Provisioned"
			want.ProviderID = providerID
			want.Addresses = addresses(o)
			want.FailureDomain = valueAt[string](o, "status.failureDomain")
			want.SpecFailureDomain = valueAt[string](o, "spec.failureDomain")
		}
	}
	want.FailureReason = valueAt[string](o, "status.failureReason")
	if message := valueAt[string](o, "status.failureMessage"); message != "" {
		want.FailureMessage = fmt.Sprintf("Failure detected from referenced resource %s, Kind=%s with name %q: %s",
			object.GetAPIVersion(), d.Kind, object.GetName(), message)
	}
	want.Ready = expectedReady(d, r, o, done, want.Done)
	want.DeprecatedReady = expectedDeprecated(d, o, done, want.Done)
	return want, errors.Join(o.errs...)
}

func undeclared(d definition) shown {
	message := d.Kind + ": CustomResourceDefinition " + strings.ToLower(d.Kind) + "s." + d.Group + ": no contract version is declared: " +
		"the labels cluster.x-k8s.io/v1beta2 and cluster.x-k8s.io/v1beta1 are missing or empty; " +
		`set the label of the contract version that the CRD implements to the API versions that implement it, joined by "_"`
	want := shown{Ready: condition{Status: "Unknown", Reason: "ContractVersionUnknown", Message: message}, Phase: "Pending"}
	if d.Role == infraMachine {
		want.Phase = "Provisioning"
	}
	return want
}

// expectedReady mirrors the condition Ready in the style of metav1.Condition, and says what is missing.
func expectedReady(d definition, r reading, o *lookup, done, taken bool) condition {
	if done && !taken && d.Role == bootstrapConfig {
		return condition{Status: "Unknown", Reason: "ContractViolated", Message: fmt.Sprintf(
			"%s: .status.dataSecretName: expected a name, as the data secret is reported to be created, found no value (contract version %s)", d.Kind, r.contract)}
	}
	var missing []string
	own, other := donePaths[d.Role][r.contract], donePaths[d.Role][otherContract(r.contract)]
	if !o.has(own) && valueAt[bool](o, other) { // a false says nothing that is not said by being absent
		missing = append(missing, fmt.Sprintf("%s is not at .%s, where contract version %s has it, but at .%s, where contract version %s has it",
			doneFields[d.Role], own, r.contract, other, otherContract(r.contract)))
	}
	if done && !taken {
		missing = append(missing, "it is provisioned but does not report spec.providerID yet")
	}
	if taken {
		missing = nil
	}
	explain := func(message string) string {
		return strings.Join(slices.DeleteFunc(append([]string{message}, missing...), func(s string) bool { return s == "" }), "; ")
	}
	ready := o.ready("status.v1beta2.conditions", "status.conditions")
	switch {
	case ready != nil && ready["status"] == "True" && len(missing) > 0:
		return condition{Status: "False", Reason: "NotReady", Message: d.Kind + ": " + strings.Join(missing, "; ")}
	case ready != nil:
		c := condition{Status: ready["status"], Reason: ready["reason"], Message: explain(ready["message"])}
		if c.Reason == "" && c.Status == "True" {
			c.Reason = "Ready"
		}
		if c.Reason == "" {
			c.Reason = "NoReasonReported"
		}
		if c.Status == "True" { // before, the Machine can only have said something else
			c.Since = ready["lastTransitionTime"]
		}
		return c
	case taken:
		return condition{Status: "True", Reason: "Ready"}
	case done:
		return condition{Status: "False", Reason: "NotReady", Message: d.Kind + ": " + missing[0]}
	default:
		return condition{Status: "False", Reason: "NotReady", Message: explain(d.Kind + " " + donePaths[d.Role][v1beta2] + " is false")}
	}
}

// expectedDeprecated mirrors the condition Ready in the older style.
func expectedDeprecated(d definition, o *lookup, done, taken bool) deprecatedCondition {
	ready := o.ready("status.deprecated.v1beta1.conditions", "status.conditions")
	waiting := map[string]string{infraMachine: "WaitingForInfrastructure", bootstrapConfig: "WaitingForDataSecret"}
	switch {
	case d.Role == bootstrapConfig && taken:
		return deprecatedCondition{Status: "True"}
	case ready != nil:
		return deprecatedCondition{Status: ready["status"], Severity: ready["severity"], Reason: ready["reason"], Message: ready["message"]}
	case done:
		return deprecatedCondition{Status: "True"}
	default:
		return deprecatedCondition{Status: "False", Severity: "Info", Reason: waiting[d.Role]}
	}
}

// addresses are those of an InfraMachine, each as type and address.
func addresses(o *lookup) []string {
	known := []string{"Hostname", "ExternalIP", "InternalIP", "ExternalDNS", "InternalDNS"}
	var list []string
	for _, item := range valueAt[[]any](o, "status.addresses") {
		address := stringsOf(item)
		if !slices.Contains(known, address["type"]) || address["address"] == "" {
			o.errs = append(o.errs, fmt.Errorf("the Machine can't have the address %v", item))
		}
		list = append(list, address["type"]+" "+address["address"])
	}
	return list
}

// lookup looks things up in an object, and collects what it can't make sense of.
type lookup struct {
	object map[string]any
	errs   []error
}

func (o *lookup) at(path string) (any, bool) {
	var value any = o.object
	for key := range strings.SplitSeq(path, ".") {
		parent, _ := value.(map[string]any)
		if value = parent[key]; value == nil {
			return nil, false
		}
	}
	return value, true
}

func (o *lookup) has(path string) bool {
	_, found := o.at(path)
	return found
}

func valueAt[T any](o *lookup, path string) T {
	value, found := o.at(path)
	typed, ok := value.(T)
	if found && !ok {
		o.errs = append(o.errs, fmt.Errorf("%s is a %T", path, value))
	}
	return typed
}

// ready returns the condition Ready out of the first list that exists, nil if there is none.
func (o *lookup) ready(paths ...string) map[string]string {
	for _, path := range paths {
		if !o.has(path) {
			continue
		}
		for _, item := range valueAt[[]any](o, path) {
			c := stringsOf(item)
			if !slices.Contains([]string{"True", "False", "Unknown"}, c["status"]) || c["type"] == "" {
				o.errs = append(o.errs, fmt.Errorf("%s has the condition %v", path, item))
			}
			if c["type"] == "Ready" {
				at, err := time.Parse(time.RFC3339, c["lastTransitionTime"])
				if err != nil {
					o.errs = append(o.errs, err)
				}
				c["lastTransitionTime"] = at.UTC().Format(time.RFC3339)
				return c
			}
		}
		return nil
	}
	return nil
}

func stringsOf(item any) map[string]string {
	out := map[string]string{}
	members, _ := item.(map[string]any)
	for key, value := range members {
		if s, ok := value.(string); ok {
			out[key] = s
		}
	}
	return out
}
