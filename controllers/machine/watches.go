// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers/external"
	"github.com/machinist-dev/machinist/controllers/status"
)

// reconcileTimeout bounds one reconcile.
const reconcileTimeout = time.Minute

// What the controller does with objects of the management cluster. The finalizer of Machines is what an owner reference with
// blockOwnerDeletion asks for where the API server enforces that.
//
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines,verbs=list;watch;patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines/status,verbs=patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines/finalizers,verbs=update
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;machinedrainrules,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// SetupWithManager registers the controller: its indexes, and what wakes a Machine.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, concurrency int) error {
	if err := addIndexes(ctx, mgr.GetCache()); err != nil {
		return err
	}
	// Listed with everything else at the start, so that no drain has to wait for it. No Machine is woken by a rule: the next
	// look at its Node is never far away.
	if _, err := mgr.GetCache().GetInformer(ctx, &clusterv1.MachineDrainRule{}, cache.BlockUntilSynced(false)); err != nil {
		return fmt.Errorf("watching MachineDrainRules: %w", err)
	}
	referrers := Referrers{Reader: mgr.GetCache()}
	return ctrl.NewControllerManagedBy(mgr).
		Named("machine").
		For(&clusterv1.Machine{}, builder.WithPredicates(r.machineChanges(ctx))).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, cluster client.Object) []reconcile.Request {
			return referrers.OfCluster(ctx, client.ObjectKeyFromObject(cluster))
		}), builder.WithPredicates(r.clusterChanges(ctx))).
		WatchesRawSource(source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
			r.queue = queue
			go wait.UntilWithContext(ctx, r.hurryStatuses, statusDelay)
			return nil
		})).
		WatchesRawSource(r.External.Source()).
		WatchesRawSource(r.Workload.Source()).
		WatchesRawSource(r.Revisions.Source()).
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrency, ReconciliationTimeout: reconcileTimeout}).
		Complete(r)
}

// hurryStatuses ends the patience of statuses that have waited for other Machines for too long.
func (r *Reconciler) hurryStatuses(context.Context) {
	for _, machine := range r.deferred.overdue(r.Clock.Now()) {
		r.queue.Add(reconcile.Request{NamespacedName: machine}) // with the priority of all others, which an entry of the queue takes over
	}
}

// machineChanges lets everything pass but the events of our own writes, as they were computed from all that was known,
// unless a Node has come or gone unnoticed meanwhile. It also starts the informers of the kinds that a new Machine references,
// so that those of all kinds in use list side by side, connects to its workload cluster, and ends the informers of kinds that
// no Machine references any more.
func (r *Reconciler) machineChanges(ctx context.Context) predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool {
			if machine, ok := e.Object.(*clusterv1.Machine); ok && r.isOurs(machine) {
				r.External.Ensure(infraKind(machine))
				if machine.Spec.Bootstrap.ConfigRef.IsDefined() {
					r.External.Ensure(bootstrapKind(machine))
				}
				r.Workload.Prepare(ctx, types.NamespacedName{Namespace: machine.Namespace, Name: machine.Spec.ClusterName})
			}
			return true
		},
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, okBefore := e.ObjectOld.(*clusterv1.Machine)
			after, okAfter := e.ObjectNew.(*clusterv1.Machine)
			if !okBefore || !okAfter {
				return true
			}
			switch {
			case before.UID != after.UID: // deleted and created again while nobody watched
				r.forget(ctx, before)
			case before.Generation != after.Generation: // a reference may have changed to another kind
				r.release(ctx, before)
			}
			ours := r.writes.Changed(after.UID, before.ResourceVersion, after.ResourceVersion)
			return !ours || r.missedNode(ctx, before, after)
		},
		DeleteFunc: func(e event.DeleteEvent) bool {
			if machine, ok := e.Object.(*clusterv1.Machine); ok {
				r.forget(ctx, machine)
			}
			return false
		},
	}
}

