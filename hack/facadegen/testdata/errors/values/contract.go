// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package values has defaults and other rules for values that do not fit the type.
package values

// Version is a version of the contract.
// +contract:versions=v2;v1
// +contract:labelPrefix=example.com/
type Version string

const (
	V2 Version = "v2"
	V1 Version = "v1"
)

// Widget is a kind.
// +contract:kind
type Widget struct {
	// A is no boolean.
	// +contract:path=spec.a
	// +contract:default=yes
	// +contract:writer=user
	A bool

	// B is too large.
	// +contract:path=spec.b
	// +contract:default=2147483648
	// +contract:writer=user
	B int32

	// C is no number.
	// +contract:path=spec.c
	// +contract:default=1.5
	// +contract:writer=user
	C int64

	// D has no default.
	// +contract:path=spec.d
	// +contract:default=a
	// +contract:writer=user
	D []string

	// E is not in the list.
	// +contract:path=spec.e
	// +contract:default=C
	// +contract:enum=A;B
	// +contract:writer=user
	E string

	// F is no string.
	// +contract:path=spec.f
	// +contract:enum=1;2
	// +contract:writer=user
	F int32

	// G can't be empty.
	// +contract:path=spec.g
	// +contract:absentIf=null;empty
	// +contract:writer=user
	G int32

	// H has a word that means nothing.
	// +contract:path=spec.h
	// +contract:absentIf=nil
	// +contract:writer=user
	H string

	// I is no list of structs.
	// +contract:path=spec.i
	// +contract:skipNonObjects
	// +contract:writer=user
	I []string

	// J has an empty default, which is fine.
	// +contract:path=spec.j
	// +contract:default=""
	// +contract:writer=user
	J string
}
