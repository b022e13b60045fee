// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package machinedrainrule refuses a MachineDrainRule that no drain could follow. Each drain reads all rules of its
// namespace, so a single one that can't be read holds up the deletion of every Machine there.
package machinedrainrule
