// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package watchcache

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// ManagementOptions returns the options of the manager's cache.
//
// An empty namespace means all. crd is the form in which CustomResourceDefinitions are read; they are cluster-scoped
// and therefore cached for all namespaces. The resync happens every syncPeriod, from memory.
func ManagementOptions(namespace string, syncPeriod time.Duration, crd *metav1.PartialObjectMetadata) cache.Options {
	options := cache.Options{
		SyncPeriod:       &syncPeriod,
		DefaultTransform: trim(nil),
		ByObject: map[client.Object]cache.ByObject{
			&clusterv1.Machine{}: {Transform: trim(trimMachine)},
			&clusterv1.Cluster{}: {Transform: trim(trimCluster)},
			crd:                  {Transform: trim(trimCRD)},
		},
	}
	if namespace != "" {
		options.DefaultNamespaces = map[string]cache.Config{namespace: {}}
	}
	return options
}

// WorkloadOptions returns the options of the cache of one workload cluster, where only Nodes are cached.
func WorkloadOptions() cache.Options {
	return cache.Options{
		DefaultTransform: trim(nil),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Node{}: {Transform: trim(trimNode)},
		},
	}
}
