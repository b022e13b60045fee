// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package coverage holds docs/coverage.md against the tests that it names.
package coverage

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	root  = "../.."
	table = root + "/docs/coverage.md"
)

// behaviours is how many there are under each letter.
var behaviours = map[string]int{
	"A": 18, "B": 10, "C": 17, "D": 7, "E": 21, "F": 18, "G": 18, "H": 27, "I": 42, "J": 12, "K": 71, "L": 18,
	"M": 10, "N": 21, "O": 5, "P": 11, "Q": 8, "R": 17, "S": 8, "T": 13, "U": 10, "V": 8, "W": 5, "X": 27,
}

// row is a row of the table.
type row struct {
	line       int
	behaviours []string
	file       string // "" if there is no test
	specs      []string
	reason     string
}

var (
	rowPattern  = regexp.MustCompile(`^\| ([A-Z][0-9].*?) \| (.+?) \| (\S+) \| (.+) \|$`)
	idPattern   = regexp.MustCompile(`^([A-Z])([0-9]{2})(?:–([A-Z])([0-9]{2}))?$`)
	specPattern = regexp.MustCompile("`([^`]+)`")
	funcPattern = regexp.MustCompile(`^(Test|Fuzz)[A-Z][A-Za-z0-9]*$`)
)

func TestCoverage(t *testing.T) {
	content, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	rows, problems := parse(string(content))
	for _, r := range rows {
		problems = append(problems, r.check()...)
	}
	problems = append(problems, missing(rows)...)
	for _, problem := range problems {
		t.Error("docs/coverage.md: " + problem)
	}
}

func parse(content string) (rows []row, problems []string) {
	for i, line := range strings.Split(content, "\n") {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| ---") || strings.HasPrefix(line, "| behaviour") {
			continue
		}
		cells := rowPattern.FindStringSubmatch(line)
		if cells == nil {
			problems = append(problems, fmt.Sprintf("line %d is no row of four cells that begins with behaviours", i+1))
			continue
		}
		r := row{line: i + 1}
		for id := range strings.SplitSeq(cells[1], ", ") {
			expanded, ok := expand(id)
			if !ok {
				problems = append(problems, fmt.Sprintf("line %d: %q is no behaviour and no range of them", i+1, id))
			}
			r.behaviours = append(r.behaviours, expanded...)
		}
		if cells[3] == "–" {
			r.reason = cells[4]
		} else {
			r.file = cells[3]
			for _, spec := range specPattern.FindAllStringSubmatch(cells[4], -1) {
				r.specs = append(r.specs, strings.ReplaceAll(spec[1], `\|`, "|"))
			}
		}
		rows = append(rows, r)
	}
	return rows, problems
}

// expand returns the behaviours of "A01" and of "A01–A05".
func expand(id string) ([]string, bool) {
	parts := idPattern.FindStringSubmatch(id)
	if parts == nil || (parts[3] != "" && parts[3] != parts[1]) {
		return nil, false
	}
	first, last := parts[2], parts[2]
	if parts[4] != "" {
		last = parts[4]
	}
	from, errFrom := strconv.Atoi(first)
	to, errTo := strconv.Atoi(last)
	if errFrom != nil || errTo != nil || to < from || from < 1 || to > behaviours[parts[1]] {
		return nil, false
	}
	var all []string
	for n := from; n <= to; n++ {
		all = append(all, fmt.Sprintf("%s%02d", parts[1], n))
	}
	return all, true
}

// check looks for the tests in the file.
func (r row) check() []string {
	if r.file == "" {
		return nil // the pattern asks for a reason
	}
	source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(r.file)))
	if err != nil || !strings.HasSuffix(r.file, "_test.go") {
		return []string{fmt.Sprintf("line %d: there are no tests in %s", r.line, r.file)}
	}
	if len(r.specs) == 0 {
		return []string{fmt.Sprintf("line %d names no spec of %s", r.line, r.file)}
	}
	var problems []string
	for _, spec := range r.specs {
		text := strconv.Quote(spec)
		if funcPattern.MatchString(spec) {
			text = "func " + spec + "("
		}
		if !bytes.Contains(source, []byte(text)) {
			problems = append(problems, fmt.Sprintf("line %d: %s has no spec %s", r.line, r.file, text))
		}
	}
	return problems
}

// missing returns the behaviours that have no row.
func missing(rows []row) []string {
	have := map[string]bool{}
	for _, r := range rows {
		for _, id := range r.behaviours {
			have[id] = true
		}
	}
	var problems []string
	for letter, count := range behaviours {
		for n := 1; n <= count; n++ {
			if id := fmt.Sprintf("%s%02d", letter, n); !have[id] {
				problems = append(problems, id+" has no row")
			}
		}
	}
	slices.Sort(problems)
	return problems
}

func TestWhatIsRefused(t *testing.T) {
	for name, test := range map[string]struct{ table, problem string }{
		"fewer cells":        {"| A01 | what | – |", "is no row"},
		"no behaviour":       {"| A1 | what | – | why |", "is no behaviour"},
		"beyond the last":    {"| D08 | what | – | why |", "is no behaviour"},
		"of two letters":     {"| A01–B02 | what | – | why |", "is no behaviour"},
		"backwards":          {"| A02–A01 | what | – | why |", "is no behaviour"},
		"no such file":       {"| A01 | what | test/none_test.go | `spec` |", "there are no tests in"},
		"no tests":           {"| A01 | what | README.md | `Machinist` |", "there are no tests in"},
		"no spec":            {"| A01 | what | test/coverage/coverage_test.go | spec |", "names no spec"},
		"no such spec":       {"| A01 | what | test/coverage/coverage_test.go | `no such` + `spec` |", "has no spec"},
		"no such function":   {"| A01 | what | test/coverage/coverage_test.go | `TestNothing` |", "has no spec func"},
		"all but one has it": {"| A02–A18 | what | – | why |", "A01 has no row"},
	} {
		t.Run(name, func(t *testing.T) {
			rows, problems := parse(test.table)
			for _, r := range rows {
				problems = append(problems, r.check()...)
			}
			problems = append(problems, missing(rows)...)
			if !slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, test.problem) }) {
				t.Errorf("got %q", problems)
			}
		})
	}
}
