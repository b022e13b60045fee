// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package builder makes Clusters and Machines for tests. Builders are values: every With method returns a changed copy,
// so a builder that specs share can't leak a change from one to another. What they build has only what was asked for and
// what the API requires.
package builder
