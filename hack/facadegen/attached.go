// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package facadegen

import (
	"errors"
	"fmt"
	"go/ast"
	"slices"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"
)

// attached are the markers of one type or field, with their positions, which the collector of controller-tools drops.
type attached struct {
	source *source
	list   []attachedMarker
	// broken are the names of markers that could not be parsed; they are not missing too.
	broken []string
}

type attachedMarker struct {
	name    string
	version string
	value   any
	comment *ast.Comment
}

// source collects errors and keeps track of the marker comments that belong to something.
type source struct {
	registry *markers.Registry
	seen     map[*ast.Comment]bool
	errs     []error
}

func (s *source) errorf(at loader.Node, format string, args ...any) {
	err := loader.ErrFromNode(fmt.Errorf(format, args...), at)
	// What is wrong in all contract versions is said once.
	if !slices.ContainsFunc(s.errs, func(other error) bool { return position(other) == position(err) && other.Error() == err.Error() }) {
		s.errs = append(s.errs, err)
	}
}

// markerText returns the marker in a comment, with its plus sign, or "".
func markerText(comment *ast.Comment) string {
	text, isLine := strings.CutPrefix(comment.Text, "//")
	text = strings.TrimSpace(text)
	if !isLine || !strings.HasPrefix(text, "+") {
		return ""
	}
	return text
}

// markersOf parses the markers in a doc comment. Every marker that this generator doesn't know is an error if strict,
// for instance one with a misspelt prefix; otherwise only those with our prefix are.
func (s *source) markersOf(doc *ast.CommentGroup, target markers.TargetType, strict bool) attached {
	a := attached{source: s}
	if doc == nil {
		return a
	}
	for _, comment := range doc.List {
		text := markerText(comment)
		if text == "" || (!strict && !strings.HasPrefix(text, "+"+markerPrefix)) {
			continue
		}
		s.seen[comment] = true
		m, version := lookupMarker(text, target)
		if m == nil {
			s.errorf(comment, "unknown marker %s for a %s: see facade-gen -www for the markers there are", text, target)
			continue
		}
		value, err := s.registry.Lookup("+"+m.name, target).Parse(text)
		if err != nil {
			s.errorf(comment, "marker %s: %s", text, flatten(err))
			a.broken = append(a.broken, m.name)
			continue
		}
		if a.has(m.name, version) {
			s.errorf(comment, "marker %s: given twice", text)
			continue
		}
		a.list = append(a.list, attachedMarker{m.name, version, value, comment})
	}
	return a
}

func (a attached) find(name, version string) *attachedMarker {
	for i := range a.list {
		if a.list[i].name == name && a.list[i].version == version {
			return &a.list[i]
		}
	}
	return nil
}

func (a attached) has(name, version string) bool { return a.find(name, version) != nil }

func (a attached) flag(name string) bool { return a.has(name, "") }

// lacks says whether the marker is missing. One that is broken was reported already.
func (a attached) lacks(name string) bool { return !a.flag(name) && !slices.Contains(a.broken, name) }

// text is the value of a marker that takes any text.
func (a attached) text(name, version string) (string, *ast.Comment) {
	m := a.find(name, version)
	if m == nil {
		return "", nil
	}
	var text string
	switch value := m.value.(type) {
	case string:
		text = value
	case markers.RawArguments:
		text = string(value)
	}
	if text == "" {
		a.source.errorf(m.comment, "marker +%s: needs a value", name)
	}
	return text, m.comment
}

// words is the value of a marker that takes a list.
func (a attached) words(name string) ([]string, *ast.Comment) {
	m := a.find(name, "")
	if m == nil {
		return nil, nil
	}
	list := m.value.([]string)
	if len(list) == 0 || slices.Contains(list, "") {
		a.source.errorf(m.comment, "marker +%s: needs values, separated by semicolons", name)
	}
	for i, word := range list {
		if slices.Contains(list[:i], word) {
			a.source.errorf(m.comment, "marker +%s: lists %s twice", name, word)
		}
	}
	return list, m.comment
}

// reject reports all markers but the given ones, because they have no meaning where they are.
func (a attached) reject(why string, but ...string) {
	for _, m := range a.list {
		if !slices.Contains(but, m.name) {
			a.source.errorf(m.comment, "marker +%s: %s", m.name, why)
		}
	}
}

// checkAttached reports markers with our prefix that stand where nothing reads them.
func (s *source) checkAttached(files []*ast.File) {
	for _, file := range files {
		for _, group := range file.Comments {
			for _, comment := range group.List {
				text := markerText(comment)
				if !strings.HasPrefix(text, "+"+markerPrefix) || s.seen[comment] {
					continue
				}
				onType, _ := lookupMarker(text, markers.DescribesType)
				onField, _ := lookupMarker(text, markers.DescribesField)
				if onType == nil && onField == nil {
					s.errorf(comment, "unknown marker %s: see facade-gen -www for the markers there are", text)
					continue
				}
				s.errorf(comment, "marker %s: belongs to nothing: it has to be in the doc comment of the version type, "+
					"of a contract kind, of one of its fields, or of a field of a struct that they use", text)
			}
		}
	}
}

// docOf returns the lines of a doc comment without markers. It must begin with the name, as Go has it.
func (s *source) docOf(doc *ast.CommentGroup, at loader.Node, name string) []string {
	var lines []string
	if doc != nil {
		text := &ast.CommentGroup{}
		for _, comment := range doc.List {
			if markerText(comment) == "" {
				text.List = append(text.List, comment)
			}
		}
		if len(text.List) > 0 {
			lines = strings.Split(strings.TrimSpace(text.Text()), "\n")
		}
	}
	if len(lines) == 0 || !strings.HasPrefix(lines[0], name+" ") {
		s.errorf(at, "%s: needs a doc comment that begins with %q: it is the documentation of the promise", name, name+" ")
	}
	return lines
}

// flatten makes one line of the list of errors that parsing a marker returns. Wrapped, they would be reported one by
// one, without the marker.
func flatten(err error) string {
	var list loader.ErrList
	if !errors.As(err, &list) {
		return err.Error()
	}
	texts := make([]string, len(list))
	for i, err := range list {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}
