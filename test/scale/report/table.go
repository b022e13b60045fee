// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/machinist-dev/machinist/test/scale/measure"
)

// missing stands where nothing was measured.
const missing = "–"

// Print writes the report as text with Markdown tables, so that it can be kept as it is.
func (r *Report) Print(w io.Writer) error {
	var text strings.Builder
	s := r.Settings
	pace := "as fast as it goes"
	if s.MachinesPerSecond > 0 {
		pace = fmt.Sprintf("%g per second", s.MachinesPerSecond)
	}
	fmt.Fprintf(&text, "%d Machines in %d Clusters, created %s; provider objects with %d bytes of payload; seed %d.\n",
		s.Machines, s.Clusters, pace, s.PayloadSize, s.Seed)
	fmt.Fprintf(&text, "Each manager: %d workers, %d requests per second and %d in a burst, resync every 10 h.\n", s.Concurrency, s.QPS, s.Burst)
	fmt.Fprintf(&text, "Host: %s, %d CPUs, %s, %.1f GB of memory; kube-apiserver %s, %s. %s.\n\n",
		r.Host.System, r.Host.CPUs, cmp.Or(r.Host.CPUModel, "unknown CPU"), mega(r.Host.MemoryBytes)/1000, r.Host.Kubernetes, r.Host.Go,
		r.Time.UTC().Format("2006-01-02 15:04 UTC"))
	for _, result := range r.results() {
		if result.Failure != "" {
			fmt.Fprintf(&text, "%s: incomplete, because %s\n\n", result.Manager, result.Failure)
		}
	}
	printTable(&text, r.figureCells())
	if p := r.Ours.Provisioning; p != nil {
		fmt.Fprintf(&text, "\nMean sizes of objects when Running, as JSON: Machine %d B, SimMachine %d B, SimConfig %d B, Node %d B.\n",
			p.Sizes.Machine, p.Sizes.InfraMachine, p.Sizes.BootstrapConfig, p.Sizes.Node)
	}
	r.printRequests(&text, "create → Running", func(result *Result) *Activity {
		if result.Provisioning == nil {
			return nil
		}
		return &result.Provisioning.Activity
	})
	r.printRequests(&text, "deletion", func(result *Result) *Activity {
		if result.Deletion == nil {
			return nil
		}
		return &result.Deletion.Activity
	})
	_, err := io.WriteString(w, text.String())
	return err
}

func (r *Report) results() []*Result {
	if r.Peer == nil {
		return []*Result{&r.Ours}
	}
	return []*Result{&r.Ours, r.Peer}
}

func (r *Report) figureCells() [][]string {
	cells := [][]string{{"what", "unit", "ours", "peer", "ours : peer", "budget", ""}}
	for _, figure := range r.Figures() {
		budget, verdict := "", ""
		if figure.Budget != nil {
			budget = "≤ " + format(figure.Budget)
		}
		if figure.Met != nil {
			verdict = "missed"
			if *figure.Met {
				verdict = "met"
			}
		}
		cells = append(cells, []string{
			figure.Name, figure.Unit, format(figure.Ours), format(figure.Peer), format(figure.Ratio), budget, verdict,
		})
	}
	return cells
}

// printRequests prints the requests per Machine of an activity, those to workload clusters marked as such.
func (r *Report) printRequests(text *strings.Builder, title string, of func(*Result) *Activity) {
	var columns []map[string]measure.Responses
	kinds := map[string]bool{}
	for _, result := range r.results() {
		column := map[string]measure.Responses{}
		if activity := of(result); activity != nil {
			maps.Copy(column, activity.Requests)
			for what, count := range activity.WorkloadRequests {
				column[what+" (workload)"] = count
			}
		}
		for what := range column {
			kinds[what] = true
		}
		columns = append(columns, column)
	}
	if len(kinds) == 0 {
		return
	}
	fmt.Fprintf(text, "\nRequests per Machine, %s; in parentheses how many of them conflicted.\n\n", title)
	head := []string{"request", "ours", "peer"}
	cells := [][]string{head[:1+len(columns)]}
	for _, what := range slices.Sorted(maps.Keys(kinds)) {
		row := []string{what}
		for _, column := range columns {
			cell := format(new(perMachine(r.Settings, column[what].All)))
			if conflicts := column[what].Conflicts; conflicts > 0 {
				cell += fmt.Sprintf(" (%s)", format(new(perMachine(r.Settings, conflicts))))
			}
			row = append(row, cell)
		}
		cells = append(cells, row)
	}
	printTable(text, cells)
}

// format shows three significant digits.
func format(value *float64) string {
	switch {
	case value == nil:
		return missing
	case *value == 0:
		return "0"
	}
	digits := max(0, 2-int(math.Floor(math.Log10(math.Abs(*value)))))
	text := fmt.Sprintf("%.*f", min(digits, 4), *value)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// printTable writes cells, of which the first row is the head, as a Markdown table with aligned columns.
func printTable(text *strings.Builder, cells [][]string) {
	widths := slices.Repeat([]int{3}, len(cells[0])) // Markdown wants three dashes
	for _, row := range cells {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	printRow := func(row []string) {
		for i, cell := range row {
			fmt.Fprintf(text, "| %s%s ", cell, strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
		}
		text.WriteString("|\n")
	}
	printRow(cells[0])
	rule := make([]string, len(widths))
	for i, width := range widths {
		rule[i] = strings.Repeat("-", width)
	}
	printRow(rule)
	for _, row := range cells[1:] {
		printRow(row)
	}
}
