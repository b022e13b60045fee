// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nodesync works out what a Node gets from its Machine: labels, annotations and taints.
//
//	Machine ──Rules.Want──► Want ─┐
//	                              ├─Desired──► the Node as it must be, nil if it is that already
//	Node, as the cache has it ────┘
//
// A Node belongs to many: kubelet, cloud provider, people. What was written here before is therefore listed in three
// annotations of the Node itself (labels-, annotations- and taints-from-machine), and only that is ever taken off again. What
// the Machine asks for is set whoever has set it before.
//
// Everything here is a function of its arguments. The rules, and the format of the annotations, are Cluster API's, so that
// either manager takes over the Nodes of the other.
package nodesync
