// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package relations has fields that get in each other's way.
package relations

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
	// A is at a place.
	// +contract:path=spec.a
	// +contract:writer=user
	A string

	// Again is at the same place.
	// +contract:path=spec.a
	// +contract:writer=user
	Again string

	// Inside is inside of A.
	// +contract:path=spec.a.inside
	// +contract:writer=user
	Inside string

	// Deep is inside of what comes next.
	// +contract:path=spec.outer.middle.deep
	// +contract:writer=user
	Deep string

	// Around is around Deep.
	// +contract:path=spec.outer
	// +contract:writer=user
	Around map[string]string

	// Sharing says that it shares a place, and does.
	// +contract:path=status.x;spec.a
	// +contract:sharesPathWith=A;Again
	// +contract:writer=user
	Sharing string

	// Lonely says that it shares a place, and doesn't, once with a field that doesn't exist.
	// +contract:path=spec.lonely
	// +contract:sharesPathWith=A;Nobody
	// +contract:writer=user
	Lonely string

	// Old and New swap places between versions, which is fine.
	// +contract:path:v1=spec.one
	// +contract:path:v2=spec.two
	// +contract:writer=user
	Old string

	// New is where Old was.
	// +contract:path:v1=spec.two
	// +contract:path:v2=spec.one
	// +contract:writer=user
	New string

	// Tier is a label.
	// +contract:label=example.com/tier
	// +contract:writer=user
	Tier string

	// Level is the same label.
	// +contract:label=example.com/tier
	// +contract:writer=user
	Level string

	// Note is an annotation with the same key, which is fine.
	// +contract:annotation=example.com/tier
	// +contract:writer=user
	Note string
}
