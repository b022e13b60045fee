// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package meter counts what comes of the rules that Cluster API does not have, whichever webhook they belong to.
package meter

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
)

// Outcome is what came of a rule.
type Outcome string

const (
	// Allowed is that of a rule that finds nothing.
	Allowed Outcome = "allow"
	// Warned is that of a rule whose finding is a warning.
	Warned Outcome = "warn"
	// Denied is that of a rule whose finding denies the request.
	Denied Outcome = "deny"
	// Failed is that of a rule that could not be judged; the request is not denied for it.
	Failed Outcome = "error"
	// Skipped is that of a rule that the Machine is exempt from by annotation.
	Skipped Outcome = "skipped"
)

// Meter counts. Its series are bounded: rules, outcomes and operations are fixed. It is to be registered once, and may be used
// concurrently.
type Meter struct {
	rules    *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

// New returns a meter that has counted nothing, and is not registered.
func New() *Meter {
	return &Meter{
		rules: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "machinist_reference_validation_rules_total",
			Help: "Rules of Machinist's own that were judged at admission of a Machine, by outcome: allow, warn, deny, error (could not be judged, so allowed) or skipped (by annotation).",
		}, []string{"rule", "outcome", "operation"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "machinist_reference_validation_duration_seconds",
			Help:    "Time that admission of a Machine has waited for the validation of its references.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
		}, []string{"operation"}),
	}
}

// Count adds what came of the rule, once for each part of a Machine that it judges.
func (m *Meter) Count(rule string, outcome Outcome, operation admissionv1.Operation) {
	m.rules.WithLabelValues(rule, string(outcome), labelOf(operation)).Inc()
}

// Observe adds the time that a request has waited for the rules that look something up.
func (m *Meter) Observe(since time.Time, operation admissionv1.Operation) {
	m.duration.WithLabelValues(labelOf(operation)).Observe(time.Since(since).Seconds())
}

// Describe implements prometheus.Collector.
func (m *Meter) Describe(descriptions chan<- *prometheus.Desc) {
	m.rules.Describe(descriptions)
	m.duration.Describe(descriptions)
}

// Collect implements prometheus.Collector.
func (m *Meter) Collect(metrics chan<- prometheus.Metric) {
	m.rules.Collect(metrics)
	m.duration.Collect(metrics)
}

// labelOf bounds what an AdmissionReview of anybody's making could make up.
func labelOf(operation admissionv1.Operation) string {
	switch operation {
	case admissionv1.Create, admissionv1.Update:
		return strings.ToLower(string(operation))
	}
	return "other"
}
