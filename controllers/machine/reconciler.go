// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers/external"
	"github.com/machinist-dev/machinist/controllers/machine/nodesync"
	"github.com/machinist-dev/machinist/controllers/machine/rollout"
	"github.com/machinist-dev/machinist/controllers/ownwrites"
	"github.com/machinist-dev/machinist/controllers/workload"
)

const machineKind = "Machine"

const (
	// staleRetry is the time after which a reconcile is repeated that came too late for a change of the Machine.
	staleRetry = 200 * time.Millisecond
	// afterWrite is the time after which a deletion goes on that wrote how far it is before it goes on.
	afterWrite = time.Millisecond
	// behindRetry is the time after which a reconcile is repeated that found a cache to be behind the API server. It is there
	// for safety only: before the event that is on its way there is nothing new, and with it the Machine is woken.
	behindRetry = 10 * time.Second
)

// Reconciler reconciles Machines; see the package comment. It is safe for concurrent use once it is set up.
type Reconciler struct {
	// Client reads Machines, Clusters and MachineDrainRules from the cache and writes Machines.
	Client client.Client
	// Live reads Machines from the API server. It is used only with a WatchFilter.
	Live client.Reader
	// External reads and writes InfraMachines and BootstrapConfigs.
	External *external.Tracker
	// Workload reads, patches, drains and deletes Nodes.
	Workload *workload.Clusters
	// NodeRules tell what a Node gets from its Machine.
	NodeRules nodesync.Rules
	// Revisions tell whether a rollout is about to replace a Machine, and why.
	Revisions *rollout.Revisions
	// Recorder sends events.
	Recorder events.EventRecorder
	// Clock tells the time.
	Clock clock.PassiveClock
	// WatchFilter is the value of the label cluster.x-k8s.io/watch-filter that a Machine must have; empty means any. The cache
	// that Client reads from has no others.
	WatchFilter string
	// RemoteConditionsGracePeriod is the time after the last successful probe of a workload cluster for which the
	// conditions about its Nodes are believed.
	RemoteConditionsGracePeriod time.Duration

	writes   ownwrites.Memory[*clusterv1.Machine]
	deferred deferredStatus
	gone     goneObjects
	passes   nodePasses
	crowded  crowdedOut
	// queue is set when the controller starts, which is before the first reconcile.
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// Reconcile brings one Machine closer to what its spec asks for, and says in its status what is missing.
//
// A reconcile that has begun when the manager is told to stop is finished, so that no request is cut off, of which nobody
// knows what has become of it; none is begun after that.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	if ctx.Err() != nil {
		return ctrl.Result{}, nil
	}
	ctx, cancel := outlasting(ctx, ShutdownGrace)
	defer cancel()
	s, err := r.fetch(ctx, request)
	if s == nil || err != nil {
		return ctrl.Result{}, err
	}
	r.writes.Begin(s.machine.UID)
	defer func() {
		r.forgetIfGone(ctx, s)
		if r.writes.End(s.stored.UID) {
			r.queue.Add(request) // as the event of somebody else's change would have done if it had not been held
		}
	}()
	return r.reconcile(ctx, s)
}

func (r *Reconciler) reconcile(ctx context.Context, s *scope) (ctrl.Result, error) {
	if reason := pausedBecause(s); reason != "" {
		return r.result(s, r.persistPaused(ctx, s, reason))
	}
	if !r.kindsListed(s) {
		return ctrl.Result{}, nil
	}
	if err := r.reconcileOwner(ctx, s); err != nil {
		return r.result(s, err) // without a finalizer nothing else may be touched
	}
	r.deferred.restore(s)
	errs := r.work(ctx, s)
	return r.result(s, append(errs, r.persist(ctx, s, len(errs) == 0))...)
}

