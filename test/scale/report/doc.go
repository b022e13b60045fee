// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report turns what was measured of each manager into a table, with the ratio of the two and the budget.
package report
