// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package references

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	admissionmetrics "sigs.k8s.io/controller-runtime/pkg/webhook/admission/metrics"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/webhooks/exempt"
	"github.com/machinist-dev/machinist/webhooks/meter"
)

// unread stands for all rules, in metrics, if the Machine can't be read.
const unread = "request"

// validator answers admission requests about Machines.
type validator struct {
	mode      Mode
	namespace string
	meter     *meter.Meter
	// lookups is nil in mode off.
	lookups *lookups
	rules   []rule
	decode  func(runtime.RawExtension) (*subject, error)
}

func (v *validator) with(rules []rule, decode func(runtime.RawExtension) (*subject, error)) *validator {
	copied := *v
	copied.rules, copied.decode = rules, decode
	return &copied
}

// Handle implements admission.Handler. It denies nothing but what a rule denies: a failure of its own allows.
func (v *validator) Handle(ctx context.Context, req admission.Request) (response admission.Response) {
	defer v.meter.Observe(time.Now(), req.Operation)
	defer func() {
		if cause := recover(); cause != nil {
			admissionmetrics.WebhookPanics.WithLabelValues().Inc() // controller-runtime would, but gets to see no panic
			ctrl.LoggerFrom(ctx).Error(fmt.Errorf("panic: %v", cause), "Allowing a Machine without having judged its references", "stacktrace", string(debug.Stack()))
			response = admission.Allowed("")
		}
	}()
	if v.exempt(req) {
		return admission.Allowed("")
	}
	ctx, cancel := context.WithTimeout(ctx, totalTimeout)
	defer cancel()
	if v.lookups.isManager(ctx, req.UserInfo) {
		return admission.Allowed("")
	}
	r, err := v.request(req)
	if err != nil {
		v.meter.Count(unread, meter.Failed, req.Operation)
		ctrl.LoggerFrom(ctx).Error(err, "Allowing a Machine without having judged its references")
		return admission.Allowed("")
	}
	if !r.now.DeletionTimestamp.IsZero() {
		return admission.Allowed("")
	}
	ctx = ctrl.LoggerInto(ctx, ctrl.LoggerFrom(ctx).WithValues("operation", req.Operation, "dryRun", req.DryRun != nil && *req.DryRun))
	return v.judge(ctx, r).response(r.now)
}

// exempt are requests that nothing has to be known about.
func (v *validator) exempt(req admission.Request) bool {
	return v.lookups == nil ||
		req.SubResource != "" ||
		req.Operation != admissionv1.Create && req.Operation != admissionv1.Update ||
		v.namespace != "" && req.Namespace != v.namespace
}

func (v *validator) request(req admission.Request) (*request, error) {
	now, err := v.decode(req.Object)
	if err != nil {
		return nil, fmt.Errorf("decoding the Machine: %w", err)
	}
	now.Namespace = req.Namespace
	r := &request{operation: req.Operation, now: *now, user: req.UserInfo, lookups: v.lookups}
	if req.Operation == admissionv1.Update {
		if r.before, err = v.decode(req.OldObject); err != nil {
			return nil, fmt.Errorf("decoding the Machine as it was: %w", err)
		}
	}
	return r, nil
}

// judge applies every rule to the parts that have changed.
func (v *validator) judge(ctx context.Context, r *request) *verdict {
	exceptions := exempt.By(r.now.Annotations)
	verdict := &verdict{}
	var used []string
	for i := range v.rules {
		rule := &v.rules[i]
		for _, p := range rule.parts {
			if !r.changed(p) {
				continue
			}
			if exceptions.Cover(rule.id) {
				v.meter.Count(rule.id, meter.Skipped, r.operation)
				used = append(used, rule.id)
				continue
			}
			v.meter.Count(rule.id, v.apply(ctx, r, rule, p, verdict), r.operation)
		}
	}
	exempt.LogUse(ctx, used)
	return verdict
}

// apply judges one part by one rule.
func (v *validator) apply(ctx context.Context, r *request, rule *rule, p *part, verdict *verdict) meter.Outcome {
	path := p.path
	if rule.at != "" {
		path = path.Child(rule.at)
	}
	log := ctrl.LoggerFrom(ctx).WithValues("rule", rule.id, "field", path.String())
	problem, err := rule.check(ctx, r, p)
	switch {
	case err != nil:
		log.Info("A rule of admission could not be judged, so the Machine is allowed", "err", err.Error())
		if v.mode == Warn {
			verdict.warn(p.path, "could not be checked: "+causeOf(err), "")
		}
		return meter.Failed
	case problem == "":
		return meter.Allowed
	case rule.severity.denies(v.mode, r.operation):
		log.Info("A rule of admission denies a Machine", "problem", problem)
		verdict.deny(path, p.shown(r.now, rule.at), problem, rule.id)
		return meter.Denied
	}
	log.Info("A rule of admission warns about a Machine", "problem", problem)
	verdict.warn(path, problem, rule.id)
	return meter.Warned
}

// decode takes a Machine at API version v1beta2.
func decode(raw runtime.RawExtension) (*subject, error) {
	machine := &clusterv1.Machine{}
	if err := json.Unmarshal(raw.Raw, machine); err != nil {
		return nil, err
	}
	return &subject{Machine: machine}, nil
}

// decodeOlder takes of a Machine at API version v1beta1 what v1beta2 does not have, and the metadata.
func decodeOlder(raw runtime.RawExtension) (*subject, error) {
	type olderReference struct {
		Namespace string `json:"namespace"`
	}
	var older struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		Spec     struct {
			InfrastructureRef olderReference `json:"infrastructureRef"`
			Bootstrap         struct {
				ConfigRef olderReference `json:"configRef"`
			} `json:"bootstrap"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(raw.Raw, &older); err != nil {
		return nil, err
	}
	return &subject{
		Machine:                 &clusterv1.Machine{ObjectMeta: older.Metadata},
		infrastructureNamespace: older.Spec.InfrastructureRef.Namespace,
		configNamespace:         older.Spec.Bootstrap.ConfigRef.Namespace,
	}, nil
}