// fetch returns nil if there is nothing to do: the Machine is gone, or belongs to another manager.
func (r *Reconciler) fetch(ctx context.Context, request ctrl.Request) (*scope, error) {
	machine := &clusterv1.Machine{}
	if err := r.Client.Get(ctx, request.NamespacedName, machine, client.UnsafeDisableDeepCopy); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if latest, ok := r.writes.Newest(machine.UID, machine.ResourceVersion); ok {
		*machine = *latest // what it points to stays shared
	}
	if isGone(machine) || r.gone.has(machine.UID, itself) {
		return nil, nil //nolint:nilnil // we removed the last finalizer; the cache has not heard of it yet
	}
	if !r.isOurs(machine) {
		return nil, nil //nolint:nilnil // nothing to do and nothing wrong
	}
	s := &scope{machine: machine.DeepCopy(), stored: machine, now: r.Clock.Now(), watchFilter: r.WatchFilter, rollout: r.Revisions.State(machine)}
	cluster := &clusterv1.Cluster{}
	switch err := r.Client.Get(ctx, s.clusterKey(), cluster, client.UnsafeDisableDeepCopy); {
	case err == nil:
		s.cluster = cluster
	case !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("reading Cluster %s: %w", s.clusterKey(), err)
	}
	return s, nil
}

// kindsListed is false while a kind that the Machine references is being listed for the first time, as it is for every
// Machine when the manager starts. Nothing is known then that would be worth a write; the end of the list wakes the
// Machine.
func (r *Reconciler) kindsListed(s *scope) bool {
	kinds := []external.Kind{infraKind(s.machine)}
	if s.machine.Spec.Bootstrap.ConfigRef.IsDefined() {
		kinds = append(kinds, bootstrapKind(s.machine))
	}
	if s.asksControlPlane() {
		kinds = append(kinds, controlPlaneKind(s.cluster))
	}
	listed := true
	for _, kind := range kinds {
		listed = r.External.Listed(kind) && listed // all of them start to list
	}
	return listed
}

// isOurs reports whether the Machine is one that this manager is asked to look after.
func (r *Reconciler) isOurs(machine *clusterv1.Machine) bool {
	return r.WatchFilter == "" || machine.Labels[clusterv1.WatchLabel] == r.WatchFilter
}

// isGone reports whether the API server has removed the Machine: it does so when the last finalizer is taken off an
// object that is being deleted.
func isGone(machine *clusterv1.Machine) bool {
	return !machine.DeletionTimestamp.IsZero() && len(machine.Finalizers) == 0
}

// work runs all phases, also after one has failed: what one of them can't do doesn't keep the others from their part.
func (r *Reconciler) work(ctx context.Context, s *scope) []error {
	phases := []func(context.Context, *scope) error{
		r.reconcileBootstrap,
		r.reconcileInfrastructure,
		r.reconcileNode,
	}
	if s.isDeleting() {
		phases = append(phases, r.reconcileDeletion)
	}
	var errs []error
	for _, phase := range phases {
		if err := phase(ctx, s); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// result turns what came out into what the queue does next. That a cache was behind is no failure: the next attempt sees
// more.
func (r *Reconciler) result(s *scope, errs ...error) (ctrl.Result, error) {
	var failures []error
	for _, err := range errs {
		switch {
		case errors.Is(err, errStale):
			s.wakeAfter(staleRetry)
		case errors.Is(err, errBehind), errors.Is(err, external.ErrBehind), errors.Is(err, workload.ErrBehind):
			s.wakeAfter(behindRetry)
		case err != nil:
			failures = append(failures, err)
		}
	}
	// A priority that is not given here would be that of this turn.
	next := ctrl.Result{RequeueAfter: s.requeueAfter, Priority: new(0)}
	if s.statusDue > 0 && (next.RequeueAfter == 0 || s.statusDue < next.RequeueAfter) {
		next = ctrl.Result{RequeueAfter: s.statusDue, Priority: new(handler.LowPriority)}
	}
	if len(failures) > 0 {
		if s.requeueAfter > 0 {
			// With an error, what is asked for here would be ignored, and the next attempt may be minutes away. The queue keeps the
			// earlier time of the two.
			r.queue.AddAfter(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(s.machine)}, s.requeueAfter)
		}
		return ctrl.Result{Priority: new(0)}, errors.Join(failures...)
	}
	return next, nil
}
