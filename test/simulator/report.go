// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"context"
	"encoding/json"
	"hash/fnv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/apis/contract"
)

// progress is how far an object is.
type progress struct {
	// reason and message of the Ready condition, which is True if done.
	reason, message string
	done            bool
	// failed means that it will never be done.
	failed bool
	// since is when the object got this far. Zero means when the simulator first saw it this far.
	since time.Time
	// content sets the contract fields, other than conditions and failures, in the object that is written. May be nil.
	content func(obj *unstructured.Unstructured)
	// again is when to look again, if no event will say so.
	again time.Duration
}

// contractFields are the setters of what both kinds report.
type contractFields struct {
	conditions           func(obj *unstructured.Unstructured, version contract.Version, value []contract.Condition)
	deprecatedConditions func(obj *unstructured.Unstructured, version contract.Version, value []contract.DeprecatedCondition)
	failureReason        func(obj *unstructured.Unstructured, version contract.Version, value string)
	failureMessage       func(obj *unstructured.Unstructured, version contract.Version, value string)
}

// failureReason is what providers that keep the deprecated field write most.
const failureReason = "CreateError"

// write writes what follows from the progress, unless it is what was written last: first spec, because a provider ID
// must not be missing where provisioned is true, then status.
func (p *provider) write(ctx context.Context, o *occasion, progress progress) error {
	obj := p.report(o, progress)
	if change := faults[o.fault]; change != nil {
		change(obj)
	}
	content, err := json.Marshal(obj.Object)
	if err != nil {
		return err
	}
	hash := fnv.New64a()
	_, _ = hash.Write(content) // a hash never fails
	if o.memory.written == hash.Sum64() {
		return nil
	}
	if spec, found := obj.Object["spec"]; found {
		patch, err := mergePatch(map[string]any{"metadata": obj.Object["metadata"], "spec": spec})
		if err != nil {
			return err
		}
		if err := p.client.Patch(ctx, p.empty(o.key), patch); err != nil {
			return err
		}
	}
	status := obj.Object["status"].(map[string]any)
	if progress.done && p.statusPayload != nil {
		status["payload"] = p.statusPayload
	}
	patch, err := mergePatch(map[string]any{"status": status})
	if err != nil {
		return err
	}
	if err := p.client.Status().Patch(ctx, p.empty(o.key), patch); err != nil {
		return err
	}
	o.memory.written = hash.Sum64()
	return nil
}

// report builds the part of the object that the provider writes: a function of the progress, so that writing it again,
// also after a restart, changes nothing.
func (p *provider) report(o *occasion, progress progress) *unstructured.Unstructured {
	since := progress.since
	if entered := o.memory.enter(progress.reason); since.IsZero() {
		since = entered
	}
	newest := o.contracts[0]
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	p.fields.conditions(obj, newest, conditions(progress, metav1.NewTime(since)))
	p.fields.deprecatedConditions(obj, newest, deprecatedConditions(progress, metav1.NewTime(since)))
	if progress.failed {
		p.fields.failureReason(obj, newest, failureReason)
		p.fields.failureMessage(obj, newest, progress.message)
	}
	if progress.content != nil {
		progress.content(obj)
	}
	status := obj.Object["status"].(map[string]any)
	// What belongs to a contract that is not declared any more is taken out.
	for _, field := range []string{"ready", "initialization", "v1beta2", "deprecated"} {
		if _, found := status[field]; !found {
			status[field] = nil
		}
	}
	return obj
}

func conditions(progress progress, since metav1.Time) []contract.Condition {
	ready := contract.Condition{
		Type: clusterv1.ReadyCondition, Status: conditionStatus(progress.done), Reason: progress.reason, Message: progress.message,
		LastTransitionTime: since,
	}
	notPaused := contract.Condition{
		Type: clusterv1.PausedCondition, Status: string(metav1.ConditionFalse), Reason: clusterv1.NotPausedReason,
		LastTransitionTime: since,
	}
	return []contract.Condition{ready, notPaused}
}

func deprecatedConditions(progress progress, since metav1.Time) []contract.DeprecatedCondition {
	ready := contract.DeprecatedCondition{
		Type: clusterv1.ReadyCondition, Status: conditionStatus(progress.done), LastTransitionTime: since,
	}
	if !progress.done {
		ready.Severity, ready.Reason, ready.Message = "Info", progress.reason, progress.message
	}
	if progress.failed {
		ready.Severity = "Error"
	}
	return []contract.DeprecatedCondition{ready}
}

func conditionStatus(yes bool) string {
	if yes {
		return string(metav1.ConditionTrue)
	}
	return string(metav1.ConditionFalse)
}
