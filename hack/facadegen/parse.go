// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package facadegen

import (
	"cmp"
	"errors"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"
)

// parser turns a package into a Contract.
type parser struct {
	*source
	contract Contract
	// structs are all struct types of the package, used those that fields refer to.
	structs map[string]typeDecl
	used    map[string]*Struct
	// names are the kinds and structs, by their names in lower case.
	names map[string]string
	// skipped says that a kind was not looked into, so that its markers are no stray ones.
	skipped bool
}

// takenNames are names that mean something else where generated code refers to the contract package.
var takenNames = []string{
	"accessor", "crdcheck", "fmt", "maps", "metav1", "reflect", "schema", "time", "unstructured",
	"b", "change", "key", "kind", "field", "m", "obj", "path", "present", "r", "set", "v", "value", "version", "w", "wrapped",
}

// typeDecl is a type declaration with what belongs to it.
type typeDecl struct {
	spec *ast.TypeSpec
	doc  *ast.CommentGroup
	file *ast.File
}

// Parse reads the contract of a package. It returns nil if the package has none. Errors are in the order of the
// source and carry the position of the marker or field that is wrong.
func Parse(pkg *loader.Package, registry *markers.Registry) (*Contract, []error) {
	pkg.NeedSyntax()
	p := &parser{
		source:   &source{registry: registry, seen: map[*ast.Comment]bool{}},
		contract: Contract{Package: pkg.Name, ImportPath: pkg.PkgPath},
		structs:  map[string]typeDecl{},
		used:     map[string]*Struct{},
		names:    map[string]string{},
	}
	decls := typeDecls(pkg.Syntax)
	for _, decl := range decls {
		if _, isStruct := decl.spec.Type.(*ast.StructType); isStruct {
			p.structs[decl.spec.Name.Name] = decl
		}
	}
	p.parseVersions(decls, pkg.Syntax)
	for _, decl := range decls {
		p.parseKind(decl)
	}
	if !p.skipped {
		p.checkAttached(pkg.Syntax)
	}
	p.finish()
	if len(p.errs) > 0 {
		return nil, sorted(p.errs)
	}
	if len(p.contract.Kinds) == 0 {
		return nil, nil
	}
	return &p.contract, nil
}

func (p *parser) finish() {
	slices.SortFunc(p.contract.Kinds, func(a, b Kind) int { return cmp.Compare(a.Name, b.Name) })
	for _, used := range p.used {
		p.contract.Structs = append(p.contract.Structs, *used)
	}
	slices.SortFunc(p.contract.Structs, func(a, b Struct) int { return cmp.Compare(a.Name, b.Name) })
}

func sorted(errs []error) []error {
	slices.SortStableFunc(errs, func(a, b error) int {
		return cmp.Compare(position(a), position(b))
	})
	return errs
}

func position(err error) token.Pos {
	if positioned, ok := errors.AsType[loader.PositionedError](err); ok {
		return positioned.Pos
	}
	return token.NoPos
}

func typeDecls(files []*ast.File) []typeDecl {
	var decls []typeDecl
	eachSpec(files, token.TYPE, func(file *ast.File, group *ast.GenDecl, spec *ast.TypeSpec) {
		doc := spec.Doc
		if doc == nil && !group.Lparen.IsValid() {
			doc = group.Doc
		}
		decls = append(decls, typeDecl{spec, doc, file})
	})
	return decls
}

// eachSpec visits the declarations with a keyword that are not inside of functions.
func eachSpec[T ast.Spec](files []*ast.File, keyword token.Token, visit func(*ast.File, *ast.GenDecl, T)) {
	for _, file := range files {
		for _, decl := range file.Decls {
			group, isGroup := decl.(*ast.GenDecl)
			if !isGroup || group.Tok != keyword {
				continue
			}
			for _, spec := range group.Specs {
				visit(file, group, spec.(T))
			}
		}
	}
}

// parseVersions finds the type with the marker versions, and its constants.
func (p *parser) parseVersions(decls []typeDecl, files []*ast.File) {
	for _, decl := range decls {
		if !isVersionType(decl) {
			continue
		}
		a := p.markersOf(decl.doc, markers.DescribesType, false)
		a.reject("has no meaning on the type of contract versions", markerVersions, markerLabelPrefix)
		name := decl.spec.Name
		if p.contract.VersionType != "" {
			p.errorf(name, "%s: %s is the type of contract versions already, there is one in a package", name.Name, p.contract.VersionType)
			continue
		}
		if !isIdent(decl.spec.Type, "string") {
			p.errorf(name, "%s: the type of contract versions must be a string", name.Name)
		}
		p.contract.VersionType = name.Name
		p.contract.LabelPrefix, _ = a.text(markerLabelPrefix, "")
		if a.lacks(markerLabelPrefix) {
			p.errorf(name, "%s: marker +%s is missing", name.Name, markerLabelPrefix)
		}
		versions, at := a.words(markerVersions)
		if at == nil {
			p.errorf(name, "%s: marker +%s is missing", name.Name, markerVersions)
			continue
		}
		p.matchConstants(versions, at, constantsOf(name.Name, files))
	}
}

