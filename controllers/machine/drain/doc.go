// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package drain empties the Node of a Machine that is being deleted, and tells which volumes are still attached to it.
//
//	Pods of the Node ──► decide   pod by pod: Drain, Skip or WaitCompleted, by the filters in filters.go
//	                       │
//	                     plan     what to evict now, what later, what to wait for
//	                       │
//	                     evict    one attempt for each Pod whose turn it is
//	                       │
//	                     Result   what is left and why, for the condition Deleting of the Machine
//
// Nothing here waits for a Pod to go or for a volume to be detached. A call looks once, does what can be done now, and
// returns; while something is left, the caller calls again after RetryInterval. What is read from the workload cluster is
// read from its API server: a cache of Pods for each of many clusters would cost far more than the few lists of a drain.
package drain
