// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package references

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
)

// outcome is what came of a rule, or of all of them.
type outcome string

const (
	allowed outcome = "allow"
	warned  outcome = "warn"
	denied  outcome = "deny"
	// failed is the outcome of a rule that could not be judged; the request is not denied for it.
	failed outcome = "error"
	// skipped is the outcome of a rule that the Machine is exempt from by annotation.
	skipped outcome = "skipped"
)

// meter counts. Its series are bounded: rules, outcomes and operations are fixed.
type meter struct {
	verdicts *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

func unregisteredMeter() *meter {
	return &meter{
		verdicts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "machinist_reference_validation_rules_total",
			Help: "Rules about references that were judged at admission of a Machine, by outcome: allow, warn, deny, error (could not be judged, so allowed) or skipped (by annotation).",
		}, []string{"rule", "outcome", "operation"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "machinist_reference_validation_duration_seconds",
			Help:    "Time that admission of a Machine has waited for the validation of its references.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
		}, []string{"operation"}),
	}
}

// register returns the collector, or the same one that has been registered before.
func register[C prometheus.Collector](registry prometheus.Registerer, collector C) (C, error) {
	err := registry.Register(collector)
	if err == nil {
		return collector, nil
	}
	if already, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		if existing, ok := already.ExistingCollector.(C); ok {
			return existing, nil
		}
	}
	return collector, fmt.Errorf("registering the metrics of reference validation: %w", err)
}

func (m *meter) count(r *rule, o outcome, operation admissionv1.Operation) {
	m.verdicts.WithLabelValues(r.id, string(o), labelOf(operation)).Inc()
}

func (m *meter) observe(since time.Time, operation admissionv1.Operation) {
	m.duration.WithLabelValues(labelOf(operation)).Observe(time.Since(since).Seconds())
}

// labelOf bounds what an AdmissionReview of anybody's making could make up.
func labelOf(operation admissionv1.Operation) string {
	switch operation {
	case admissionv1.Create, admissionv1.Update:
		return strings.ToLower(string(operation))
	}
	return "other"
}
