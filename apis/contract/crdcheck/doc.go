// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crdcheck says whether a CustomResourceDefinition keeps a contract, before there is any object of it. Its rules
// follow from the same accessor.KindSpec by which objects are read.
//
// A contract version is declared by a label of the CRD. Each declared contract version is checked at the API version
// that a reader would take. What can't be known from a schema (a part that preserves unknown fields) is no finding.
//
// The package works on unstructured CRDs, so that it needs none of the packages of the API server.
package crdcheck
