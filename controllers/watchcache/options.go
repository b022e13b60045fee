// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package watchcache

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// Management says what the manager's cache holds.
type Management struct {
	// Namespace is the only one whose objects are cached; empty means all.
	Namespace string
	// WatchFilter is the value of the label cluster.x-k8s.io/watch-filter that a Machine must have to be cached; empty means
	// any. A Machine that loses it leaves the cache, which looks like its deletion to who watches it. Other kinds are not
	// filtered: Clusters, provider objects and rules for drains may concern several managers.
	WatchFilter string
	// SyncPeriod is the time between two resyncs, which happen from memory.
	SyncPeriod time.Duration
	// CRD is the form in which CustomResourceDefinitions are read; they are cluster-scoped and therefore cached for all
	// namespaces.
	CRD *metav1.PartialObjectMetadata
}

// ManagementOptions returns the options of the manager's cache.
func ManagementOptions(m Management) cache.Options {
	machines := cache.ByObject{Transform: trim(trimMachine)}
	if m.WatchFilter != "" {
		machines.Label = labels.SelectorFromSet(labels.Set{clusterv1.WatchLabel: m.WatchFilter})
	}
	options := cache.Options{
		SyncPeriod:       &m.SyncPeriod,
		DefaultTransform: trim(nil),
		ByObject: map[client.Object]cache.ByObject{
			&clusterv1.Machine{}: machines,
			&clusterv1.Cluster{}: {Transform: trim(trimCluster)},
			m.CRD:                {Transform: trim(trimCRD)},
		},
	}
	if m.Namespace != "" {
		options.DefaultNamespaces = map[string]cache.Config{m.Namespace: {}}
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
