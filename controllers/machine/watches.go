// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers/external"
	"github.com/machinist-dev/machinist/controllers/machine/rollout"
	"github.com/machinist-dev/machinist/controllers/status"
)

// Indexes of Machines in the cache.
const (
	indexCluster       = "spec.clusterName"
	indexProviderID    = "spec.providerID"
	indexNode          = "status.nodeRef.name"
	indexMachineSet    = "metadata.ownerReferences.machineSet"
	indexInfraKind     = "spec.infrastructureRef.kind"
	indexInfra         = "spec.infrastructureRef"
	indexBootstrapKind = "spec.bootstrap.configRef.kind"
	indexBootstrap     = "spec.bootstrap.configRef"
)

// reconcileTimeout bounds one reconcile.
const reconcileTimeout = time.Minute

// SetupWithManager registers the controller: its indexes, and what wakes a Machine.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, concurrency int) error {
	for field, extract := range indexers() {
		if err := mgr.GetFieldIndexer().IndexField(ctx, &clusterv1.Machine{}, field, extract); err != nil {
			return fmt.Errorf("indexing Machines by %s: %w", field, err)
		}
	}
	referrers := Referrers{Reader: mgr.GetCache()}
	return ctrl.NewControllerManagedBy(mgr).
		Named("machine").
		For(&clusterv1.Machine{}, builder.WithPredicates(r.machineChanges(ctx))).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, cluster client.Object) []reconcile.Request {
			return referrers.OfCluster(ctx, client.ObjectKeyFromObject(cluster))
		}), builder.WithPredicates(clusterChanges())).
		WatchesRawSource(r.External.Source()).
		WatchesRawSource(r.Workload.Source()).
		WatchesRawSource(r.Revisions.Source()).
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrency, ReconciliationTimeout: reconcileTimeout}).
		Complete(r)
}

// machineChanges lets everything pass but the events of our own writes, as they were computed from all that was known.
// A write of ours that changes what a Machine is found by passes: an event of the Node that came before the cache had
// the new providerID found no Machine to wake. It also starts the informers of the kinds that a new Machine references,
// so that those of all kinds in use list side by side, and ends those of kinds that no Machine references any more.
func (r *Reconciler) machineChanges(ctx context.Context) predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool {
			if machine, ok := e.Object.(*clusterv1.Machine); ok && r.isOurs(machine) {
				r.External.Ensure(infraKind(machine))
				if machine.Spec.Bootstrap.ConfigRef.IsDefined() {
					r.External.Ensure(bootstrapKind(machine))
				}
			}
			return true
		},
		UpdateFunc: func(e event.UpdateEvent) bool {
			if machine, ok := e.ObjectNew.(*clusterv1.Machine); ok {
				r.writes.observed(machine)
			}
			if before, ok := e.ObjectOld.(*clusterv1.Machine); ok && e.ObjectNew.GetGeneration() != before.Generation {
				r.release(ctx, before) // a reference may have changed to another kind
			}
			return !r.writes.caused(e.ObjectNew.GetUID(), e.ObjectOld.GetResourceVersion(), e.ObjectNew.GetResourceVersion()) ||
				!foundByTheSame(e.ObjectOld, e.ObjectNew)
		},
		DeleteFunc: func(e event.DeleteEvent) bool {
			r.writes.forget(e.Object.GetUID())
			r.deferred.forget(e.Object.GetUID())
			if machine, ok := e.Object.(*clusterv1.Machine); ok {
				r.release(ctx, machine)
			}
			return false
		},
	}
}

// release ends the informers of the kinds that the Machine references, unless others reference them.
func (r *Reconciler) release(ctx context.Context, machine *clusterv1.Machine) {
	r.External.Release(ctx, infraKind(machine))
	if machine.Spec.Bootstrap.ConfigRef.IsDefined() {
		r.External.Release(ctx, bootstrapKind(machine))
	}
}

// foundByTheSame reports whether no event of a Node finds the one Machine and not the other.
func foundByTheSame(before, after client.Object) bool {
	a, okA := before.(*clusterv1.Machine)
	b, okB := after.(*clusterv1.Machine)
	return okA && okB && a.Spec.ProviderID == b.Spec.ProviderID && a.Status.NodeRef == b.Status.NodeRef
}

