// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"errors"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers/status"
	"github.com/machinist-dev/machinist/controllers/workload"
)

// reconcileNode finds the Node whose spec.providerID equals the Machine's, copies what the Machine shows of it, and gives it
// what the Machine asks for.
//
// Being without a connection is a wait, not an error: the Machines of a Cluster are woken when its connection changes,
// and what is known about a Node stays as it is in the meantime.
func (r *Reconciler) reconcileNode(ctx context.Context, s *scope) error {
	if !workloadClusterReady(s.cluster) {
		return nil
	}
	connection, err := r.Workload.Get(s.cluster)
	s.node.health = r.Workload.Health(s.clusterKey())
	if err != nil {
		s.node.err = err
		if errors.Is(err, workload.ErrNotConnected) {
			return nil
		}
		return err
	}
	if s.machine.Spec.ProviderID == "" {
		return nil
	}
	node, err := connection.NodeByProviderID(ctx, s.machine.Spec.ProviderID)
	if err != nil {
		s.node.err = err
		warnOfLookup(s)
		if errors.Is(err, workload.ErrSeveralNodes) {
			return nil // trying again would find the same
		}
		return err
	}
	s.node.node = node
	if node == nil {
		s.node.lacksProviderID = connection.LacksProviderID(ctx, s.machine.Name)
		return nil
	}
	if !s.machine.Status.NodeRef.IsDefined() {
		s.machine.Status.NodeRef = clusterv1.MachineNodeReference{Name: node.Name}
		s.normal("SuccessfulSetNodeRef", "SetNodeRef", node.Name)
	}
	err = r.syncNode(ctx, s, connection)
	s.machine.Status.NodeInfo = &s.node.node.Status.NodeInfo
	return err
}

// workloadClusterReady reports whether the workload cluster has an API server to connect to.
func workloadClusterReady(cluster *clusterv1.Cluster) bool {
	return cluster != nil && isTrue(cluster.Status.Initialization.InfrastructureProvisioned) &&
		status.IsTrue(cluster.Status.Conditions, clusterv1.ClusterControlPlaneInitializedCondition)
}

// NeedsWorkload reports whether a reconcile of one of the Cluster's Machines would ask for its workload cluster. It waits
// until the cache has the Machines.
func (r *Reconciler) NeedsWorkload(ctx context.Context, cluster *clusterv1.Cluster) bool {
	if !workloadClusterReady(cluster) || isTrue(cluster.Spec.Paused) {
		return false
	}
	machines := &clusterv1.MachineList{}
	err := r.Client.List(ctx, machines, client.UnsafeDisableDeepCopy,
		client.InNamespace(cluster.Namespace), client.MatchingFields{indexCluster: cluster.Name})
	return err == nil && slices.ContainsFunc(machines.Items, func(m clusterv1.Machine) bool { return r.isOurs(&m) })
}
