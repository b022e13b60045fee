// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/log"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// byDeployment is the index by namespace/name of the MachineDeployment in the label.
const byDeployment = "deployment"

// kind holds what is kept of the objects of one kind while it is installed.
type kind struct {
	client    dynamic.Interface
	namespace string
	resource  schema.GroupVersionResource
	// changed is called with each object that has come, gone, or changed in what is kept of it, and with all of them when
	// they have been listed: what was asked before could not be answered. Set before start.
	changed func(object metav1.Object)

	mu sync.RWMutex
	// These are nil while the kind is not installed. synced is closed when all objects have been listed.
	store  toolscache.Indexer
	synced <-chan struct{}
	cancel context.CancelFunc
}

func newKind(dynamicClient dynamic.Interface, namespace, resource string) *kind {
	return &kind{client: dynamicClient, namespace: namespace, resource: clusterv1.GroupVersion.WithResource(resource)}
}

// start begins to list and watch, unless that has begun already. It doesn't wait.
func (k *kind) start(ctx context.Context) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.cancel != nil {
		return
	}
	informer := dynamicinformer.NewFilteredDynamicInformer(k.client, k.resource, k.namespace, 0, indexers, nil).Informer()
	var once sync.Once
	// These fail only once the informer is started.
	_ = informer.SetTransform(keep)
	_ = informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *toolscache.Reflector, err error) {
		once.Do(func() {
			log.FromContext(ctx).Info("Can't read a kind, and try again; it is not known meanwhile which Machines a rollout is about to replace",
				"resource", k.resource.String(), "err", err.Error())
		})
	})
	handler, err := informer.AddEventHandler(toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, initial bool) {
			if !initial {
				k.notify(obj)
			}
		},
		UpdateFunc: func(before, after any) {
			old, okOld := before.(*object)
			now, okNow := after.(*object)
			if okOld && okNow && !old.says(now) {
				k.notify(now)
			}
		},
		DeleteFunc: k.notify,
	})
	if err != nil {
		log.FromContext(ctx).Error(err, "Watching a kind", "resource", k.resource.String())
		return
	}
	ctx, k.cancel = context.WithCancel(ctx)
	k.store, k.synced = informer.GetIndexer(), handler.HasSyncedChecker().Done()
	go informer.RunWithContext(ctx)
	go k.notifyOfAll(ctx, k.store, k.synced)
}

// notifyOfAll waits until all objects have been listed.
func (k *kind) notifyOfAll(ctx context.Context, store toolscache.Store, synced <-chan struct{}) {
	select {
	case <-ctx.Done():
	case <-synced:
		for _, object := range store.List() {
			k.notify(object)
		}
	}
}

// stop forgets everything.
func (k *kind) stop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.cancel != nil {
		k.cancel()
	}
	k.store, k.synced, k.cancel = nil, nil, nil
}

func (k *kind) notify(obj any) {
	if tombstone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	if changed, ok := obj.(*object); ok {
		k.changed(changed)
	}
}

// get returns the object, nil if there is none. known is false if all of them have yet to be listed.
func (k *kind) get(namespace, name string) (found *object, known bool) {
	store := k.listed()
	if store == nil {
		return nil, false
	}
	item, _, err := store.GetByKey(namespace + "/" + name)
	if err != nil {
		return nil, false
	}
	found, _ = item.(*object)
	return found, true
}

// labelled returns the objects with the label of that MachineDeployment.
func (k *kind) labelled(namespace, deployment string) []*object {
	store := k.listed()
	if store == nil {
		return nil // each of them will be told when it is listed
	}
	items, err := store.ByIndex(byDeployment, namespace+"/"+deployment)
	if err != nil {
		return nil
	}
	objects := make([]*object, 0, len(items))
	for _, item := range items {
		if found, ok := item.(*object); ok {
			objects = append(objects, found)
		}
	}
	return objects
}

// listed returns the store, nil before everything is in it.
func (k *kind) listed() toolscache.Indexer {
	k.mu.RLock()
	defer k.mu.RUnlock()
	select {
	case <-k.synced: // never, while it is nil
		return k.store
	default:
		return nil
	}
}

var indexers = toolscache.Indexers{byDeployment: func(obj any) ([]string, error) {
	set, ok := obj.(*object)
	if !ok || set.deployment() == "" {
		return nil, nil
	}
	return []string{set.Namespace + "/" + set.deployment()}, nil
}}
