// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fields has fields that lack something.
package fields

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
	// +contract:path=spec.a
	// +contract:writer=user
	A string

	// This one is documented under no name.
	// +contract:path=spec.b
	// +contract:writer=user
	B string

	// C has no writer.
	// +contract:path=spec.c
	C string

	// d is not exported.
	// +contract:path=spec.d
	// +contract:writer=user
	d string

	// Object is a method of every wrapper.
	// +contract:path=spec.object
	// +contract:writer=user
	Object string

	// E has a brother.
	// +contract:path=spec.e
	// +contract:writer=user
	E, F string

	// A is here again.
	// +contract:path=spec.a2
	// +contract:writer=user
	A bool

	// URL is a field.
	// +contract:path=spec.url
	// +contract:writer=user
	URL string

	// Url is another one.
	// +contract:path=spec.url2
	// +contract:writer=user
	Url string

	// Part is embedded.
	// +contract:path=spec.part
	// +contract:writer=user
	Part
}

// Part is a struct.
type Part struct {
	// A is a member.
	A string `json:"a"`
}
