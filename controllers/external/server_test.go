// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/machinist-dev/machinist/apis/contract"
)

// server is an API server without objects, of one kind, that fails as it is told to. It is also the cache of CRDs, and
// counts how often all Machines of the kind are woken.
type server struct {
	cache.Cache
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]

	mu       sync.Mutex
	crd      *metav1.PartialObjectMetadata
	faults   faults
	requests int
	wakes    int
	machines []reconcile.Request // those that reference the kind
	open     map[string]int      // watches, by API version
	watches  []*watch.FakeWatcher
}

// faults are how a server fails.
type faults struct {
	// list and watch are the errors of requests, events is the one that a watch ends with right after its begin.
	list, watch, events error
	// hang leaves requests without an answer.
	hang bool
	// trickle makes a list bring another byte each time, and end with the fault.
	trickle time.Duration
	// breaks makes a list end without a word after so many bytes.
	breaks int64
}

func newServer() *server {
	s := &server{open: map[string]int{}, crd: CRDMetadata(), machines: []reconcile.Request{{}}}
	s.crd.Name, s.crd.UID = "testmachines.example.org", "crd"
	s.crd.Labels = map[string]string{contract.LabelPrefix + string(contract.V1Beta2): "v1"}
	return s
}

func (s *server) tracker(ctx context.Context) *Tracker {
	s.queue = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	return &Tracker{watches: stubWatches{server: s}, cache: s, referrers: s, kinds: map[Kind]*kindWatch{}, ctx: ctx, queue: s.queue}
}

func (s *server) behave(f faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
}

// fail makes all requests fail.
func (s *server) fail(err error) { s.behave(faults{list: err, watch: err}) }

func (s *server) label(kind *kindWatch, apiVersion string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.crd = s.crd.DeepCopy()
	s.crd.Labels[contract.LabelPrefix+string(contract.V1Beta2)] = apiVersion
	kind.wake()
}

func (s *server) removeCRD(kind *kindWatch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.crd = nil
	kind.wake()
}

// counted returns the number of requests, and of times that all Machines were woken.
func (s *server) counted() (requests, wakes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests, s.wakes
}

// wakesSoFar is the number of times that all Machines were woken.
func (s *server) wakesSoFar() int {
	_, wakes := s.counted()
	return wakes
}

// openWatches returns the number of open watches by API version.
func (s *server) openWatches() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.open)
}

// endWatches ends all open watches, with an event that says why if there is an error.
func (s *server) endWatches(err error) {
	s.mu.Lock()
	watches := s.watches
	s.watches = nil
	s.mu.Unlock()
	for _, w := range watches {
		if err != nil {
			sendError(w, err)
		}
		w.Stop()
	}
}

// Get implements cache.Cache.
func (s *server) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.crd == nil {
		return apierrors.NewNotFound(crdResource.GroupResource(), key.Name)
	}
	s.crd.DeepCopyInto(into.(*metav1.PartialObjectMetadata))
	return nil
}

func (s *server) refer(machines ...reconcile.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.machines = machines
}

// Of implements Referrers.
func (s *server) Of(context.Context, Kind) []reconcile.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wakes++
	return s.machines
}

// Any implements Referrers.
func (s *server) Any(context.Context, Kind) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.machines) > 0
}

// Patient implements Referrers.
func (s *server) Patient(context.Context, reconcile.Request) bool { return false }

// To implements Referrers.
func (s *server) To(context.Context, Kind, types.NamespacedName) []reconcile.Request { return nil }

type stubWatches struct {
	server  *server
	version string
}

func (d stubWatches) of(_ *Role, resource schema.GroupVersionResource, _ string) toolscache.ListerWatcherWithContext {
	d.version = resource.Version
	return d
}

func (d stubWatches) ListWithContext(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
	f, err := d.server.answer(ctx)
	if err != nil || f.list != nil {
		return nil, cmp.Or(err, f.list)
	}
	ctx.Value(arrivalsKey{}).(*arrivals).reached(1)
	return &packedList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, nil
}

func (d stubWatches) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	s := d.server
	f, err := s.answer(ctx)
	if err != nil || f.watch != nil {
		return nil, cmp.Or(err, f.watch)
	}
	w := watch.NewFakeWithChanSize(1, false)
	switch {
	case f.events != nil:
		sendError(w, f.events)
	case f.trickle > 0:
		s.trickle(ctx, w)
	case options.SendInitialEvents != nil && *options.SendInitialEvents:
		w.Action(watch.Bookmark, &packed{resourceVersion: "1", endsInitialEvents: true})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[d.version]++
	s.watches = append(s.watches, w)
	return &stubWatch{FakeWatcher: w, stop: sync.OnceFunc(func() { s.closed(d.version) })}, nil
}

// trickle begins a list that takes its time.
func (s *server) trickle(ctx context.Context, w *watch.FakeWatcher) {
	go func() {
		for bytes := int64(1); ctx.Err() == nil; bytes++ {
			s.mu.Lock()
			f := s.faults
			s.mu.Unlock()
			switch {
			case f.trickle == 0:
				w.Action(watch.Bookmark, &packed{resourceVersion: "1", endsInitialEvents: true})
				return
			case f.breaks > 0 && bytes > f.breaks:
				w.Stop()
				return
			}
			ctx.Value(arrivalsKey{}).(*arrivals).reached(bytes)
			<-time.After(f.trickle)
		}
	}()
}

func sendError(w *watch.FakeWatcher, err error) {
	status, _ := errors.AsType[*apierrors.StatusError](err)
	w.Error(&status.ErrStatus)
}

// answer counts a request, and fails if the context ends before it is answered.
func (s *server) answer(ctx context.Context) (faults, error) {
	s.mu.Lock()
	s.requests++
	f := s.faults
	s.mu.Unlock()
	if f.hang {
		<-ctx.Done()
		return f, ctx.Err()
	}
	return f, nil
}

func (s *server) closed(version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[version]--; s.open[version] == 0 {
		delete(s.open, version)
	}
}

// stubWatch is a watch that the server counts as open until its client stops it.
type stubWatch struct {
	*watch.FakeWatcher
	stop func()
}

func (w *stubWatch) Stop() {
	w.stop()
	w.FakeWatcher.Stop()
}
