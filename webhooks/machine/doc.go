// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package machine completes a Machine before it is stored, and refuses what can't work.
//
// M1–M3 and V1–V13 are the rules of Cluster API, with its texts, so that whoever reads them need not know which of the two
// answers; they are left out of the texts. The rules that Cluster API does not have say their name, by which the
// annotation machinist.dev/skip-reference-validation turns them off for one Machine, and are counted: R3, R12, and R18, which
// refuse what harms others or can never become Ready, and R18a, which only warns. docs/admission.md lists them all.
package machine