// clusterChanges lets only those changes of a Cluster pass that a Machine acts on. Its deletion is among them: it
// decides on what is deleted together with a Machine.
func clusterChanges() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, okBefore := e.ObjectOld.(*clusterv1.Cluster)
			after, okAfter := e.ObjectNew.(*clusterv1.Cluster)
			return !okBefore || !okAfter || factsOf(before) != factsOf(after)
		},
	}
}

// clusterFacts are what a Machine reads from its Cluster.
type clusterFacts struct {
	uid                       types.UID
	paused                    bool
	deleting                  bool
	infrastructureProvisioned bool
	controlPlaneInitialized   bool
	controlPlaneRef           clusterv1.ContractVersionedObjectReference
}

func factsOf(cluster *clusterv1.Cluster) clusterFacts {
	return clusterFacts{
		uid:                       cluster.UID,
		paused:                    isTrue(cluster.Spec.Paused),
		deleting:                  !cluster.DeletionTimestamp.IsZero(),
		infrastructureProvisioned: isTrue(cluster.Status.Initialization.InfrastructureProvisioned),
		controlPlaneInitialized:   status.IsTrue(cluster.Status.Conditions, clusterv1.ClusterControlPlaneInitializedCondition),
		controlPlaneRef:           cluster.Spec.ControlPlaneRef,
	}
}

func infraKind(machine *clusterv1.Machine) external.Kind {
	return external.Kind{Role: external.InfraMachine, GroupKind: machine.Spec.InfrastructureRef.GroupKind()}
}

func bootstrapKind(machine *clusterv1.Machine) external.Kind {
	return external.Kind{Role: external.BootstrapConfig, GroupKind: machine.Spec.Bootstrap.ConfigRef.GroupKind()}
}

// indexers returns how each index is made.
func indexers() map[string]client.IndexerFunc {
	by := func(key func(*clusterv1.Machine) string) client.IndexerFunc {
		return func(obj client.Object) []string {
			machine, ok := obj.(*clusterv1.Machine)
			if !ok {
				return nil
			}
			if k := key(machine); k != "" {
				return []string{k}
			}
			return nil
		}
	}
	configRef := func(index func(ref clusterv1.ContractVersionedObjectReference) string) func(*clusterv1.Machine) string {
		return func(m *clusterv1.Machine) string {
			if !m.Spec.Bootstrap.ConfigRef.IsDefined() {
				return ""
			}
			return index(m.Spec.Bootstrap.ConfigRef)
		}
	}
	return map[string]client.IndexerFunc{
		indexCluster:       by(func(m *clusterv1.Machine) string { return m.Spec.ClusterName }),
		indexProviderID:    by(func(m *clusterv1.Machine) string { return m.Spec.ProviderID }),
		indexNode:          by(func(m *clusterv1.Machine) string { return m.Status.NodeRef.Name }),
		indexMachineSet:    by(rollout.MachineSetOf),
		indexInfraKind:     by(func(m *clusterv1.Machine) string { return m.Spec.InfrastructureRef.GroupKind().String() }),
		indexInfra:         by(func(m *clusterv1.Machine) string { return referenceKey(m.Spec.InfrastructureRef) }),
		indexBootstrapKind: by(configRef(func(ref clusterv1.ContractVersionedObjectReference) string { return ref.GroupKind().String() })),
		indexBootstrap:     by(configRef(referenceKey)),
	}
}

// referenceKey is the key of a reference in its index, in which objects are looked up within a namespace.
func referenceKey(ref clusterv1.ContractVersionedObjectReference) string {
	return ref.GroupKind().String() + "/" + ref.Name
}

// Referrers finds Machines by what they reference, in the indexes of the cache.
type Referrers struct {
	Reader client.Reader
}

// Of implements external.Referrers.
func (f Referrers) Of(ctx context.Context, kind external.Kind) []reconcile.Request {
	index := indexInfraKind
	if kind.Role == external.BootstrapConfig {
		index = indexBootstrapKind
	}
	return f.find(ctx, client.MatchingFields{index: kind.GroupKind.String()})
}

// To implements external.Referrers.
func (f Referrers) To(ctx context.Context, kind external.Kind, key types.NamespacedName) []reconcile.Request {
	index := indexInfra
	if kind.Role == external.BootstrapConfig {
		index = indexBootstrap
	}
	return f.find(ctx, client.InNamespace(key.Namespace), client.MatchingFields{index: kind.GroupKind.String() + "/" + key.Name})
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
