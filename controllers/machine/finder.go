// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// Finder finds the Machines of a namespace by what their spec says, in the indexes that SetupWithManager of the Reconciler
// makes. What it returns is shared with the cache and for reading only. Unlike those of Referrers, its callers have to know
// when there is no answer: an error says that the cache is not filled, or knows no such namespace or index.
type Finder struct {
	Reader client.Reader
}

// WithInfrastructure returns the Machines whose spec.infrastructureRef is the reference.
func (f Finder) WithInfrastructure(ctx context.Context, namespace string, ref clusterv1.ContractVersionedObjectReference) ([]clusterv1.Machine, error) {
	return f.find(ctx, namespace, indexInfra, referenceKey(ref))
}

// WithConfig returns the Machines whose spec.bootstrap.configRef is the reference.
func (f Finder) WithConfig(ctx context.Context, namespace string, ref clusterv1.ContractVersionedObjectReference) ([]clusterv1.Machine, error) {
	return f.find(ctx, namespace, indexBootstrap, referenceKey(ref))
}

// WithProviderID returns the Machines with that spec.providerID.
func (f Finder) WithProviderID(ctx context.Context, namespace, providerID string) ([]clusterv1.Machine, error) {
	return f.find(ctx, namespace, indexProviderID, providerID)
}

func (f Finder) find(ctx context.Context, namespace, index, key string) ([]clusterv1.Machine, error) {
	machines := &clusterv1.MachineList{}
	err := f.Reader.List(ctx, machines, client.InNamespace(namespace), client.MatchingFields{index: key}, client.UnsafeDisableDeepCopy)
	return machines.Items, err
}
