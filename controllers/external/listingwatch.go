// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// listingWatch is a watch that begins with an event for every object that exists. Only the bookmark that ends these tells
// that listing has worked: the API server accepts the request before it reads, or converts, the first object.
type listingWatch struct {
	watch.Interface
	events  chan watch.Event
	stopped chan struct{}
	stop    func()
}

// newListingWatch passes on the events of the watch, and calls listed when all objects that exist have come.
func newListingWatch(from watch.Interface, listed func()) *listingWatch {
	w := &listingWatch{Interface: from, events: make(chan watch.Event), stopped: make(chan struct{})}
	w.stop = sync.OnceFunc(func() {
		close(w.stopped)
		from.Stop()
	})
	go w.pass(listed)
	return w
}

func (w *listingWatch) pass(listed func()) {
	defer close(w.events)
	for event := range w.Interface.ResultChan() {
		if endsInitialEvents(event) {
			listed()
		}
		select {
		case w.events <- event:
		case <-w.stopped:
			return
		}
	}
}

func endsInitialEvents(event watch.Event) bool {
	if event.Type != watch.Bookmark {
		return false
	}
	object, err := meta.Accessor(event.Object)
	return err == nil && object.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
}

// ResultChan implements watch.Interface.
func (w *listingWatch) ResultChan() <-chan watch.Event { return w.events }

// Stop implements watch.Interface.
func (w *listingWatch) Stop() { w.stop() }
