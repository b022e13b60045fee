// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

// memory has series in the order of their labels. It implements storage.Queryable.
type memory []promql.Series

// remember understands series in the notation of promtool.
func remember(language parser.Parser, texts []string, interval time.Duration) (memory, error) {
	var all memory
	for _, text := range texts {
		name, values, err := language.ParseSeriesDesc(text)
		if err != nil {
			return nil, fmt.Errorf("reading the series %q: %w", text, err)
		}
		series := promql.Series{Metric: name}
		for i, value := range values {
			if !value.Omitted {
				series.Floats = append(series.Floats, promql.FPoint{T: int64(i) * interval.Milliseconds(), F: value.Value})
			}
		}
		all = append(all, series)
	}
	slices.SortFunc(all, func(a, b promql.Series) int { return labels.Compare(a.Metric, b.Metric) })
	return all, nil
}

// Querier implements storage.Queryable. Its querier returns series as a whole, whatever time is asked for.
func (m memory) Querier(_, _ int64) (storage.Querier, error) {
	return &storage.MockQuerier{SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
		found := &selection{}
		for _, series := range m {
			if !slices.ContainsFunc(matchers, func(matcher *labels.Matcher) bool { return !matcher.Matches(series.Metric.Get(matcher.Name)) }) {
				found.rest = append(found.rest, series)
			}
		}
		return found
	}}, nil
}

// selection implements storage.SeriesSet.
type selection struct {
	current promql.Series
	rest    memory
}

func (s *selection) Next() bool {
	if len(s.rest) == 0 {
		return false
	}
	s.current, s.rest = s.rest[0], s.rest[1:]
	return true
}

func (s *selection) At() storage.Series                { return promql.NewStorageSeries(s.current) }
func (s *selection) Err() error                        { return nil }
func (s *selection) Warnings() annotations.Annotations { return nil }
