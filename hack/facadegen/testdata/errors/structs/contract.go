// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package structs has structs with members that are wrong.
package structs

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
	// Parts is a list.
	// +contract:path=spec.parts
	// +contract:writer=user
	Parts []Part

	// Empty is a struct without members.
	// +contract:path=spec.empty
	// +contract:writer=user
	Empty Empty
}

// Part is a struct with mistakes.
// +contract:kinds
type Part struct {
	// A has no tag.
	A string

	// B has a marker that only fields have.
	// +contract:path=spec.b
	B string `json:"b"`

	// C has the key of B.
	C string `json:"b"`

	// d is not exported.
	d string `json:"d"`

	E string `json:"e"`

	// F is a number.
	F float64 `json:"f"`

	// G contains it again.
	G Link `json:"g"`

	// H and I have one line.
	H, I string

	// J is left out of the JSON.
	J string `json:"-"`
}

// Link contains a part.
type Link struct {
	// Parts contain links.
	Parts []Part `json:"parts"`
}

// Empty has no members.
type Empty struct{}

var _ = Part{}.d