func isVersionType(decl typeDecl) bool {
	return hasMarker(decl.doc, markerVersions) || hasMarker(decl.doc, markerLabelPrefix)
}

func hasMarker(doc *ast.CommentGroup, name string) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(comment *ast.Comment) bool {
		text := markerText(comment)
		m, _ := lookupMarker(text, markers.DescribesType)
		return text != "" && m != nil && m.name == name
	})
}

// constant is a constant of the version type.
type constant struct {
	name  *ast.Ident
	value string
}

// constantsOf finds the constants that are declared with the type and a literal.
func constantsOf(typeName string, files []*ast.File) []constant {
	var constants []constant
	eachSpec(files, token.CONST, func(_ *ast.File, _ *ast.GenDecl, spec *ast.ValueSpec) {
		if !isIdent(spec.Type, typeName) {
			return
		}
		for i, value := range spec.Values {
			literal, isLiteral := value.(*ast.BasicLit)
			if isLiteral && literal.Kind == token.STRING && i < len(spec.Names) {
				text, _ := strconv.Unquote(literal.Value)
				constants = append(constants, constant{spec.Names[i], text})
			}
		}
	})
	return constants
}

// matchConstants makes sure that markers and constants name the same versions, so that Go code and generated code
// can't disagree.
func (p *parser) matchConstants(versions []string, at *ast.Comment, constants []constant) {
	for _, version := range versions {
		i := slices.IndexFunc(constants, func(c constant) bool { return c.value == version })
		if i < 0 {
			p.errorf(at, "marker +%s: the package has no constant of type %s with the value %q", markerVersions, p.contract.VersionType, version)
			continue
		}
		p.contract.Versions = append(p.contract.Versions, Version{Const: constants[i].name.Name, Value: version})
	}
	for _, c := range constants {
		if !slices.Contains(versions, c.value) {
			p.errorf(c.name, "%s: contract version %q is not in the marker +%s", c.name.Name, c.value, markerVersions)
		}
	}
}

func (p *parser) parseKind(decl typeDecl) {
	isKind := hasMarker(decl.doc, markerKind) || hasMarker(decl.doc, markerCRD)
	if !isKind || isVersionType(decl) {
		return
	}
	a := p.markersOf(decl.doc, markers.DescribesType, true)
	a.reject("has no meaning on a contract kind", markerKind, markerCRD)
	name := decl.spec.Name
	if !a.flag(markerKind) {
		p.errorf(name, "%s: marker +%s is missing", name.Name, markerKind)
	}
	structType, isStruct := decl.spec.Type.(*ast.StructType)
	if !isStruct {
		p.errorf(name, "%s: a contract kind must be a struct", name.Name)
		return
	}
	p.skipped = len(p.contract.Versions) == 0
	if p.skipped {
		p.errorf(name, "%s: the package has no usable contract versions: a string type with the markers +%s and +%s declares them",
			name.Name, markerVersions, markerLabelPrefix)
		return
	}
	if slices.Contains(takenNames, p.contract.Package) {
		p.errorf(decl.file.Name, "package %s: generated code uses that name for something else: choose another one", p.contract.Package)
	}
	p.claimName(name)
	kind := Kind{Name: name.Name, Doc: p.docOf(decl.doc, name, name.Name)}
	if crd := a.find(markerCRD, ""); crd != nil {
		rules := crd.value.(crdRules)
		kind.Scope, kind.StatusSubresource, kind.PluralName = rules.Scope, rules.StatusSubresource, rules.PluralName
		if !slices.Contains([]string{"", "Namespaced", "Cluster"}, rules.Scope) {
			p.errorf(crd.comment, "marker +%s: scope is %q, expected Namespaced or Cluster", markerCRD, rules.Scope)
		}
	}
	fields := &fieldParser{
		parser: p, file: decl.file, kind: name.Name, shares: map[string]*ast.Comment{}, names: map[string]string{},
	}
	for _, field := range structType.Fields.List {
		kind.Fields = append(kind.Fields, fields.parse(field)...)
	}
	fields.checkRelations(kind.Fields)
	if len(kind.Fields) == 0 {
		p.errorf(name, "%s: a contract kind needs a field", name.Name)
	}
	p.contract.Kinds = append(p.contract.Kinds, kind)
}

// claimName reports two kinds or structs whose names differ only in upper and lower case.
func (p *parser) claimName(name *ast.Ident) {
	lower := strings.ToLower(name.Name)
	if other := p.names[lower]; other != "" {
		p.errorf(name, "%s: the name is too much like %s: generated code can't tell them apart", name.Name, other)
	}
	p.names[lower] = name.Name
}
