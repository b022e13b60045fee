// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/machinist-dev/machinist/apis/contract"
)

var crdResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// CRDMetadata returns an empty object of the form in which CustomResourceDefinitions are read: their metadata only.
func CRDMetadata() *metav1.PartialObjectMetadata {
	crd := &metav1.PartialObjectMetadata{}
	crd.SetGroupVersionKind(crdResource.GroupVersion().WithKind("CustomResourceDefinition"))
	return crd
}

// Referrers finds the requests of the objects that reference provider objects. Implementations answer from memory.
type Referrers interface {
	// Of returns the requests of all that reference any object of the kind.
	Of(ctx context.Context, kind Kind) []reconcile.Request
	// Any reports whether anything references the kind.
	Any(ctx context.Context, kind Kind) bool
	// To returns the requests of all that reference the one object.
	To(ctx context.Context, kind Kind, key types.NamespacedName) []reconcile.Request
	// Patient reports whether the one that the request is about can wait for a change that is only informational.
	Patient(ctx context.Context, request reconcile.Request) bool
}

// Options are the dependencies of a Tracker; all but Namespace are required.
type Options struct {
	// Config is used for the informers of provider objects, for their patches and deletes.
	Config *rest.Config
	// Cache serves the metadata of CustomResourceDefinitions.
	Cache cache.Cache
	// Referrers maps provider objects to what must be reconciled.
	Referrers Referrers
	// Namespace restricts the informers to one namespace; empty means all.
	Namespace string
}

// Tracker reads, watches and writes provider objects. It is safe for concurrent use.
type Tracker struct {
	dynamic   dynamic.Interface
	watches   watches
	metadata  metadata.Interface
	cache     cache.Cache
	referrers Referrers
	namespace string

	mu    sync.RWMutex
	kinds map[Kind]*kindWatch
	// ctx and queue are set once, when the source starts; that is before the first reconcile.
	ctx   context.Context //nolint:containedctx // lifetime of the informers, which outlive the call that starts them
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// NewTracker returns a Tracker. It does nothing before the source of Source is started.
func NewTracker(options Options) (*Tracker, error) {
	dynamicClient, err := dynamic.NewForConfig(options.Config)
	if err != nil {
		return nil, fmt.Errorf("building the client of provider objects: %w", err)
	}
	watches, err := newClients(withArrivals(withoutRetries(options.Config)))
	if err != nil {
		return nil, fmt.Errorf("building the client of the informers: %w", err)
	}
	metadataClient, err := metadata.NewForConfig(options.Config)
	if err != nil {
		return nil, fmt.Errorf("building the metadata client of provider objects: %w", err)
	}
	return &Tracker{
		dynamic:   dynamicClient,
		watches:   watches,
		metadata:  metadataClient,
		cache:     options.Cache,
		referrers: options.Referrers,
		namespace: options.Namespace,
		kinds:     map[Kind]*kindWatch{},
	}, nil
}

// A ClusterRole by itself, as CustomResourceDefinitions have no namespace: an installation for one namespace needs it too.
//
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=get;list;watch,roleName=definitions-role

// Source connects the Tracker to the queue of a controller: events of provider objects and of their CRDs are turned
// into requests there. It must be registered with exactly one controller.
func (t *Tracker) Source() source.Source {
	return source.TypedFunc[reconcile.Request](func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		t.start(ctx, queue)
		informer, err := t.cache.GetInformer(ctx, CRDMetadata(), cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watching CustomResourceDefinitions: %w", err)
		}
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    t.crdChanged,
			UpdateFunc: func(_, after any) { t.crdChanged(after) },
			DeleteFunc: t.crdChanged,
		})
		return err
	})
}

// start runs the watches of kinds that were asked for before the source was started, too.
func (t *Tracker) start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ctx, t.queue = ctx, queue
	for _, watch := range t.kinds {
		t.run(watch)
	}
}

// Get returns the object as the cache has it, without ever waiting.
//
// Errors: a *KindError while objects of the kind can't be read at all, and a NotFound of the API machinery when the kind
// can be read and the object isn't there.
func (t *Tracker) Get(kind Kind, key types.NamespacedName) (*Object, error) {
	return t.watchOf(kind).get(key)
}

