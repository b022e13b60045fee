// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package noversions has a kind but no versions.
package noversions

// Widget is a kind.
// +contract:kind
type Widget struct {
	// A is a field.
	// +contract:path=spec.a
	// +contract:writer=user
	A string
}
