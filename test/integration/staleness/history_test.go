// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package staleness

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// life is what has happened to one object, from its creation to its end. Versions are revisions of etcd, so they tell
// what came first, also between kinds.
type life struct {
	kind, name string
	created    uint64
	ended      uint64 // 0 while the object lives
	// owned is whether a Machine controls the object and the label of the Cluster is right; adopted how often it became so.
	owned   bool
	adopted int
	// held is whether it ever had the finalizer of Machines.
	held bool
}

// history follows objects as the API server has them, version by version.
type history struct {
	mu    sync.Mutex
	lives map[types.UID]*life
}

// follow records what happens to objects of the kinds in a namespace until the end of the spec.
func follow(ctx context.Context, namespace string, kinds ...schema.GroupVersionKind) *history {
	GinkgoHelper()
	h := &history{lives: map[types.UID]*life{}}
	for _, kind := range kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		Expect(k8s.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
		Expect(list.Items).To(BeEmpty())
		watching, err := k8s.Watch(context.WithoutCancel(ctx), list, client.InNamespace(namespace), &client.ListOptions{
			Raw: &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()},
		})
		Expect(err).NotTo(HaveOccurred())
		ended := make(chan struct{})
		var stopped atomic.Bool
		go func() {
			defer GinkgoRecover()
			defer close(ended)
			for event := range watching.ResultChan() {
				if stopped.Load() {
					return // the last event is an error
				}
				h.add(event)
			}
		}()
		DeferCleanup(func() {
			stopped.Store(true)
			watching.Stop()
			Eventually(ended).Should(BeClosed())
		})
	}
	return h
}

func (h *history) add(event watch.Event) {
	o, ok := event.Object.(*unstructured.Unstructured)
	Expect(ok && event.Type != watch.Error).To(BeTrue(), "watch: %v", event.Object)
	h.mu.Lock()
	defer h.mu.Unlock()
	version, err := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
	Expect(err).NotTo(HaveOccurred())
	l, known := h.lives[o.GetUID()]
	if !known {
		l = &life{kind: o.GetKind(), name: o.GetName(), created: version}
		h.lives[o.GetUID()] = l
	}
	controller := metav1.GetControllerOf(o)
	owned := controller != nil && controller.Kind == "Machine" && o.GetLabels()[clusterv1.ClusterNameLabel] != ""
	if owned && !l.owned {
		l.adopted++
	}
	l.owned = owned
	for _, finalizer := range o.GetFinalizers() {
		l.held = l.held || finalizer == clusterv1.MachineFinalizer
	}
	if event.Type == watch.Deleted {
		l.ended = version
	}
}

// of returns the lives of one kind by name; of one name there may be several, one after the other.
func (h *history) of(kind string) map[string][]life {
	h.mu.Lock()
	defer h.mu.Unlock()
	byName := map[string][]life{}
	for _, l := range h.lives {
		if l.kind == kind {
			byName[l.name] = append(byName[l.name], *l)
		}
	}
	return byName
}
