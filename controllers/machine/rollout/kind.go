// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"maps"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// byDeployment is the index by namespace/name of the MachineDeployment in the label.
const byDeployment = "deployment"

// kind holds the metadata of the objects of one kind while it is installed.
type kind struct {
	client    metadata.Interface
	namespace string
	resource  schema.GroupVersionResource
	// changed is called with each object that has come, gone, or changed in what is kept of it, and with all of them when
	// they have been listed: what was asked before could not be answered. Set before start.
	changed func(object client.Object)

	mu sync.RWMutex
	// These are nil while the kind is not installed. synced is closed when all objects have been listed.
	store  toolscache.Indexer
	synced <-chan struct{}
	cancel context.CancelFunc
}

func newKind(metadataClient metadata.Interface, namespace, resource string) *kind {
	return &kind{client: metadataClient, namespace: namespace, resource: clusterv1.GroupVersion.WithResource(resource)}
}

// start begins to list and watch, unless that has begun already. It doesn't wait.
func (k *kind) start(ctx context.Context) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.cancel != nil {
		return
	}
	informer := metadatainformer.NewFilteredMetadataInformer(k.client, k.resource, k.namespace, 0, indexers, nil).Informer()
	var once sync.Once
	// These fail only once the informer is started.
	_ = informer.SetTransform(trim)
	_ = informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *toolscache.Reflector, err error) {
		once.Do(func() {
			log.FromContext(ctx).Info("Can't read a kind, and try again; Nodes of outdated Machines are not told apart meanwhile",
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
			old, okOld := before.(*metav1.PartialObjectMetadata)
			now, okNow := after.(*metav1.PartialObjectMetadata)
			if okOld && okNow && !(maps.Equal(old.Labels, now.Labels) && maps.Equal(old.Annotations, now.Annotations)) {
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
	if object, ok := obj.(*metav1.PartialObjectMetadata); ok {
		k.changed(object)
	}
}

// get returns the object, nil if there is none. known is false if all of them have yet to be listed.
func (k *kind) get(namespace, name string) (object *metav1.PartialObjectMetadata, known bool) {
	store := k.listed()
	if store == nil {
		return nil, false
	}
	item, _, err := store.GetByKey(namespace + "/" + name)
	if err != nil {
		return nil, false
	}
	object, _ = item.(*metav1.PartialObjectMetadata)
	return object, true
}

// labelled returns the objects with the label of that MachineDeployment.
func (k *kind) labelled(namespace, deployment string) []*metav1.PartialObjectMetadata {
	store := k.listed()
	if store == nil {
		return nil // each of them will be told when it is listed
	}
	items, err := store.ByIndex(byDeployment, namespace+"/"+deployment)
	if err != nil {
		return nil
	}
	objects := make([]*metav1.PartialObjectMetadata, 0, len(items))
	for _, item := range items {
		if object, ok := item.(*metav1.PartialObjectMetadata); ok {
			objects = append(objects, object)
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
	object, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok || object.Labels[clusterv1.MachineDeploymentNameLabel] == "" {
		return nil, nil
	}
	return []string{object.Namespace + "/" + object.Labels[clusterv1.MachineDeploymentNameLabel]}, nil
}}

// trim keeps what is read here.
func trim(obj any) (any, error) {
	object, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return obj, nil
	}
	kept := metav1.ObjectMeta{Namespace: object.Namespace, Name: object.Name, UID: object.UID, ResourceVersion: object.ResourceVersion}
	if name, ok := object.Labels[clusterv1.MachineDeploymentNameLabel]; ok {
		kept.Labels = map[string]string{clusterv1.MachineDeploymentNameLabel: name}
	}
	if revision, ok := object.Annotations[clusterv1.RevisionAnnotation]; ok {
		kept.Annotations = map[string]string{clusterv1.RevisionAnnotation: revision}
	}
	return &metav1.PartialObjectMetadata{TypeMeta: object.TypeMeta, ObjectMeta: kept}, nil
}
