// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"fmt"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers/machine/rollout"
)

// Indexes of Machines in the cache.
const (
	indexCluster       = "spec.clusterName"
	indexControlPlane  = "spec.clusterName of control planes"
	indexProviderID    = "spec.providerID"
	indexNode          = "status.nodeRef.name"
	indexMachineSet    = "metadata.ownerReferences of MachineSets"
	indexInfraKind     = "spec.infrastructureRef.kind"
	indexInfra         = "spec.infrastructureRef"
	indexBootstrapKind = "spec.bootstrap.configRef.kind"
	indexBootstrap     = "spec.bootstrap.configRef"
)

// addIndexes makes what Machines are found by.
//
// controller-runtime's IndexField keeps two entries for each Machine and index, for lookups in one namespace and in all.
// Most indexes here have another key for each Machine, and are used within a namespace only. The second entry would take
// more memory than the rest of the index, so those are added to the informer itself, under the keys that the client looks
// for in a namespace.
func addIndexes(ctx context.Context, machines cache.Cache) error {
	for field, key := range map[string]keyFunc{
		indexInfraKind:     func(m *clusterv1.Machine) string { return m.Spec.InfrastructureRef.GroupKind().String() },
		indexBootstrapKind: configKey(func(ref clusterv1.ContractVersionedObjectReference) string { return ref.GroupKind().String() }),
	} {
		if err := machines.IndexField(ctx, &clusterv1.Machine{}, field, key.values); err != nil {
			return fmt.Errorf("indexing Machines by %s: %w", field, err)
		}
	}
	informer, err := machines.GetInformer(ctx, &clusterv1.Machine{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watching Machines: %w", err)
	}
	indexers := toolscache.Indexers{}
	for field, key := range map[string]keyFunc{
		indexCluster:      func(m *clusterv1.Machine) string { return m.Spec.ClusterName },
		indexControlPlane: controlPlaneOf,
		indexProviderID:   func(m *clusterv1.Machine) string { return m.Spec.ProviderID },
		indexNode:         func(m *clusterv1.Machine) string { return m.Status.NodeRef.Name },
		indexMachineSet:   rollout.MachineSetOf,
		indexInfra:        func(m *clusterv1.Machine) string { return referenceKey(m.Spec.InfrastructureRef) },
		indexBootstrap:    configKey(referenceKey),
	} {
		indexers["field:"+field] = key.inNamespace
	}
	if err := informer.AddIndexers(indexers); err != nil {
		return fmt.Errorf("indexing Machines: %w", err)
	}
	return nil
}

// keyFunc returns the key of a Machine in an index; empty means that it isn't there.
type keyFunc func(*clusterv1.Machine) string

// values implements client.IndexerFunc.
func (f keyFunc) values(obj client.Object) []string {
	if machine, ok := obj.(*clusterv1.Machine); ok {
		if key := f(machine); key != "" {
			return []string{key}
		}
	}
	return nil
}

// inNamespace implements toolscache.IndexFunc.
func (f keyFunc) inNamespace(obj any) ([]string, error) {
	if machine, ok := obj.(*clusterv1.Machine); ok {
		if key := f(machine); key != "" {
			return []string{machine.Namespace + "/" + key}, nil
		}
	}
	return nil, nil
}

func configKey(key func(clusterv1.ContractVersionedObjectReference) string) keyFunc {
	return func(m *clusterv1.Machine) string {
		if !m.Spec.Bootstrap.ConfigRef.IsDefined() {
			return ""
		}
		return key(m.Spec.Bootstrap.ConfigRef)
	}
}

func controlPlaneOf(m *clusterv1.Machine) string {
	if _, controlPlane := m.Labels[clusterv1.MachineControlPlaneLabel]; !controlPlane {
		return ""
	}
	return m.Spec.ClusterName
}

// referenceKey is the key of a reference in its index.
func referenceKey(ref clusterv1.ContractVersionedObjectReference) string {
	return ref.GroupKind().String() + "/" + ref.Name
}
