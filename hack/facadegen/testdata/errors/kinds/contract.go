// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kinds has things that are no kinds.
package kinds

// Version is a version of the contract.
// +contract:versions=v2;v1
// +contract:labelPrefix=example.com/
type Version string

const (
	V2 Version = "v2"
	V1 Version = "v1"
)

// Alias is no struct.
// +contract:kind
type Alias string

// Empty has no fields.
// +contract:kind
type Empty struct{}

// +contract:kind
type Undocumented struct {
	// A is a field.
	// +contract:path=spec.a
	// +contract:writer=user
	A string
}

// URL is a kind.
// +contract:kind
type URL struct {
	// A is a field.
	// +contract:path=spec.a
	// +contract:writer=user
	A string
}

// Url is another kind.
// +contract:kind
// +contract:crd:scope:here=Cluster
type Url struct {
	// A is a field.
	// +contract:path=spec.a
	// +contract:writer=user
	A string
}

// Unmarked has rules for a CRD, but is no kind.
// +contract:crd:pluralName=true
type Unmarked struct {
	// A is a field.
	// +contract:path=spec.a
	// +contract:writer=user
	A string
}
