// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Command promql evaluates expressions about series that it is given. It reads queries as JSON from stdin, and writes the results of
// each to stdout, by the names of the expressions. Time begins at 0, which is the beginning of the series.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// queries are expressions about the same series.
type queries struct {
	// Series are written as in unit tests of promtool: metric{label="value"} 1 2 3+1x7.
	Series []string
	// Interval is the time between two values of a series, and between two points of a result, in seconds.
	Interval int
	// Seconds is the time of the last point.
	Seconds int
	// Expressions are what is evaluated, by names.
	Expressions map[string]string
}

// result is what comes of an expression.
type result struct {
	// Series have a point at each interval; one that has no value at some time has none there.
	Series []resultSeries
	// Selectors are the series that the expression reads, each as its matchers.
	Selectors [][]matcher
	// Grouping are the labels that it groups by.
	Grouping []string
}

type resultSeries struct {
	Labels map[string]string
	// Points are in the order of time. Values are texts, as JSON has no numbers for NaN and the infinities.
	Points []point
}

type point struct {
	Second int
	Value  string
}

type matcher struct{ Label, Operator, Value string }

func main() {
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "promql: %v\n", err)
		os.Exit(1)
	}
}

func run() error {
	input, output := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	language := parser.NewParser(parser.Options{})
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 50_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, Parser: language})
	for {
		var q queries
		if err := input.Decode(&q); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("reading queries: %w", err)
		}
		stored, err := parse(language, q.Series, time.Duration(q.Interval)*time.Second)
		if err != nil {
			return err
		}
		results := map[string]result{}
		for name, text := range q.Expressions {
			if results[name], err = evaluate(engine, language, stored, q, text); err != nil {
				return fmt.Errorf("%s: %s: %w", name, text, err)
			}
		}
		if err := output.Encode(results); err != nil {
			return err
		}
	}
}

func evaluate(engine *promql.Engine, language parser.Parser, stored series, q queries, text string) (result, error) {
	expression, err := language.ParseExpr(text)
	if err != nil {
		return result{}, err
	}
	r := result{}
	for _, selector := range parser.ExtractSelectors(expression) {
		var matchers []matcher
		for _, m := range selector {
			matchers = append(matchers, matcher{m.Name, m.Type.String(), m.Value})
		}
		r.Selectors = append(r.Selectors, matchers)
	}
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		if aggregate, ok := node.(*parser.AggregateExpr); ok && !aggregate.Without {
			r.Grouping = append(r.Grouping, aggregate.Grouping...)
		}
		return nil
	})
	slices.Sort(r.Grouping)
	r.Grouping = slices.Compact(r.Grouping)

	ctx := context.Background()
	query, err := engine.NewRangeQuery(ctx, stored, nil, text, time.UnixMilli(0), time.Unix(int64(q.Seconds), 0), time.Duration(q.Interval)*time.Second)
	if err != nil {
		return result{}, err
	}
	defer query.Close()
	matrix, err := query.Exec(ctx).Matrix()
	if err != nil {
		return result{}, err
	}
	for _, found := range matrix {
		s := resultSeries{Labels: map[string]string{}}
		found.Metric.Range(func(l labels.Label) { s.Labels[l.Name] = l.Value })
		for _, p := range found.Floats {
			s.Points = append(s.Points, point{int(p.T / 1000), fmt.Sprint(p.F)})
		}
		r.Series = append(r.Series, s)
	}
	return r, nil
}
