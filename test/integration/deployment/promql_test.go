// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package deployment

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// question is asked of Prometheus's engine; see test/promql.
type question struct {
	Series   []string
	Interval int
	Seconds  int
	Queries  map[string]string
}

// answer is what comes of a query.
type answer struct {
	Results []struct {
		Labels map[string]string
		Points []struct {
			Second int
			Value  string
		}
	}
	Selectors []selector
	Grouping  []string
}

// selector is series that a query reads, by what their labels have to be.
type selector []struct{ Label, Operator, Value string }

// ask returns the answers to each question, by the names of its queries.
func ask(ctx context.Context, questions ...question) []map[string]answer {
	GinkgoHelper()
	input := &bytes.Buffer{}
	for _, q := range questions {
		Expect(json.NewEncoder(input).Encode(q)).To(Succeed())
	}
	command := exec.CommandContext(ctx, "go", "-C", "../../promql", "run", ".")
	command.Stdin, command.Stderr = input, GinkgoWriter
	output, err := command.Output()
	Expect(err).NotTo(HaveOccurred())
	answers := make([]map[string]answer, len(questions))
	decoder := json.NewDecoder(bytes.NewReader(output))
	for i := range answers {
		Expect(decoder.Decode(&answers[i])).To(Succeed())
	}
	return answers
}

// seconds is the longest time for which a series of the answer has been there without a break; -1 if there is none.
func (a answer) seconds(interval int) int {
	longest := -1
	for _, result := range a.Results {
		since := 0
		for i, p := range result.Points {
			if i == 0 || p.Second != result.Points[i-1].Second+interval {
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

// String is the selector as a query.
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
