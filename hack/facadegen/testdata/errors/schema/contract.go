// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schema has a name that generated code needs.
package schema

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
	// A is a field.
	// +contract:path=spec.a
	// +contract:writer=user
	A string
}
