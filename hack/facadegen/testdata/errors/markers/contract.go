// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package markers has markers that are unknown, misspelt, given twice, given badly, or belong to nothing.
package markers

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
// +contract:crd:scope=Everywhere
// +contract:knd
// +kubebuilder:object:root=true
type Widget struct {
	// A has a misspelt marker.
	// +contract:pth=spec.a
	// +contract:path=spec.a
	// +contract:writer=user
	A string

	// B has a misspelt prefix.
	// +contrct:required
	// +contract:path=spec.b
	// +contract:writer=user
	B string

	// C has a marker twice, and one twice for the same version.
	// +contract:path=spec.c
	// +contract:path:v1=spec.c1
	// +contract:path:v1=spec.c2
	// +contract:writer=user
	// +contract:writer=provider
	C string

	// D has markers without a value, with a value too many, and for another place.
	// +contract:path=
	// +contract:writer=
	// +contract:required=true
	// +contract:sharesPathWith=
	// +contract:kind
	D string

	// E has a marker of another tool.
	// +optional
	// +contract:path=spec.e
	// +contract:writer=user
	E string

	// F lists a word twice.
	// +contract:path=spec.f
	// +contract:enum=A;B;A
	// +contract:writer=user
	F string

	// +contract:required

	// G has a marker above an empty line.
	// +contract:path=spec.g
	// +contract:writer=user
	G string
}

// Gadget has arguments that are wrong.
// +contract:kind
// +contract:crd:scop=Namespaced
type Gadget struct {
	// A is a field.
	// +contract:path=spec.a
	// +contract:writer=user
	A string
}

// Unused is no kind, and no kind uses it.
type Unused struct {
	// A looks like a field.
	// +contract:path=spec.a
	A string
}

// +contract:writer=user
func nothing() {}

// +contract:unheardOf=1
var _ = nothing
