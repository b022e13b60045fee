// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package versions has versions that do not fit together.
package versions

// Version is a version of the contract.
// +contract:versions=v2;v1;v0
// +contract:labelPrefix=example.com/
// +contract:kind
type Version string

const (
	V2 Version = "v2"
	V1 Version = "v1"
	V3 Version = "v3beta1"
)

// Other is a second type of versions.
// +contract:versions=v1
// +contract:labelPrefix=example.com/
type Other string

// Widget is a kind.
// +contract:kind
type Widget struct {
	// A has a path for a version that does not exist.
	// +contract:path=spec.a
	// +contract:path:v3=spec.a3
	// +contract:writer=user
	A string

	// B has no path for one version.
	// +contract:path:v2=spec.b
	// +contract:writer=user
	B string

	// C has no path at all.
	// +contract:writer=user
	C string

	// D is in no version.
	// +contract:path=-
	// +contract:writer=user
	D string

	// E has a home for a version that does not exist.
	// +contract:path=spec.e
	// +contract:home:v0=spec.e
	// +contract:writer=user
	E string
}
