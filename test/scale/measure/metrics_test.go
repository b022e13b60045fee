// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

var names = ReconcileMetrics{Controller: "machine", Total: "reconcile_total", Time: "reconcile_time_seconds"}

// exporter serves metrics as a manager does, and returns what to fill them with.
func exporter(t *testing.T) (url string, total *prometheus.CounterVec, took *prometheus.HistogramVec) {
	t.Helper()
	total = prometheus.NewCounterVec(prometheus.CounterOpts{Name: names.Total}, []string{"controller", "result"})
	took = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: names.Time, NativeHistogramBucketFactor: 1.1}, []string{"controller"})
	registry := prometheus.NewRegistry()
	registry.MustRegister(total, took)
	server := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	t.Cleanup(server.Close)
	return server.URL, total, took
}

func TestScrapeReconcilesOfOneController(t *testing.T) {
	g := NewWithT(t)
	url, total, took := exporter(t)
	total.WithLabelValues("machine", "success").Add(5)
	total.WithLabelValues("machine", "error").Add(2)
	total.WithLabelValues("cluster", "error").Add(40)
	total.WithLabelValues("zone", "error").Add(50)
	for range 7 {
		took.WithLabelValues("machine").Observe(0.002)
	}
	took.WithLabelValues("cluster").Observe(9)
	took.WithLabelValues("zone").Observe(9)

	found, err := ScrapeReconciles(t.Context(), url, names)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found.Errors).To(BeEquivalentTo(2))
	g.Expect(found.Time.Count).To(BeEquivalentTo(7))
	g.Expect(found.Time.Mean()).To(BeNumerically("~", 2*time.Millisecond, time.Microsecond))
	g.Expect(found.Time.Quantile(0.99)).To(BeNumerically("~", 2*time.Millisecond, 200*time.Microsecond))

	total.WithLabelValues("machine", "error").Inc()
	took.WithLabelValues("machine").Observe(0.5)
	later, err := ScrapeReconciles(t.Context(), url, names)
	g.Expect(err).NotTo(HaveOccurred())
	since := later.Since(found)
	g.Expect(since.Errors).To(BeEquivalentTo(1))
	g.Expect(since.Time.Count).To(BeEquivalentTo(1))
	g.Expect(since.Time.Quantile(0.5)).To(BeNumerically("~", 500*time.Millisecond, 50*time.Millisecond))
}

func TestScrapeOfAControllerThatHasNotReconciled(t *testing.T) {
	g := NewWithT(t)
	url, _, _ := exporter(t)
	found, err := ScrapeReconciles(t.Context(), url, names)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found.Time.Count).To(BeZero())
}

func TestScrapeErrorsNameTheEndpoint(t *testing.T) {
	g := NewWithT(t)
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	_, err := ScrapeReconciles(t.Context(), server.URL, names)
	g.Expect(err).To(MatchError(And(ContainSubstring(server.URL), ContainSubstring("404"))))
}
