// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package status holds the rules by which conditions of a Machine are made: set, ordered, mirrored from a provider
// object, derived from a Node and summed up to Ready. All of them are pure functions: the same facts and the same time
// give the same result, and a result that says nothing new leaves the Machine as it was.
package status
