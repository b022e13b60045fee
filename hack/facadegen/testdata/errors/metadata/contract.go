// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metadata has labels and annotations that are used badly.
package metadata

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
	// A is a label and an annotation.
	// +contract:label=example.com/a
	// +contract:annotation=example.com/a
	// +contract:writer=user
	A string

	// B is a label and has a path.
	// +contract:label=example.com/b
	// +contract:path=spec.b
	// +contract:home=spec.b
	// +contract:required
	// +contract:sharesPathWith=A
	// +contract:writer=user
	B string

	// C is a boolean without presence.
	// +contract:label=example.com/c
	// +contract:writer=user
	C bool

	// D is a string with presence.
	// +contract:annotation=example.com/d
	// +contract:presence
	// +contract:writer=user
	D string

	// E is a number.
	// +contract:annotation=example.com/e
	// +contract:writer=user
	E int64

	// F has presence at a path.
	// +contract:path=spec.f
	// +contract:presence
	// +contract:writer=user
	F bool

	// G has presence and a default.
	// +contract:label=example.com/g
	// +contract:presence
	// +contract:default=true
	// +contract:writer=user
	G bool

	// H has no key.
	// +contract:label=
	// +contract:writer=user
	H string
}
