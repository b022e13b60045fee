// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import "github.com/prometheus/client_golang/prometheus"

var (
	expiryMetric = prometheus.NewDesc("machinist_webhook_certificate_expiry_timestamp_seconds",
		"When the certificates of the webhooks expire, in seconds since 1970: that which is served, and that of the authority which signs the next one.",
		[]string{"certificate"}, nil)
	failuresMetric = prometheus.NewDesc("machinist_webhook_certificate_failures_total",
		"Attempts to look after the certificates of the webhooks that have failed.", nil, nil)
	retiringMetric = prometheus.NewDesc("machinist_webhook_retiring_authorities",
		"Authorities of the webhooks that somebody has asked to retire, and that are still trusted.", nil, nil)
)

// Describe implements prometheus.Collector.
func (k *Keeper) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- expiryMetric
	descriptions <- failuresMetric
	descriptions <- retiringMetric
}

// Collect implements prometheus.Collector.
func (k *Keeper) Collect(metrics chan<- prometheus.Metric) {
	k.mu.RLock()
	current, failures := k.serving, k.failures
	k.mu.RUnlock()
	metrics <- prometheus.MustNewConstMetric(failuresMetric, prometheus.CounterValue, float64(failures))
	metrics <- prometheus.MustNewConstMetric(retiringMetric, prometheus.GaugeValue, float64(len(current.retiring)))
	if current.serving == nil {
		return
	}
	metrics <- prometheus.MustNewConstMetric(expiryMetric, prometheus.GaugeValue, float64(current.serving.Leaf.NotAfter.Unix()), "serving")
	metrics <- prometheus.MustNewConstMetric(expiryMetric, prometheus.GaugeValue, float64(current.authorities[0].NotAfter.Unix()), "authority")
}
