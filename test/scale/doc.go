// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Scale measures a manager with many Machines, and Cluster API's core manager beside it. `make bench N=1000` runs it;
// docs/benchmarks.md says what each figure means.
//
// Each manager gets a control plane of its own (package test/environment), the same objects from the same seed, and the
// same simulated providers (package test/simulator), which run in this process. The manager is a process of its own, and
// everything about it is read from outside (package measure). What is done to it is a list of phases, in trial.go.
package main
