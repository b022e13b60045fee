// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/cache"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/generated/clientset/versioned"
	"github.com/machinist-dev/machinist/generated/informers/externalversions"
	informersv1beta2 "github.com/machinist-dev/machinist/generated/informers/externalversions/cluster/v1beta2"
)

const byProviderID = "spec.providerID"

// Index finds Machines by provider ID, in memory. It is safe for concurrent use.
type Index struct {
	machines cache.TypedIndexer[*clusterv1.Machine]
	stop     func()
}

// StartIndex lists the Machines of a namespace, of all namespaces if it is empty, and keeps up with them until Stop is
// called or ctx ends. It returns when the list is complete, so that a Machine that is missing from the index does not
// exist. An error means that ctx ended before; while the API server can't be reached or refuses, it goes on trying.
func StartIndex(ctx context.Context, client versioned.Interface, namespace string) (*Index, error) {
	ctx, cancel := context.WithCancel(ctx)
	factory := externalversions.NewSharedInformerFactoryWithOptions(client, 0,
		externalversions.WithNamespace(namespace),
		externalversions.WithTransform(dropManagedFields))
	stop := func() {
		cancel()
		factory.Shutdown()
	}

	// Indexers have to be there before the first object, and Informer has to be called before Start.
	informer := factory.Cluster().V1beta2().Machines().TypedInformer()
	if err := informer.AddTypedIndexers(informersv1beta2.MachineIndexers{byProviderID: providerIDs}); err != nil {
		stop()
		return nil, err
	}
	factory.StartWithContext(ctx)
	if err := factory.WaitForCacheSyncWithContext(ctx).AsError(); err != nil {
		stop()
		return nil, fmt.Errorf("listing Machines: %w", err)
	}
	return &Index{machines: informer.GetTypedIndexer(), stop: stop}, nil
}

// Machines returns the Machines with this provider ID: one as a rule, none if the machine is not ours or has not
// reported yet, and more if two Machines claim the same instance. They are shared; copy one before changing it.
func (i *Index) Machines(providerID string) ([]*clusterv1.Machine, error) {
	return i.machines.ByTypedIndex(byProviderID, providerID)
}

// Stop ends the watch and waits for its goroutines. The index then no longer changes.
func (i *Index) Stop() {
	i.stop()
}

// providerIDs leaves Machines without a provider ID out of the index, or they would all be found under "".
func providerIDs(machine *clusterv1.Machine) ([]string, error) {
	if machine.Spec.ProviderID == "" {
		return nil, nil
	}
	return []string{machine.Spec.ProviderID}, nil
}

// dropManagedFields saves memory: nobody asks here who owns which field of a Machine. It runs before an object reaches
// the store and is the place to drop whatever else is not looked at.
func dropManagedFields(obj any) (any, error) {
	if object, err := meta.Accessor(obj); err == nil {
		object.SetManagedFields(nil)
	}
	return obj, nil
}
