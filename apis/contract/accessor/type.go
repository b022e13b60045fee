// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package accessor

import "slices"

// TypeKind is the JSON shape of a value.
type TypeKind int

// The supported shapes, with the Go type that a getter returns.
const (
	// String is a JSON string.
	String TypeKind = iota + 1
	// Bool is a JSON boolean.
	Bool
	// Int32 is a JSON integer within 32 bits.
	Int32
	// Int64 is a JSON integer within 64 bits.
	Int64
	// Time is a JSON string in RFC 3339 format; metav1.Time.
	Time
	// Duration is a JSON string that time.ParseDuration understands, such as 1h2m; metav1.Duration.
	Duration
	// StringList is a list of JSON strings; []string.
	StringList
	// StringMap is an object whose values are JSON strings; map[string]string.
	StringMap
	// Object is an object with known members; a struct.
	Object
	// ObjectList is a list of objects with known members; a slice of structs.
	ObjectList
)

// String is the name used in messages.
func (k TypeKind) String() string {
	switch k {
	case String:
		return "string"
	case Bool:
		return "boolean"
	case Int32:
		return "32-bit integer"
	case Int64:
		return "integer"
	case Time:
		return "RFC 3339 time"
	case Duration:
		return "duration"
	case StringList:
		return "list of strings"
	case StringMap:
		return "object with string values"
	case Object:
		return "object"
	case ObjectList:
		return "list of objects"
	default:
		return "unknown type"
	}
}

// Type describes the values that a contract field, or a member of an object, may have.
type Type struct {
	Kind TypeKind
	// Members are the known keys of an Object, or of each element of an ObjectList. Other keys are ignored.
	Members []Member
	// Enum, if not empty, lists the values that a String may have.
	Enum []string
	// NullIsAbsent reads an explicit null as no value. Otherwise null is a value of the wrong type.
	NullIsAbsent bool
	// EmptyIsAbsent reads an empty string as no value.
	EmptyIsAbsent bool
	// SkipNonObjects ignores the elements of an ObjectList that are no objects. Otherwise they are an error.
	SkipNonObjects bool
}

// Member is one known key of an object.
type Member struct {
	Key  string
	Type Type
	// Required demands a value; a required string must not be empty either.
	Required bool
}

// absent says whether a value that exists stands for no value.
func (t *Type) absent(v any) bool {
	return t.NullIsAbsent && v == nil || t.EmptyIsAbsent && v == ""
}

// allows says whether the enumeration, if there is one, contains the value.
func (t *Type) allows(s string) bool {
	return len(t.Enum) == 0 || slices.Contains(t.Enum, s)
}
