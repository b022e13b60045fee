// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/apis/contract"
)

// indexClusterName finds Machines and provider objects by their Cluster.
const indexClusterName = "simulator.clusterName"

// provide starts the controller of a kind, now or when the manager starts.
func (s *Simulator) provide(ctx context.Context, kind schema.GroupKind, role role) error {
	if _, err := s.manager.GetRESTMapper().RESTMapping(kind, NewAPIVersion); err != nil {
		return fmt.Errorf("provide %s at %s: is its CRD installed? %w", kind, NewAPIVersion, err)
	}
	p := &provider{
		Simulator: s, role: role, kind: kind, statusPayload: payload(s.options.PayloadSize, role.payloadItem),
	}
	object := p.empty(types.NamespacedName{})
	if err := s.manager.GetFieldIndexer().IndexField(ctx, object, indexClusterName, func(obj client.Object) []string {
		return []string{obj.GetLabels()[clusterv1.ClusterNameLabel]}
	}); err != nil {
		return fmt.Errorf("index %s: %w", kind, err)
	}
	err := ctrl.NewControllerManagedBy(s.manager).
		Named("simulator-"+role.name+"-"+contract.CRDName(kind.Group, kind.Kind)).
		For(object, builder.OnlyMetadata, builder.WithPredicates(metadataChanges)).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(p.ofMachine), builder.WithPredicates(machineChanges)).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(p.ofCluster), builder.WithPredicates(clusterChanges)).
		WatchesMetadata(crdMetadata(), handler.EnqueueRequestsFromMapFunc(p.ofCRD), builder.WithPredicates(contractChanges)).
		WithOptions(s.controllerOptions()).
		Complete(p)
	if err != nil {
		return fmt.Errorf("provide %s: %w", kind, err)
	}
	return s.setUpHeartbeats(p)
}

func (s *Simulator) controllerOptions() controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: s.options.Workers,
		// Several simulators may run one after another in a process, each with controllers of these names.
		SkipNameValidation: new(true),
	}
}

// metadataChanges lets through what a provider looks at in its objects.
var metadataChanges = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, now := e.ObjectOld, e.ObjectNew
	return !equality.Semantic.DeepEqual(before.GetOwnerReferences(), now.GetOwnerReferences()) ||
		!maps.Equal(before.GetAnnotations(), now.GetAnnotations()) ||
		before.GetDeletionTimestamp().IsZero() != now.GetDeletionTimestamp().IsZero()
}}

// machineChanges lets through what a provider waits for in a Machine.
var machineChanges = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, now := e.ObjectOld.(*clusterv1.Machine), e.ObjectNew.(*clusterv1.Machine)
		return before.Spec.Bootstrap.DataSecretName == nil && now.Spec.Bootstrap.DataSecretName != nil
	},
	DeleteFunc: func(event.DeleteEvent) bool { return false },
}

// clusterChanges lets through what a provider waits for in a Cluster.
var clusterChanges = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, now := e.ObjectOld.(*clusterv1.Cluster), e.ObjectNew.(*clusterv1.Cluster)
		return isTrue(before.Status.Initialization.InfrastructureProvisioned) != isTrue(now.Status.Initialization.InfrastructureProvisioned) ||
			isInitialized(before) != isInitialized(now) || isPaused(before) != isPaused(now)
	},
	DeleteFunc: func(event.DeleteEvent) bool { return false },
}

// contractChanges lets a CRD through when it declares other contracts than before.
var contractChanges = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		return !slices.Equal(declaredContracts(e.ObjectOld), declaredContracts(e.ObjectNew))
	},
	DeleteFunc: func(event.DeleteEvent) bool { return false },
}

func (p *provider) ofMachine(_ context.Context, obj client.Object) []reconcile.Request {
	reference := p.reference(obj.(*clusterv1.Machine))
	if reference.GroupKind() != p.kind {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(), Name: reference.Name}}}
}

func (p *provider) ofCluster(ctx context.Context, obj client.Object) []reconcile.Request {
	return p.requests(ctx, client.InNamespace(obj.GetNamespace()), client.MatchingFields{indexClusterName: obj.GetName()})
}

func (p *provider) ofCRD(ctx context.Context, obj client.Object) []reconcile.Request {
	if obj.GetName() != contract.CRDName(p.kind.Group, p.kind.Kind) {
		return nil
	}
	return p.requests(ctx)
}

func (p *provider) requests(ctx context.Context, which ...client.ListOption) []reconcile.Request {
	objects := p.list(ctx, which...)
	requests := make([]reconcile.Request, 0, len(objects))
	for i := range objects {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&objects[i])})
	}
	return requests
}

// list reads from the cache, which fails only while the simulator stops.
func (p *provider) list(ctx context.Context, which ...client.ListOption) []metav1.PartialObjectMetadata {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(p.kind.WithVersion(NewAPIVersion))
	if err := p.client.List(ctx, list, append(which, client.UnsafeDisableDeepCopy)...); err != nil {
		p.manager.GetLogger().Error(err, "List provider objects", "kind", p.kind)
	}
	return list.Items
}

// setUp starts the controller of Clusters.
func (c *clusters) setUp(ctx context.Context) error {
	if err := c.manager.GetFieldIndexer().IndexField(ctx, &clusterv1.Machine{}, indexClusterName, func(obj client.Object) []string {
		return []string{obj.(*clusterv1.Machine).Spec.ClusterName}
	}); err != nil {
		return fmt.Errorf("index Machines: %w", err)
	}
	machineGone := predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(event.UpdateEvent) bool { return false },
	}
	return ctrl.NewControllerManagedBy(c.manager).
		Named("simulator-cluster").
		For(&clusterv1.Cluster{}).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(ofMachinesCluster), builder.WithPredicates(machineGone)).
		WatchesRawSource(source.TypedChannel(c.joined, &handler.TypedEnqueueRequestForObject[*clusterv1.Cluster]{})).
		WithOptions(c.controllerOptions()).
		Complete(c)
}

func ofMachinesCluster(_ context.Context, obj client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: clusterKeyOf(obj.(*clusterv1.Machine))}}
}
