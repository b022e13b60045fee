// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package facadegen

import (
	"go/ast"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/markers"
)

// fieldParser parses the fields of one kind and keeps where their markers are, to report conflicts between them.
type fieldParser struct {
	*parser
	file *ast.File
	kind string
	// placed is every place at which a field is read, in the order of the source.
	placed []placedField
	// shares is the marker sharesPathWith of a field.
	shares map[string]*ast.Comment
	// names are the fields so far, by the names that generated code gives them.
	names map[string]string
}

// placedField is a field at a place.
type placedField struct {
	field   string
	version int
	path    string
	comment *ast.Comment
}

// reservedNames are methods that every wrapper or builder has.
var reservedNames = []string{
	"Build", "ContractVersion", "Findings", "GroupVersionKind", "Name", "Namespace", "Object", "Value",
}

func (p *fieldParser) parse(field *ast.Field) []Field {
	a := p.markersOf(field.Doc, markers.DescribesField, true)
	if len(field.Names) == 0 {
		p.errorf(field, "%s: embedded fields are not supported: name the field", p.kind)
		return nil
	}
	if len(field.Names) > 1 {
		p.errorf(field.Names[1], "%s: one field per line, so that each has its own markers", p.kind)
	}
	name := field.Names[0]
	if !name.IsExported() || slices.Contains(reservedNames, name.Name) {
		p.errorf(name, "%s.%s: the name of a contract field must be exported and none of %s", p.kind, name.Name, strings.Join(reservedNames, ", "))
	}
	if other := p.names[lowerFirst(name.Name)]; other != "" {
		p.errorf(name, "%s.%s: the name is too much like that of the field %s: generated code can't tell them apart", p.kind, name.Name, other)
	}
	p.names[lowerFirst(name.Name)] = name.Name
	f := Field{
		Name: name.Name, Doc: p.docOf(field.Doc, name, name.Name),
		Required: a.flag(markerRequired), Deprecated: a.flag(markerDeprecated),
		Lenient: a.flag(markerLenient), Presence: a.flag(markerPresence),
		Informational: a.flag(markerInformational),
	}
	if a.lacks(markerWriter) {
		p.errorf(name, "%s.%s: marker +%s is missing", p.kind, name.Name, markerWriter)
	}
	f.Writer, _ = a.text(markerWriter, "")
	f.Type = p.parseType(field.Type, p.file, a)
	p.parsePlace(&f, name, a)
	p.parseDefault(&f, a)
	if names, at := a.words(markerSharesPathWith); at != nil {
		p.shares[f.Name], f.SharesPathWith = at, names
	}
	return []Field{f}
}

// parsePlace finds out where the field is: at paths, in a label, or in an annotation.
func (p *fieldParser) parsePlace(f *Field, name *ast.Ident, a attached) {
	var labelAt, annotationAt *ast.Comment
	f.Label, labelAt = a.text(markerLabel, "")
	f.Annotation, annotationAt = a.text(markerAnnotation, "")
	if labelAt == nil && annotationAt == nil {
		if slices.Contains(a.broken, markerLabel) || slices.Contains(a.broken, markerAnnotation) {
			return
		}
		p.parsePaths(f, name, a)
		if presence := a.find(markerPresence, ""); presence != nil {
			p.errorf(presence.comment, "marker +%s: has a meaning only with +%s or +%s", markerPresence, markerLabel, markerAnnotation)
		}
		return
	}
	at := labelAt
	if at == nil {
		at = annotationAt
	}
	if labelAt != nil && annotationAt != nil {
		p.errorf(annotationAt, "marker +%s: %s.%s is a label already", markerAnnotation, p.kind, f.Name)
	}
	for _, m := range a.list {
		switch m.name {
		case markerPath, markerHome, markerRequired:
			p.errorf(m.comment, "marker +%s: has no meaning on a label or an annotation", m.name)
		}
	}
	if allowed := []string{"String", "Time", "Duration"}; f.Presence != (f.Type.Kind == "Bool") || (!f.Presence && !slices.Contains(allowed, f.Type.Kind)) {
		p.errorf(at, "marker %s: a label or an annotation is a string, metav1.Time or metav1.Duration, or a bool with +%s",
			markerText(at), markerPresence)
	}
	place := "metadata.labels[" + f.Label + "]"
	if labelAt == nil {
		place = "metadata.annotations[" + f.Annotation + "]"
	}
	p.place(f.Name, -1, place, at)
}

// noPath in place of a path says that a contract version doesn't have the field.
const noPath = "-"

