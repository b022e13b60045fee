// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package facadegen

import (
	"go/ast"
	"go/types"
	"path"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"
)

var scalarKinds = map[string]string{"string": "String", "bool": "Bool", "int32": "Int32", "int64": "Int64"}

// parseType understands the type of a field or member, and the markers that belong to types.
func (p *parser) parseType(expr ast.Expr, file *ast.File, a attached) Type {
	t := p.typeOf(expr, file)
	if words, at := a.words(markerAbsentIf); at != nil {
		for _, word := range words {
			switch word {
			case "null":
				t.NullIsAbsent = true
			case "empty":
				t.EmptyIsAbsent = true
			default:
				p.errorf(at, "marker %s: %q is neither null nor empty", markerText(at), word)
			}
		}
		if t.EmptyIsAbsent && !slices.Contains([]string{"String", "Time", "Duration"}, t.Kind) {
			p.errorf(at, "marker %s: only what is a string in JSON can be empty", markerText(at))
		}
	}
	var at *ast.Comment
	if t.Enum, at = a.words(markerEnum); at != nil && t.Kind != "String" {
		p.errorf(at, "marker %s: only a string can have it", markerText(at))
	}
	if t.SkipNonObjects = a.flag(markerSkipNonObjects); t.SkipNonObjects && t.Kind != "ObjectList" {
		p.errorf(a.find(markerSkipNonObjects, "").comment, "marker +%s: only a list of structs can have it", markerSkipNonObjects)
	}
	return t
}

func (p *parser) typeOf(expr ast.Expr, file *ast.File) Type {
	switch e := expr.(type) {
	case *ast.Ident:
		if kind, isScalar := scalarKinds[e.Name]; isScalar {
			return Type{Kind: kind}
		}
		if p.useStruct(e) {
			return Type{Kind: "Object", Struct: e.Name}
		}
	case *ast.SelectorExpr:
		pkg, isImported := e.X.(*ast.Ident)
		if isImported && importPath(file, pkg.Name) == metav1Path && (e.Sel.Name == "Time" || e.Sel.Name == "Duration") {
			return Type{Kind: e.Sel.Name}
		}
	case *ast.ArrayType:
		item, isName := e.Elt.(*ast.Ident)
		switch {
		case !isName || e.Len != nil:
		case item.Name == "string":
			return Type{Kind: "StringList"}
		case p.useStruct(item):
			return Type{Kind: "ObjectList", Struct: item.Name}
		}
	case *ast.MapType:
		if isIdent(e.Key, "string") && isIdent(e.Value, "string") {
			return Type{Kind: "StringMap"}
		}
	}
	p.errorf(expr, "type %s is not supported: supported are string, bool, int32, int64, metav1.Time, metav1.Duration, "+
		"[]string, map[string]string, structs of the package and lists of them", types.ExprString(expr))
	return Type{Kind: "String"}
}

func isIdent(expr ast.Expr, name string) bool {
	ident, isIdent := expr.(*ast.Ident)
	return isIdent && ident.Name == name
}

func importPath(file *ast.File, name string) string {
	for _, spec := range file.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		if (spec.Name != nil && spec.Name.Name == name) || (spec.Name == nil && path.Base(imported) == name) {
			return imported
		}
	}
	return ""
}

// useStruct says whether the name is that of a struct that fields may use, and parses it the first time.
func (p *parser) useStruct(at *ast.Ident) bool {
	decl, isStruct := p.structs[at.Name]
	if !isStruct || hasMarker(decl.doc, markerKind) {
		return false
	}
	if _, done := p.used[at.Name]; done {
		return true
	}
	p.claimName(decl.spec.Name)
	s := &Struct{Name: at.Name}
	p.used[at.Name] = s
	p.markersOf(decl.doc, markers.DescribesType, true).reject("has no meaning on a struct that fields use")
	for _, field := range decl.spec.Type.(*ast.StructType).Fields.List {
		p.parseMember(s, field, decl.file)
	}
	if len(s.Members) == 0 {
		p.errorf(decl.spec.Name, "%s: a struct that fields use needs a field", at.Name)
	}
	if p.contains(at.Name, at.Name, map[string]bool{}) {
		p.errorf(decl.spec.Name, "%s: contains itself", at.Name)
	}
	return true
}

func (p *parser) parseMember(s *Struct, field *ast.Field, file *ast.File) {
	if len(field.Names) != 1 {
		p.errorf(field, "%s: one named field per line", s.Name)
		return
	}
	name := field.Names[0]
	a := p.markersOf(field.Doc, markers.DescribesField, true)
	a.reject("has no meaning on a member of a struct", markerRequired, markerAbsentIf, markerEnum, markerSkipNonObjects)
	m := Member{
		Name: name.Name, Key: jsonKey(field), Doc: p.docOf(field.Doc, name, name.Name),
		Type: p.parseType(field.Type, file, a), Required: a.flag(markerRequired),
	}
	if !name.IsExported() {
		p.errorf(name, "%s.%s: a field of a struct that fields use must be exported", s.Name, name.Name)
	}
	if m.Key == "" || m.Key == "-" {
		p.errorf(name, "%s.%s: needs a json tag with its key", s.Name, name.Name)
	}
	if slices.ContainsFunc(s.Members, func(other Member) bool { return other.Key == m.Key }) {
		p.errorf(name, "%s.%s: two fields with the key %q", s.Name, name.Name, m.Key)
	}
	s.Members = append(s.Members, m)
}

func jsonKey(field *ast.Field) string {
	key, _, _ := strings.Cut(loader.ParseAstTag(field.Tag).Get("json"), ",")
	return key
}

// contains says whether a struct holds another one, directly or not.
func (p *parser) contains(outer, inner string, visited map[string]bool) bool {
	if visited[outer] || p.used[outer] == nil {
		return false
	}
	visited[outer] = true
	for _, m := range p.used[outer].Members {
		if m.Type.Struct == inner || (m.Type.Struct != "" && p.contains(m.Type.Struct, inner, visited)) {
			return true
		}
	}
	return false
}
