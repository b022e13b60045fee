// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package incompleteversions has a version type without a label prefix, of the wrong type.
package incompleteversions

// Version is a number.
// +contract:versions=v1
type Version int

const V1 Version = 1

// Widget is a kind.
// +contract:kind
type Widget struct {
	// A is a field.
	// +contract:path=spec.a
	// +contract:writer=user
	A string
}
