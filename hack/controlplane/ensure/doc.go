// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Ensure prints the folder that holds the binaries of a Kubernetes control plane, and puts them there if it must.
//
// Usage:
//
//	go -C hack/controlplane run ./ensure [-components NAME,...] [-print]
//
// It takes the first of these that works:
//
//  1. the folder named by KUBEBUILDER_ASSETS, if that is set; a component that is missing there is an error
//  2. what an earlier run has left in the cache
//  3. etcd, kube-apiserver and kubectl from setup-envtest, if its index answers within seconds; it has nothing else
//  4. a build from the Go modules that this module's go.mod names
//
// Besides the control plane it can build kubectl, and what hack/cluster makes a node of; -components names them.
//
// Only the folder goes to standard output; progress goes to standard error. The cache is the user's cache folder, or the
// folder named by MACHINIST_CACHE. In it, each set of module versions and build flags has a folder of its own, so a new
// version never meets an old binary, and a binary appears there in one step, so an interrupted run leaves no half of one.
// Processes that need the same folder take turns.
package main