var pathPattern = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_-]*(\.[a-zA-Z][a-zA-Z0-9_-]*)*$`)

func (p *fieldParser) parsePaths(f *Field, name *ast.Ident, a attached) {
	p.checkVersions(a)
	inSomeVersion := false
	for version, v := range p.contract.Versions {
		text, at := a.text(markerPath, v.Value)
		if at == nil {
			text, at = a.text(markerPath, "")
		}
		if at == nil && a.lacks(markerPath) {
			p.errorf(name, "%s.%s: marker +%s is missing for contract version %s: if that version doesn't have the field, say +%s:%s=%s",
				p.kind, f.Name, markerPath, v.Value, markerPath, v.Value, noPath)
		}
		inSomeVersion = inSomeVersion || text != noPath
		var paths []string
		if at != nil && text != "" && text != noPath {
			paths = p.splitPaths(text, at)
		}
		for _, path := range paths {
			p.place(f.Name, version, path, at)
		}
		f.Paths = append(f.Paths, paths)
		f.Home = append(f.Home, p.parseHome(v.Value, paths, a))
	}
	if !inSomeVersion {
		p.errorf(name, "%s.%s: no contract version has the field", p.kind, f.Name)
	}
}

// checkVersions reports markers for contract versions that don't exist.
func (p *fieldParser) checkVersions(a attached) {
	for _, m := range a.list {
		known := slices.ContainsFunc(p.contract.Versions, func(v Version) bool { return v.Value == m.version })
		if m.version != "" && !known {
			p.errorf(m.comment, "marker +%s:%s: contract version %s is not in the marker +%s", m.name, m.version, m.version, markerVersions)
		}
	}
}

func (p *fieldParser) splitPaths(text string, at *ast.Comment) []string {
	var paths []string
	for path := range strings.SplitSeq(text, ";") {
		switch {
		case !pathPattern.MatchString(path):
			p.errorf(at, "marker %s: %q is no path: it has keys separated by dots, as in status.ready", markerText(at), path)
		case slices.Contains([]string{"metadata", "apiVersion", "kind"}, strings.Split(path, ".")[0]):
			p.errorf(at, "marker %s: a contract can't redefine %s; for metadata there are +%s and +%s", markerText(at), path, markerLabel, markerAnnotation)
		case slices.Contains(paths, path):
			p.errorf(at, "marker %s: names %s twice", markerText(at), path)
		default:
			paths = append(paths, path)
		}
	}
	return paths
}

func (p *fieldParser) parseHome(version string, paths []string, a attached) string {
	home, at := a.text(markerHome, version)
	if at == nil {
		home, at = a.text(markerHome, "")
	}
	switch {
	case at != nil && len(paths) == 0:
		p.errorf(at, "marker %s: contract version %s doesn't have the field", markerText(at), version)
	case at != nil && !slices.Contains(paths, home):
		p.errorf(at, "marker %s: is none of the places of contract version %s: %s", markerText(at), version, strings.Join(paths, ", "))
	case at == nil && len(paths) > 0:
		return paths[0]
	}
	return home
}

// parseDefault turns the text of a default into a Go literal.
func (p *fieldParser) parseDefault(f *Field, a attached) {
	text, at := a.text(markerDefault, "")
	if at == nil {
		return
	}
	f.Default = text
	var err error
	switch f.Type.Kind {
	case "String":
		if unquoted, err := strconv.Unquote(text); err == nil {
			text = unquoted
		}
		f.Default = strconv.Quote(text)
		if len(f.Type.Enum) > 0 && !slices.Contains(f.Type.Enum, text) {
			p.errorf(at, "marker %s: is none of the values of +%s", markerText(at), markerEnum)
		}
	case "Bool":
		if text != "true" && text != "false" {
			err = strconv.ErrSyntax
		}
	case "Int32":
		_, err = strconv.ParseInt(text, 10, 32)
	case "Int64":
		_, err = strconv.ParseInt(text, 10, 64)
	default:
		p.errorf(at, "marker %s: only string, bool, int32 and int64 have defaults", markerText(at))
		return
	}
	if f.Presence {
		p.errorf(at, "marker %s: a field with +%s always has a value", markerText(at), markerPresence)
	}
	if err != nil {
		p.errorf(at, "marker %s: %q is no %s", markerText(at), text, strings.ToLower(f.Type.Kind))
	}
}

func (p *fieldParser) place(field string, version int, path string, at *ast.Comment) {
	p.placed = append(p.placed, placedField{field, version, path, at})
}

// checkRelations reports two fields at one place and places inside each other, both within a contract version.
func (p *fieldParser) checkRelations(fields []Field) {
	declared := map[string][]string{}
	for _, f := range fields {
		declared[f.Name] = f.SharesPathWith
	}
	isDeclared := func(a, b string) bool { return slices.Contains(declared[a], b) || slices.Contains(declared[b], a) }
	sharing := map[[2]string]bool{}
	for i, b := range p.placed {
		for _, a := range p.placed[:i] {
			if a.field == b.field || a.version != b.version {
				continue
			}
			switch {
			case a.path == b.path && isDeclared(a.field, b.field):
				sharing[[2]string{a.field, b.field}], sharing[[2]string{b.field, a.field}] = true, true
			case a.path == b.path:
				p.errorf(b.comment, "marker %s: %s is where %s.%s is read from: if both are to be, say so with +%s",
					markerText(b.comment), b.path, p.kind, a.field, markerSharesPathWith)
			case strings.HasPrefix(b.path, a.path+"."):
				p.errorf(b.comment, "marker %s: %s is inside of %s, where %s.%s is read from: make it a member of a struct instead",
					markerText(b.comment), b.path, a.path, p.kind, a.field)
			case strings.HasPrefix(a.path, b.path+"."):
				p.errorf(b.comment, "marker %s: %s is around %s, where %s.%s is read from: make that a member of a struct instead",
					markerText(b.comment), b.path, a.path, p.kind, a.field)
			}
		}
	}
	for name, at := range p.shares {
		for _, other := range declared[name] {
			if !sharing[[2]string{name, other}] {
				p.errorf(at, "marker %s: %s and %s share no place", markerText(at), name, other)
			}
		}
	}
}
