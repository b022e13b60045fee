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

// series are in the order of their labels. They implement storage.Queryable.
type series []promql.Series

// parse reads series in the notation of promtool.
func parse(language parser.Parser, texts []string, interval time.Duration) (series, error) {
	var all series
	for _, text := range texts {
		name, values, err := language.ParseSeriesDesc(text)
		if err != nil {
			return nil, fmt.Errorf("reading the series %q: %w", text, err)
		}
		one := promql.Series{Metric: name}
		for i, value := range values {
			if !value.Omitted {
				one.Floats = append(one.Floats, promql.FPoint{T: int64(i) * interval.Milliseconds(), F: value.Value})
			}
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b promql.Series) int { return labels.Compare(a.Metric, b.Metric) })
	return all, nil
}

// Querier implements storage.Queryable. Its querier returns series as a whole, whatever time is asked for.
func (s series) Querier(_, _ int64) (storage.Querier, error) {
	return &storage.MockQuerier{SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
		found := &selection{}
		for _, one := range s {
			if !slices.ContainsFunc(matchers, func(matcher *labels.Matcher) bool { return !matcher.Matches(one.Metric.Get(matcher.Name)) }) {
				found.rest = append(found.rest, one)
			}
		}
		return found
	}}, nil
}

// selection implements storage.SeriesSet.
type selection struct {
	current promql.Series
	rest    series
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
