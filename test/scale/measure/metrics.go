// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// ReconcileMetrics names the metrics by which a manager tells of the reconciles of one controller.
type ReconcileMetrics struct {
	// Controller is the value of the label controller.
	Controller string
	// Total is a counter with the label result, Time a histogram of seconds.
	Total, Time string
}

// Reconciles is what a controller has done since its process started, or between two moments.
type Reconciles struct {
	// Time holds how many there were, and how long they took.
	Time Histogram
	// Errors is how many of them ended in an error.
	Errors uint64
}

// Since returns what was done after earlier, which must be from the same process.
func (r Reconciles) Since(earlier Reconciles) Reconciles {
	return Reconciles{Time: r.Time.Since(earlier.Time), Errors: r.Errors - earlier.Errors}
}

// resultError is the value of the label result of a reconcile that failed.
const resultError = "error"

// scrapeTimeout bounds one scrape: a manager with all CPUs busy answers late.
const scrapeTimeout = 20 * time.Second

// ScrapeReconciles reads a controller's metrics from the endpoint url. A controller that has not reconciled yet has none.
func ScrapeReconciles(ctx context.Context, url string, names ReconcileMetrics) (Reconciles, error) {
	var reconciles Reconciles
	err := scrape(ctx, url, func(family *dto.MetricFamily) error {
		for _, metric := range family.GetMetric() {
			if label(metric, "controller") != names.Controller {
				continue
			}
			switch family.GetName() {
			case names.Total:
				if label(metric, "result") == resultError {
					reconciles.Errors = uint64(metric.GetCounter().GetValue())
				}
			case names.Time:
				var err error
				if reconciles.Time, err = newHistogram(metric.GetHistogram()); err != nil {
					return fmt.Errorf("metric %s of controller %s: %w", names.Time, names.Controller, err)
				}
			}
		}
		return nil
	})
	if err != nil {
		return reconciles, fmt.Errorf("reading the metrics at %s: %w", url, err)
	}
	return reconciles, nil
}

func label(metric *dto.Metric, name string) string {
	for _, pair := range metric.GetLabel() {
		if pair.GetName() == name {
			return pair.GetValue()
		}
	}
	return ""
}

// scrape calls visit with each family of metrics. It asks for protobuf, the only format with native histograms.
func scrape(ctx context.Context, url string, visit func(*dto.MetricFamily) error) error {
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
	defer cancel()
	format := expfmt.NewFormat(expfmt.TypeProtoDelim)
	body, err := get(ctx, url, string(format))
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }() // only read
	decoder := expfmt.NewDecoder(body, format)
	for {
		family := &dto.MetricFamily{}
		if err := decoder.Decode(family); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := visit(family); err != nil {
			return err
		}
	}
}

// get returns the body of the answer to a GET, which the caller must close.
func get(ctx context.Context, url, accept string) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", accept)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		_ = response.Body.Close() // its content does not matter
		return nil, fmt.Errorf("expected status 200, found %s", response.Status)
	}
	return response.Body, nil
}
