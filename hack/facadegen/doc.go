// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package facadegen generates the facade of a contract: accessors over unstructured objects, builders for tests, and
// documentation. docs/facadegen.md is about using it.
//
// It works in three steps, each of which can be tested alone:
//
//	parse   attached.go parse.go parse_field.go parse_type.go   source → model, or errors at their lines
//	model   model.go                                            plain structs, valid by construction
//	render  render.go render_*.go templates/                    model → bytes, the same ones each time
//
// markers.go is the list of markers, and generator.go makes it a generator of controller-tools. Contracts are read as
// syntax only: that is fast, needs no compilable dependencies, and whatever can't be understood so is refused.
package facadegen
