// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers/external"
)

// Referrers finds Machines by what they reference, in the indexes of the cache.
type Referrers struct {
	Reader client.Reader
}

// Of implements external.Referrers.
func (f Referrers) Of(ctx context.Context, kind external.Kind) []reconcile.Request {
	if kind.Role == external.ControlPlane {
		return f.goingBy(ctx, f.clustersOf(ctx, kind))
	}
	return f.find(ctx, client.MatchingFields{kindIndex(kind): kind.GroupKind.String()})
}

func kindIndex(kind external.Kind) string {
	if kind.Role == external.BootstrapConfig {
		return indexBootstrapKind
	}
	return indexInfraKind
}

// Any implements external.Referrers.
func (f Referrers) Any(ctx context.Context, kind external.Kind) bool {
	if kind.Role == external.ControlPlane {
		return len(f.clustersOf(ctx, kind)) > 0
	}
	return len(f.find(ctx, client.MatchingFields{kindIndex(kind): kind.GroupKind.String()}, client.Limit(1))) > 0
}

// To implements external.Referrers.
func (f Referrers) To(ctx context.Context, kind external.Kind, key types.NamespacedName) []reconcile.Request {
	if kind.Role == external.ControlPlane {
		clusters := slices.DeleteFunc(f.clustersOf(ctx, kind, client.InNamespace(key.Namespace)), func(cluster *clusterv1.Cluster) bool {
			return cluster.Spec.ControlPlaneRef.Name != key.Name
		})
		return f.goingBy(ctx, clusters)
	}
	index := indexInfra
	if kind.Role == external.BootstrapConfig {
		index = indexBootstrap
	}
	return f.find(ctx, client.InNamespace(key.Namespace), client.MatchingFields{index: kind.GroupKind.String() + "/" + key.Name})
}

// clustersOf returns the Clusters whose control plane is of the kind. There are far less of them than Machines, so they have
// no index.
func (f Referrers) clustersOf(ctx context.Context, kind external.Kind, options ...client.ListOption) []*clusterv1.Cluster {
	clusters := &clusterv1.ClusterList{}
	if err := f.Reader.List(ctx, clusters, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		// The cache answers from memory; it fails only when the manager is stopping.
		ctrl.LoggerFrom(ctx).Error(err, "Listing Clusters in the cache")
		return nil
	}
	var found []*clusterv1.Cluster
	for i := range clusters.Items {
		if clusters.Items[i].Spec.ControlPlaneRef.GroupKind() == kind.GroupKind {
			found = append(found, &clusters.Items[i])
		}
	}
	return found
}

// goingBy returns the requests of the Machines of these Clusters that are being deleted: no others ask the control plane.
func (f Referrers) goingBy(ctx context.Context, clusters []*clusterv1.Cluster) []reconcile.Request {
	var requests []reconcile.Request
	for _, cluster := range clusters {
		requests = append(requests, f.findIf(ctx, func(m *clusterv1.Machine) bool { return !m.DeletionTimestamp.IsZero() },
			client.InNamespace(cluster.Namespace), client.MatchingFields{indexCluster: cluster.Name})...)
	}
	return requests
}

// Patient implements external.Referrers. A Machine on its way to Running is woken by each step anyway, and nobody acts on
// what its conditions say in between.
func (f Referrers) Patient(ctx context.Context, request reconcile.Request) bool {
	machine := &clusterv1.Machine{}
	err := f.Reader.Get(ctx, request.NamespacedName, machine, client.UnsafeDisableDeepCopy)
	return err == nil && machine.DeletionTimestamp.IsZero() && !machine.Status.NodeRef.IsDefined()
}

// OfCluster implements workload.Referrers.
func (f Referrers) OfCluster(ctx context.Context, cluster types.NamespacedName) []reconcile.Request {
	return f.find(ctx, client.InNamespace(cluster.Namespace), client.MatchingFields{indexCluster: cluster.Name})
}

// OfNode implements workload.Referrers. A Machine that knows its providerID is found by it, and one that only remembers
// its Node's name by that. A Node without a providerID may be what the Machine of its name waits for.
func (f Referrers) OfNode(ctx context.Context, cluster types.NamespacedName, node *corev1.Node) []reconcile.Request {
	var requests []reconcile.Request
	if node.Spec.ProviderID != "" {
		requests = f.findIn(ctx, cluster, client.MatchingFields{indexProviderID: node.Spec.ProviderID})
	}
	if len(requests) > 0 {
		return requests
	}
	requests = f.findIn(ctx, cluster, client.MatchingFields{indexNode: node.Name})
	namesake := &clusterv1.Machine{}
	key := types.NamespacedName{Namespace: cluster.Namespace, Name: node.Name}
	if node.Spec.ProviderID == "" && len(requests) == 0 && f.Reader.Get(ctx, key, namesake) == nil && namesake.Spec.ClusterName == cluster.Name {
		requests = append(requests, reconcile.Request{NamespacedName: key})
	}
	return requests
}

// OfMachineSet returns the requests of the Machines that the MachineSet owns.
func (f Referrers) OfMachineSet(ctx context.Context, machineSet types.NamespacedName) []reconcile.Request {
	return f.find(ctx, client.InNamespace(machineSet.Namespace), client.MatchingFields{indexMachineSet: machineSet.Name})
}

func (f Referrers) findIn(ctx context.Context, cluster types.NamespacedName, fields client.MatchingFields) []reconcile.Request {
	return f.findIf(ctx, func(m *clusterv1.Machine) bool { return m.Spec.ClusterName == cluster.Name }, client.InNamespace(cluster.Namespace), fields)
}

func (f Referrers) find(ctx context.Context, options ...client.ListOption) []reconcile.Request {
	return f.findIf(ctx, func(*clusterv1.Machine) bool { return true }, options...)
}

func (f Referrers) findIf(ctx context.Context, keep func(*clusterv1.Machine) bool, options ...client.ListOption) []reconcile.Request {
	machines := &clusterv1.MachineList{}
	if err := f.Reader.List(ctx, machines, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		// The cache answers from memory; it fails only when the manager is stopping.
		ctrl.LoggerFrom(ctx).Error(err, "Listing Machines in the cache")
		return nil
	}
	requests := make([]reconcile.Request, 0, len(machines.Items))
	for i := range machines.Items {
		if keep(&machines.Items[i]) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&machines.Items[i])})
		}
	}
	return requests
}
