// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e installs Machinist on a real cluster as its users do, by `make deploy`, and takes it through its life there:
// every flavour, with the roles that they ship with, and nothing of the manager in the test's process.
//
// The providers and the workload clusters are simulated by that process, so the cluster's pods have to reach it. By default
// the cluster is one that hack/cluster starts on this machine, which takes Linux and root, and builds a lot the first time.
// With KUBECONFIG it is any other.
//
// `make test-e2e` runs it. `go test ./...` skips it: it takes minutes, and changes the machine for as long.
package e2e
