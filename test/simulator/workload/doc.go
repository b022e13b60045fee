// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package workload serves the Kubernetes API of many simulated workload clusters from one process and one TCP port.
//
// Each cluster is reached at https://HOST:PORT/clusters/<namespace>/<name>, has a CA and a bearer token of its own, and
// keeps its objects in memory. To client-go and controller-runtime it is an ordinary API server: list with limit and
// continue, watch with bookmarks, initial events and 410 Gone, optimistic locking, merge, strategic merge and JSON
// patches, JSON and protobuf. What it serves is listed in resources.go.
//
// It is not an API server in these respects: no admission, defaulting or validation beyond names and resource versions,
// no server-side apply (415), no dry run (400), no OpenAPI, no subresources but status and the eviction of Pods, no garbage
// collection, and a list that is read in pages shows each page as it is when the page is read. There is no kubelet: a Pod
// that is deleted or evicted is gone at once, unless a finalizer holds it. PodDisruptionBudgets allow what their status
// says, which nobody works out.
//
// The test drives the rest of the world past the API: [Cluster.Create], [Cluster.Update] and [Cluster.Delete] are what
// kubelets and users of the workload cluster do, and need no credentials; [Cluster.RunPod] and [Cluster.SetBudget] are
// short forms for what a drain meets; [Cluster.TakeDown], [Cluster.SetLatency], [Cluster.RotateToken],
// [Cluster.RotateCA] and [Cluster.Compact] are what goes wrong with a cluster.
//
// A stored object costs its protobuf encoding, which is about two thirds of its JSON, and nothing runs between requests.
package workload