// forget drops all that is kept for a Machine that is gone, or has been handed over to another manager by its label.
func (r *Reconciler) forget(ctx context.Context, machine *clusterv1.Machine) {
	r.writes.Forget(machine.UID)
	r.forgetMemories(machine.UID)
	r.release(ctx, machine)
	if r.WatchFilter != "" { // all Machines of the Cluster may be another manager's now, and its Nodes of no use here
		r.Workload.Release(ctx, types.NamespacedName{Namespace: machine.Namespace, Name: machine.Spec.ClusterName})
	}
}

// releaseControlPlane ends the informer of the kind that the Cluster references, unless others reference it.
func (r *Reconciler) releaseControlPlane(ctx context.Context, cluster *clusterv1.Cluster) {
	if cluster.Spec.ControlPlaneRef.IsDefined() {
		r.External.Release(ctx, controlPlaneKind(cluster))
	}
}

// forgetIfGone drops what a reconcile has remembered of a Machine that the cache has told to be gone meanwhile: the event
// that forgets it may have come before that. With a watch filter any Machine may be handed over at any time, and is gone then.
func (r *Reconciler) forgetIfGone(ctx context.Context, s *scope) {
	if !s.isDeleting() && r.WatchFilter == "" {
		return
	}
	cached := &clusterv1.Machine{}
	err := r.Client.Get(ctx, client.ObjectKeyFromObject(s.stored), cached, client.UnsafeDisableDeepCopy)
	if !apierrors.IsNotFound(err) && (err != nil || cached.UID == s.stored.UID) {
		return
	}
	r.forgetMemories(s.stored.UID)
	if r.WatchFilter != "" {
		r.Workload.Release(ctx, s.clusterKey())
	}
}

func (r *Reconciler) forgetMemories(machine types.UID) {
	r.deferred.forget(machine)
	r.gone.forget(machine)
	r.passes.forget(machine)
	r.crowded.forget(machine)
}

// release ends the informers of the kinds that the Machine references, unless others reference them.
func (r *Reconciler) release(ctx context.Context, machine *clusterv1.Machine) {
	r.External.Release(ctx, infraKind(machine))
	if machine.Spec.Bootstrap.ConfigRef.IsDefined() {
		r.External.Release(ctx, bootstrapKind(machine))
	}
}

// missedNode reports whether the Machine's Node may have come or gone before the cache had what a Machine is found by: its
// event found no Machine to wake. From now on events find it, as an informer indexes first and calls its handlers then.
func (r *Reconciler) missedNode(ctx context.Context, before, after *clusterv1.Machine) bool {
	if before.Spec.ProviderID == after.Spec.ProviderID && before.Status.NodeRef == after.Status.NodeRef {
		return false
	}
	cluster := types.NamespacedName{Namespace: after.Namespace, Name: after.Spec.ClusterName}
	return r.Workload.HasNode(ctx, cluster, after.Spec.ProviderID) != after.Status.NodeRef.IsDefined()
}

// clusterChanges lets only those changes of a Cluster pass that a Machine acts on. Its deletion is among them: it
// decides on what is deleted together with a Machine. It also ends the informers of control plane kinds that no Cluster
// references any more.
func (r *Reconciler) clusterChanges(ctx context.Context) predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, okBefore := e.ObjectOld.(*clusterv1.Cluster)
			after, okAfter := e.ObjectNew.(*clusterv1.Cluster)
			if !okBefore || !okAfter {
				return true
			}
			if before.Spec.ControlPlaneRef != after.Spec.ControlPlaneRef {
				r.releaseControlPlane(ctx, before)
			}
			return factsOf(before) != factsOf(after)
		},
		DeleteFunc: func(e event.DeleteEvent) bool {
			if cluster, ok := e.Object.(*clusterv1.Cluster); ok {
				r.releaseControlPlane(ctx, cluster)
			}
			return true
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

func controlPlaneKind(cluster *clusterv1.Cluster) external.Kind {
	return external.Kind{Role: external.ControlPlane, GroupKind: cluster.Spec.ControlPlaneRef.GroupKind()}
}
