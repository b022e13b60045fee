// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/machinist-dev/machinist/apis/contract"
)

// kindWatch keeps one kind readable. Its goroutine (follow) is the only one that starts, swaps and stops informers;
// readers take the published state without waiting.
type kindWatch struct {
	tracker *Tracker
	kind    Kind
	crdName string
	// wakeup has room for one signal: several changes of a CRD are looked at once.
	wakeup chan struct{}
	state  atomic.Pointer[kindState]

	mu sync.Mutex
	// written holds objects as our own patches left them, by UID, until the informer has caught up.
	written map[types.UID]*unstructured.Unstructured
	// deleted holds the UIDs that we asked the API server to delete, until the informer has seen it.
	deleted map[types.UID]struct{}
}

// kindState is what readers see, published whole: informer, API version and contract version always belong together.
type kindState struct {
	serving    *informer
	resolution contract.Resolution
	problem    *KindError
}

func newKindWatch(tracker *Tracker, kind Kind) *kindWatch {
	w := &kindWatch{
		tracker: tracker,
		kind:    kind,
		crdName: contract.CRDName(kind.Group, kind.Kind),
		wakeup:  make(chan struct{}, 1),
		written: map[types.UID]*unstructured.Unstructured{},
		deleted: map[types.UID]struct{}{},
	}
	w.state.Store(&kindState{problem: w.problem(NotSynced, "Waiting for the first list of %s", kind.GroupKind)})
	return w
}

func (w *kindWatch) wake() {
	select {
	case w.wakeup <- struct{}{}:
	default:
	}
}

// follow adapts to the CRD until the context ends.
func (w *kindWatch) follow(ctx context.Context) {
	ctx = log.IntoContext(ctx, log.FromContext(ctx).WithValues("kind", w.kind.GroupKind.String(), "role", w.kind.Role.String()))
	var next *informer // started, not serving yet
	defer func() {
		next.end()
		w.state.Load().serving.end()
	}()
	for {
		next = w.adapt(ctx, next)
		select {
		case <-ctx.Done():
			return
		case <-w.wakeup:
		case <-next.synced():
			w.swap(ctx, next)
			next = nil
		case err := <-next.failures():
			w.publishProblem(ctx, w.problem(NotSynced, "Objects of %s can't be listed at API version %s: %v; the list is retried until it succeeds", w.kind.GroupKind, next.resolution.APIVersion, err))
		}
	}
}

// adapt compares the CRD with what runs, and returns the informer that should serve next, or nil if the serving one is right.
func (w *kindWatch) adapt(ctx context.Context, next *informer) *informer {
	crd, err := w.tracker.readCRD(ctx, w.crdName)
	if err != nil {
		next.end()
		switch {
		case ctx.Err() != nil:
		case apierrors.IsNotFound(err):
			w.stop(ctx, w.problem(CRDMissing, "CustomResourceDefinition %s for %s does not exist: install the provider, or correct the reference", w.crdName, w.kind.GroupKind))
		default:
			w.stop(ctx, w.problem(NotSynced, "CustomResourceDefinition %s can't be read: %v", w.crdName, err))
		}
		return nil
	}
	resolution, err := contract.Resolve(crd.Labels)
	if err != nil {
		next.end()
		w.stop(ctx, w.problem(ContractUnknown, "CustomResourceDefinition %s: %v", w.crdName, err))
		return nil
	}
	serving := w.state.Load().serving
	switch {
	case serving.serves(crd.UID, resolution.APIVersion):
		next.end()
		w.publishResolution(ctx, resolution)
		return nil
	case next.serves(crd.UID, resolution.APIVersion):
		next.resolution = resolution
		return next
	}
	next.end()
	if serving != nil && serving.crdUID != crd.UID {
		// Deleted and installed again: what the old informer knows is gone.
		w.stop(ctx, w.problem(NotSynced, "Waiting for the first list of %s", w.kind.GroupKind))
	}
	log.FromContext(ctx).Info("Starting informer", "apiVersion", resolution.APIVersion, "contractVersion", resolution.ContractVersion)
	return w.startInformer(ctx, crd.UID, resolution)
}

// swap publishes the informer that has synced, wakes every Machine of the kind, and ends the informer that served before.
func (w *kindWatch) swap(ctx context.Context, next *informer) {
	before := w.state.Load().serving
	w.state.Store(&kindState{serving: next, resolution: next.resolution})
	w.tracker.enqueue(w.tracker.referrers.Of(ctx, w.kind))
	before.end()
	log.FromContext(ctx).Info("Informer has synced", "apiVersion", next.resolution.APIVersion, "contractVersion", next.resolution.ContractVersion)
}

// publishResolution switches the contract version when the label moved without changing the API version.
func (w *kindWatch) publishResolution(ctx context.Context, resolution contract.Resolution) {
	state := w.state.Load()
	if state.resolution == resolution && state.problem == nil {
		return
	}
	w.state.Store(&kindState{serving: state.serving, resolution: resolution})
	w.tracker.enqueue(w.tracker.referrers.Of(ctx, w.kind))
}

// publishProblem makes reads fail with the problem, unless an informer serves them: then old answers are better than none.
func (w *kindWatch) publishProblem(ctx context.Context, problem *KindError) {
	state := w.state.Load()
	if state.serving != nil || (state.problem != nil && *state.problem == *problem) {
		return
	}
	log.FromContext(ctx).Info("Kind can't be read", "problem", problem.Problem, "message", problem.Message)
	w.state.Store(&kindState{problem: problem})
	w.tracker.enqueue(w.tracker.referrers.Of(ctx, w.kind))
}

// stop ends the serving informer; reads fail with the problem from now on.
func (w *kindWatch) stop(ctx context.Context, problem *KindError) {
	serving := w.state.Load().serving
	if serving != nil {
		w.state.Store(&kindState{problem: problem})
		serving.end()
		log.FromContext(ctx).Info("Stopped informer", "problem", problem.Problem, "message", problem.Message)
		w.tracker.enqueue(w.tracker.referrers.Of(ctx, w.kind))
		return
	}
	w.publishProblem(ctx, problem)
}

func (w *kindWatch) problem(reason KindProblem, format string, args ...any) *KindError {
	return &KindError{Kind: w.kind, Problem: reason, Message: fmt.Sprintf(format, args...)}
}

// get answers from the store of the serving informer, or from our own last write if the informer is behind it.
func (w *kindWatch) get(key types.NamespacedName) (*Object, error) {
	state := w.state.Load()
	if state.problem != nil {
		return nil, state.problem
	}
	resource := resourceOf(w.kind, w.crdName, state.resolution)
	item, exists, err := state.serving.shared.GetStore().GetByKey(key.String())
	if err != nil {
		return nil, fmt.Errorf("reading %s %s from the cache: %w", w.kind.Kind, key, err)
	}
	if !exists {
		return nil, apierrors.NewNotFound(resource.GroupResource(), key.Name)
	}
	raw, ok := item.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("reading %s %s from the cache: %w", w.kind.Kind, key, errors.ErrUnsupported)
	}
	return &Object{kind: w.kind, resource: resource, contract: state.resolution.ContractVersion, raw: w.newest(raw)}, nil
}

func resourceOf(kind Kind, crdName string, resolution contract.Resolution) schema.GroupVersionResource {
	return schema.GroupVersionResource{
		Group:    kind.Group,
		Version:  resolution.APIVersion,
		Resource: crdName[:len(crdName)-len(kind.Group)-1],
	}
}
