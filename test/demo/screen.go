// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"golang.org/x/term"
)

// ANSI escape sequences.
const (
	clearBelow = "\x1b[J"
	bold       = "\x1b[1m"
	green      = "\x1b[32m"
	yellow     = "\x1b[33m"
	red        = "\x1b[31m"
	reset      = "\x1b[0m"
)

// screen is where the demo shows things: a terminal, on which a table is redrawn in place and has colours, or a file or
// pipe, which gets a line per change.
type screen struct {
	out      io.Writer
	terminal bool
	width    func() int
	// drawn is how many lines the next redraw replaces.
	drawn int
	// shown is what a file got last, by name.
	shown map[string]row
	// progress is the last progress line of a file.
	progress string
}

func newScreen(out io.Writer) *screen {
	s := &screen{out: out, shown: map[string]row{}, width: func() int { return 0 }}
	if file, ok := out.(*os.File); ok && term.IsTerminal(int(file.Fd())) && os.Getenv("TERM") != "dumb" {
		s.terminal = true
		s.width = func() int {
			width, _, err := term.GetSize(int(file.Fd()))
			if err != nil {
				return 0
			}
			return width
		}
	}
	return s
}

// step prints what happens next.
func (s *screen) step(text string) { s.print(s.color(bold, "» ") + text + "\n") }

// print writes text below everything that was drawn.
func (s *screen) print(text string) {
	s.drawn = 0
	fmt.Fprint(s.out, text)
}

// table shows Machines, one per line.
func (s *screen) table(rows []row) {
	if !s.terminal {
		s.lines(rows)
		return
	}
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "MACHINE\tPHASE\tNODE\tPROVIDER ID\tWAITS FOR")
	for _, r := range rows {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", r.name, dash(r.phase), dash(r.node), dash(short(r.providerID)), r.waitsFor)
	}
	_ = table.Flush() // a strings.Builder never fails
	s.redraw(strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n"), rows)
}

// redraw replaces what the last redraw has drawn.
func (s *screen) redraw(lines []string, rows []row) {
	width := s.width()
	var text strings.Builder
	if s.drawn > 0 {
		fmt.Fprintf(&text, "\x1b[%dA\r%s", s.drawn, clearBelow)
	}
	for i, line := range lines {
		line = truncate(line, width)
		switch {
		case i == 0:
			line = bold + line + reset
		case i <= len(rows):
			line = phaseColor(rows[i-1].phase) + line + reset
		}
		text.WriteString(line + "\n")
	}
	fmt.Fprint(s.out, text.String())
	s.drawn = len(lines)
}

// lines prints what changed since the last time.
func (s *screen) lines(rows []row) {
	present := map[string]bool{}
	for _, r := range rows {
		present[r.name] = true
		if s.shown[r.name] != r {
			s.shown[r.name] = r
			fmt.Fprintf(s.out, "%-22s %-12s node %-22s %s  %s\n", r.name, dash(r.phase), dash(r.node), dash(r.providerID), r.waitsFor)
		}
	}
	for name := range s.shown {
		if !present[name] {
			delete(s.shown, name)
			fmt.Fprintf(s.out, "%-22s gone\n", name)
		}
	}
}

// counts shows Machines as numbers per phase.
func (s *screen) counts(rows []row, total int) {
	phases := map[string]int{}
	for _, r := range rows {
		phases[r.phase]++
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%d of %d created", len(rows), total)
	for _, phase := range []string{"Pending", "Provisioning", "Provisioned", "Running", "Deleting"} {
		fmt.Fprintf(&text, "  %s %d", phase, phases[phase])
	}
	line := text.String()
	switch {
	case s.terminal:
		s.redraw([]string{line}, nil)
	case line != s.progress:
		s.progress = line
		fmt.Fprintln(s.out, line)
	}
}

func (s *screen) color(code, text string) string {
	if !s.terminal {
		return text
	}
	return code + text + reset
}

func phaseColor(phase string) string {
	switch phase {
	case "Running":
		return green
	case "Failed":
		return red
	default:
		return yellow
	}
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// short keeps the end of a provider ID, which is what differs.
func short(id string) string {
	const length = 20
	if utf8.RuneCountInString(id) <= length {
		return id
	}
	runes := []rune(id)
	return "…" + string(runes[len(runes)-length:])
}

// truncate cuts a line so that it doesn't wrap; 0 means that the width isn't known.
func truncate(line string, width int) string {
	runes := []rune(line)
	if width <= 0 || len(runes) <= width {
		return line
	}
	return string(runes[:width-1]) + "…"
}
