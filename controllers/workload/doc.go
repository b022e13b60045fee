// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package workload connects to the workload clusters, one connection for each Cluster, and gives the Machine controller
// their Nodes from a cache. It writes to a Node what the Machine controller asks for, and remembers it until the cache shows it.
//
//	Secret <cluster>-kubeconfig ──► connect ──► Nodes synced: Machines of the Cluster are enqueued
//	                                  ▲                 │
//	                                  │                 ├─ a Node changes: its Machine is enqueued, unless by our patch
//	                                  │                 └─ GET / every ProbeInterval
//	                                  └── ProbeFailures in a row, one with another kubeconfig in the Secret, or a refusal
//
// Each connection lives in goroutines of its own, so a Cluster that doesn't answer costs nothing to the others: no
// caller ever waits for a dial, a list or a probe. Requests that a caller makes itself pass a gate, which is closed while
// probes fail. A connection is dropped and made again, with a fresh read of the kubeconfig, when its probes fail or the
// informer is refused; it ends when its Cluster is deleted.
//
// Connections are made when they are asked for, and before, for Clusters whose Machines will ask: a manager on standby has
// them when it becomes the leader.
package workload
