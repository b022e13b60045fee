// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rollout knows which Machines a rollout is about to replace: those whose MachineSet has a lower revision than the
// MachineDeployment above it, and why: what differs between the templates of the two.
//
// MachineSets and MachineDeployments are others' kinds. They need not be installed, and the manager need not be allowed to
// read them; then nothing is known, and nothing waits for it. Of each object is kept only what is read.
package rollout
