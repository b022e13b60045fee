// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Command promql answers queries about series that it is given: questions as JSON on stdin, and the answers to each on stdout, by
// the names of the queries. Time begins at 0, which is the beginning of the series.
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

// question is what is asked, all of it about the same series.
type question struct {
	// Series are written as in unit tests of promtool: metric{label="value"} 1 2 3+1x7.
	Series []string
	// Interval is the time between two values of a series, and between two points of an answer, in seconds.
	Interval int
	// Seconds is the time of the last point.
	Seconds int
	Queries map[string]string
}

// answer is what comes of a query.
type answer struct {
	// Results are its series at each interval; one that has no value at some time has no point.
	Results []result
	// Selectors are the series that it reads, each as its matchers.
	Selectors [][]matcher
	// Grouping are the labels that it groups by.
	Grouping []string
}

type result struct {
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
		var q question
		if err := input.Decode(&q); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("reading a question: %w", err)
		}
		stored, err := remember(language, q.Series, time.Duration(q.Interval)*time.Second)
		if err != nil {
			return err
		}
		answers := map[string]answer{}
		for name, text := range q.Queries {
			if answers[name], err = ask(engine, language, stored, q, text); err != nil {
				return fmt.Errorf("%s: %s: %w", name, text, err)
			}
		}
		if err := output.Encode(answers); err != nil {
			return err
		}
	}
}

func ask(engine *promql.Engine, language parser.Parser, stored memory, q question, text string) (answer, error) {
	expression, err := language.ParseExpr(text)
	if err != nil {
		return answer{}, err
	}
	a := answer{}
	for _, selector := range parser.ExtractSelectors(expression) {
		var matchers []matcher
		for _, m := range selector {
			matchers = append(matchers, matcher{m.Name, m.Type.String(), m.Value})
		}
		a.Selectors = append(a.Selectors, matchers)
	}
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		if aggregate, ok := node.(*parser.AggregateExpr); ok && !aggregate.Without {
			a.Grouping = append(a.Grouping, aggregate.Grouping...)
		}
		return nil
	})
	slices.Sort(a.Grouping)
	a.Grouping = slices.Compact(a.Grouping)

	ctx := context.Background()
	query, err := engine.NewRangeQuery(ctx, stored, nil, text, time.UnixMilli(0), time.Unix(int64(q.Seconds), 0), time.Duration(q.Interval)*time.Second)
	if err != nil {
		return answer{}, err
	}
	defer query.Close()
	matrix, err := query.Exec(ctx).Matrix()
	if err != nil {
		return answer{}, err
	}
	for _, found := range matrix {
		r := result{Labels: map[string]string{}}
		found.Metric.Range(func(l labels.Label) { r.Labels[l.Name] = l.Value })
		for _, p := range found.Floats {
			r.Points = append(r.Points, point{int(p.T / 1000), fmt.Sprint(p.F)})
		}
		a.Results = append(a.Results, r)
	}
	return a, nil
}
