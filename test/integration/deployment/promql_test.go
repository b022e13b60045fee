// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package deployment

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// queries are for Prometheus's engine; see test/promql.
type queries struct {
	Series      []string
	Interval    int
	Seconds     int
	Expressions map[string]string
}

// result is what comes of an expression.
type result struct {
	Series []struct {
		Labels map[string]string
		Points []struct {
			Second int
			Value  string
		}
	}
	Selectors []selector
	Grouping  []string
}

// selector is series that an expression reads, by what their labels have to be.
type selector []struct{ Label, Operator, Value string }

// engine is the path of the program in test/promql.
var engine string

// buildEngine builds it, once for the suite. Started by go run it would go on after a spec that is given up.
func buildEngine(ctx context.Context) {
	GinkgoHelper()
	engine = filepath.Join(GinkgoT().TempDir(), "promql")
	command := exec.CommandContext(ctx, "go", "-C", root+"/test/promql", "build", "-buildvcs=false", "-o", engine, ".")
	command.WaitDelay = time.Second // compilers may outlive the go command
	output, err := command.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(output))
}

// evaluate returns the results of each of the queries, by the names of its expressions.
func evaluate(ctx context.Context, all ...queries) []map[string]result {
	GinkgoHelper()
	input := &bytes.Buffer{}
	for _, q := range all {
		Expect(json.NewEncoder(input).Encode(q)).To(Succeed())
	}
	command := exec.CommandContext(ctx, engine)
	command.Stdin, command.Stderr = input, GinkgoWriter
	output, err := command.Output()
	Expect(err).NotTo(HaveOccurred())
	results := make([]map[string]result, len(all))
	decoder := json.NewDecoder(bytes.NewReader(output))
	for i := range results {
		Expect(decoder.Decode(&results[i])).To(Succeed())
	}
	return results
}

// seconds is the longest time for which a series of the result has been there without a break; -1 if there is none.
func (r result) seconds(interval int) int {
	longest := -1
	for _, series := range r.Series {
		since := 0
		for i, p := range series.Points {
			if i == 0 || p.Second != series.Points[i-1].Second+interval {
				since = p.Second
			}
			longest = max(longest, p.Second-since)
		}
	}
	return longest
}

// without returns a selector that takes any value of the labels, as long as there is one.
func (s selector) without(labels map[string]bool) selector {
	var relaxed selector
	for _, m := range s {
		if labels[m.Label] {
			m.Operator, m.Value = "!=", ""
		}
		relaxed = append(relaxed, m)
	}
	return relaxed
}

// having returns a selector that also takes no series without the label.
func (s selector) having(label string) selector {
	return append(append(selector{}, s...), selector{{label, "!=", ""}}...)
}

// String is the selector as an expression.
func (s selector) String() string {
	text := "{"
	for i, m := range s {
		if i > 0 {
			text += ","
		}
		text += m.Label + m.Operator + strconv.Quote(m.Value)
	}
	return text + "}"
}
