// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package facadegen

// Contract is a contract package, understood. It holds no syntax trees and no positions: what is in it is valid.
type Contract struct {
	// Package is the name of the contract package and ImportPath its import path.
	Package, ImportPath string
	// VersionType is the Go type of contract versions.
	VersionType string
	// Versions are the contract versions, newest first.
	Versions []Version
	// LabelPrefix, followed by a contract version, is the label by which a CRD declares that version.
	LabelPrefix string
	// Kinds in the order of their names.
	Kinds []Kind
	// Structs are the struct types that fields use, in the order of their names.
	Structs []Struct
}

// Version is a contract version.
type Version struct {
	// Const is the Go constant and Value the version.
	Const, Value string
}

// Kind is a contract kind.
type Kind struct {
	Name string
	Doc  []string
	// Scope, StatusSubresource and PluralName are what a CRD must be like beyond the fields.
	Scope             string
	StatusSubresource bool
	PluralName        bool
	// Fields in the order of the source.
	Fields []Field
}

// Field is a field of a contract kind.
type Field struct {
	Name string
	Doc  []string
	Type Type
	// Paths are the places to read, per contract version in the order of Contract.Versions. Empty for a version that
	// doesn't have the field.
	Paths [][]string
	// Home is the place among Paths where a provider of that contract version writes.
	Home []string
	// Label or Annotation is the key, instead of Paths.
	Label, Annotation string
	// Writer sets the field.
	Writer string
	// Default is a Go literal, or "".
	Default string

	Required, Deprecated, Lenient, Presence, Informational bool
	// SharesPathWith names the fields that may use the same paths.
	SharesPathWith []string
}

// InMetadata says whether the field is a label or an annotation.
func (f Field) InMetadata() bool { return f.Label != "" || f.Annotation != "" }

// Type is the type of a field or a member. Its kinds have the names of the constants of package accessor.
type Type struct {
	// Kind is String, Bool, Int32, Int64, Time, Duration, StringList, StringMap, Object or ObjectList.
	Kind string
	// Struct is the Go type of an Object or of the elements of an ObjectList.
	Struct string

	Enum                                        []string
	NullIsAbsent, EmptyIsAbsent, SkipNonObjects bool
}

// Struct is the Go type of an object, or of the elements of a list.
type Struct struct {
	Name    string
	Members []Member
}

// Member is a field of a Struct.
type Member struct {
	// Name is the Go field and Key the JSON key.
	Name, Key string
	Doc       []string
	Type      Type
	Required  bool
}