// Listed reports whether the first list of the kind has an outcome, good or bad, and starts the informer on first use.
// Until then a caller should leave things as they are: everything that references the kind is enqueued afterwards.
func (t *Tracker) Listed(kind Kind) bool {
	problem := t.watchOf(kind).state.Load().problem
	return problem == nil || !problem.pending
}

// Ensure starts the informer of the kind, if it isn't running already, without waiting for it.
func (t *Tracker) Ensure(kind Kind) {
	t.watchOf(kind)
}

// Gone asks the API server, not the cache, whether the object is gone, or belongs to somebody else than the ownership
// says. It is meant for the one decision that a stale answer would spoil: to let go of a Machine whose machine may still
// exist. The object is also gone when no CustomResourceDefinition for it is installed, as its objects went with it.
func (t *Tracker) Gone(ctx context.Context, kind Kind, key types.NamespacedName, ownership Ownership) (bool, error) {
	crdName := contract.CRDName(kind.Group, kind.Kind)
	crd, err := t.metadata.Resource(crdResource).Get(ctx, crdName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading CustomResourceDefinition %s: %w", crdName, err)
	}
	resolution, err := contract.Resolve(crd.Labels)
	if err != nil {
		return false, fmt.Errorf("CustomResourceDefinition %s: %w", crdName, err)
	}
	resource := resourceOf(kind, crdName, resolution)
	object, err := t.metadata.Resource(resource).Namespace(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading %s %s: %w", kind.Kind, key, err)
	}
	_, _, err = ownerReferencesFor(kind, object, ownership)
	if _, owned := errors.AsType[*OwnedError](err); owned {
		return true, nil
	}
	return false, err
}

// watchOf returns the watch of the kind and starts it on first use.
func (t *Tracker) watchOf(kind Kind) *kindWatch {
	t.mu.RLock()
	watch, ok := t.kinds[kind]
	t.mu.RUnlock()
	if ok {
		return watch
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if watch, ok := t.kinds[kind]; ok {
		return watch
	}
	watch = newKindWatch(t, kind)
	t.kinds[kind] = watch
	if t.ctx != nil {
		t.run(watch)
	}
	return watch
}

// run starts the follower of a watch. The caller holds the lock.
func (t *Tracker) run(watch *kindWatch) {
	ctx, cancel := context.WithCancel(t.ctx)
	watch.cancel = cancel
	go watch.follow(ctx)
}

// Release ends the watch of the kind if nothing references it any more; the next use starts it again. It is to be called
// when an object that may have been the last one is gone from the cache that the Referrers answer from.
func (t *Tracker) Release(ctx context.Context, kind Kind) {
	if t.referrers.Any(ctx, kind) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if watch, ok := t.kinds[kind]; ok && watch.cancel != nil {
		watch.cancel()
		delete(t.kinds, kind)
	}
}

// crdChanged makes the watches of the CRD's kinds look at it again.
func (t *Tracker) crdChanged(obj any) {
	if tombstone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	crd, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return
	}
	t.mu.RLock()
	watches := slices.Collect(maps.Values(t.kinds))
	t.mu.RUnlock()
	for _, watch := range watches {
		if watch.crdName == crd.Name {
			watch.wake()
		}
	}
}

func (t *Tracker) enqueue(requests []reconcile.Request) {
	for _, request := range requests {
		t.queue.Add(request)
	}
}

// patience is how long a change that is only informational waits for more to come, and then for everybody else's turn.
const patience = 2 * time.Second

// inform enqueues those who can't wait, and the others for later: most of what happens to a Machine on its way to Running
// is announced by the conditions of its objects, and followed within a moment by what it is announced by.
func (t *Tracker) inform(requests []reconcile.Request) {
	for _, request := range requests {
		queue, hasPriorities := t.queue.(priorityqueue.PriorityQueue[reconcile.Request])
		if hasPriorities && t.referrers.Patient(t.ctx, request) {
			queue.AddWithOpts(priorityqueue.AddOpts{After: patience, Priority: new(handler.LowPriority)}, request)
			continue
		}
		t.queue.Add(request)
	}
}
