// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package paths has paths that are none.
package paths

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
	// A has an index.
	// +contract:path=spec.a[0]
	// +contract:writer=user
	A string

	// B has a leading dot.
	// +contract:path=.spec.b
	// +contract:writer=user
	B string

	// C is in the metadata.
	// +contract:path=metadata.name
	// +contract:writer=user
	C string

	// D is the kind.
	// +contract:path=kind
	// +contract:writer=user
	D string

	// E names a place twice.
	// +contract:path=spec.e;spec.e2;spec.e
	// +contract:writer=user
	E string

	// F has an empty place.
	// +contract:path=spec.f;
	// +contract:writer=user
	F string

	// G is written where it isn't read.
	// +contract:path=spec.g;spec.g2
	// +contract:home:v1=spec.g3
	// +contract:writer=user
	G string

	// H has a home in a version that doesn't have it.
	// +contract:path:v2=spec.h
	// +contract:path:v1=-
	// +contract:home:v1=spec.h
	// +contract:writer=user
	H string
}
