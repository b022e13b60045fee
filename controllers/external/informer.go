// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"context"
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/machinist-dev/machinist/apis/contract"
)

// informer is one run of a client-go informer for one API version of a kind. Methods on nil mean "there is none".
type informer struct {
	shared     toolscache.SharedIndexInformer
	crdUID     types.UID
	resolution contract.Resolution
	cancel     context.CancelFunc
	// reported has room for the latest outcome of listing and watching: nil while a watch is open, or why none is.
	reported chan error
	// arrivals are those of its lists and watches.
	arrivals arrivals
}

// startInformer starts listing and watching. Its events reach the queue only once it serves reads: until then the swap
// that follows the sync wakes every Machine of the kind.
func (w *kindWatch) startInformer(ctx context.Context, crdUID types.UID, resolution contract.Resolution) *informer {
	ctx, cancel := context.WithCancel(ctx)
	inf := &informer{
		crdUID:     crdUID,
		resolution: resolution,
		cancel:     cancel,
		reported:   make(chan error, 1),
	}
	objects := w.tracker.watches.of(w.kind.Role, resourceOf(w.kind, w.crdName, resolution), w.tracker.namespace)
	inf.shared = toolscache.NewSharedIndexInformer(&toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := objects.ListWithContext(inf.arrivals.into(ctx), options)
			if err != nil {
				inf.report(ctx, err)
			}
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			events, err := objects.WatchWithContext(inf.arrivals.into(ctx), options)
			if options.SendInitialEvents == nil || !*options.SendInitialEvents {
				inf.report(ctx, err)
				return events, err
			}
			if apierrors.IsTooManyRequests(err) {
				inf.report(ctx, err)
			}
			if err != nil {
				return nil, err // the reflector tries the same again after a 429, or if nobody answers, and else lists
			}
			return newListingWatch(events, func() { inf.report(ctx, nil) }), nil
		},
	}, &packed{}, 0, toolscache.Indexers{})
	// Neither of these fails before the informer has been started.
	_ = inf.shared.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *toolscache.Reflector, err error) {
		log.FromContext(ctx).V(1).Info("List or watch has ended, it is started again", "apiVersion", resolution.APIVersion, "err", err.Error())
	})
	_, _ = inf.shared.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { w.notify(inf, obj, atOnce) },
		UpdateFunc: func(before, after any) { w.notifyUpdate(inf, before, after) },
		DeleteFunc: func(obj any) { w.notifyDelete(inf, obj) },
	})
	go inf.shared.RunWithContext(ctx)
	return inf
}

// report keeps an outcome for the follower: nil when a watch is open and what was there before it is known, or the API
// server's answer if there is none. That a resource version has expired is no failure: the reflector lists again. That
// nobody answers says nothing about the kind.
func (i *informer) report(ctx context.Context, err error) {
	if ctx.Err() != nil || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) || !isAnswer(err) {
		return
	}
	select {
	case <-i.reported: //nolint:errcheck // drops the outcome that nobody took
	default:
	}
	select {
	case i.reported <- err:
	default:
	}
}

// withoutRetries returns a config for informers: their requests fail when the API server asks to try again later, as it
// also does for half a minute and more when it can't convert the objects of a kind. The reflector tries again by itself,
// and less and less often; hidden in a request, nobody would learn of it.
func withoutRetries(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(transport http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			response, err := transport.RoundTrip(request)
			if response != nil {
				response.Header.Del("Retry-After")
			}
			return response, err
		})
	})
	return config
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// isAnswer is false for errors of the connection.
func isAnswer(err error) bool {
	var status apierrors.APIStatus
	return err == nil || errors.As(err, &status)
}

func (w *kindWatch) notifyUpdate(from *informer, before, after any) {
	old, okOld := packedIn(before)
	now, okNow := packedIn(after)
	if !okOld || !okNow {
		w.notify(from, after, atOnce)
		return
	}
	if old.uid != now.uid {
		w.forget(old.uid) // deleted and created again while nobody watched
	}
	known := w.known(old)
	switch ours := w.writes.Changed(now.uid, old.resourceVersion, now.resourceVersion); {
	case w.refused.Explained(now.uid, now.resourceVersion):
		w.notify(from, after, atOnce)
	case ours:
		w.notify(from, after, never)
	default:
		w.notify(from, after, w.concern(known, now))
	}
}

// urgency says when those who reference an object are told of a change.
type urgency int

const (
	never urgency = iota
	late          // as soon as they have nothing else to do
	atOnce
)

// concern tells how urgent an update is by what has changed.
func (w *kindWatch) concern(before, after *packed) urgency {
	if before.equalButForVersion(after) {
		return never
	}
	a, errOld := before.unpack()
	b, errNow := after.unpack()
	switch {
	case errOld != nil || errNow != nil:
		return atOnce
	case w.kind.Role.contractEqual(a, b):
		return never
	case w.kind.Role.operativelyEqual(a, b):
		return late
	default:
		return atOnce
	}
}

func (w *kindWatch) notifyDelete(from *informer, obj any) {
	if object, ok := packedIn(obj); ok {
		w.forget(object.uid)
	}
	w.notify(from, obj, atOnce)
}

func (w *kindWatch) notify(from *informer, obj any, when urgency) {
	w.counts.seen.Add(1)
	if when == never {
		w.counts.ignored.Add(1)
		return
	}
	if w.state.Load().serving != from {
		return
	}
	key, err := toolscache.DeletionHandlingObjectToName(obj)
	if err != nil {
		return
	}
	name := types.NamespacedName{Namespace: key.Namespace, Name: key.Name}
	requests := w.tracker.referrers.To(w.tracker.ctx, w.kind, name)
	if when == late {
		w.tracker.inform(requests)
		return
	}
	w.tracker.enqueue(requests)
}

func (w *kindWatch) wakeReferrers(ctx context.Context, key types.NamespacedName) {
	w.tracker.enqueue(w.tracker.referrers.To(ctx, w.kind, key))
}

func (i *informer) serves(crdUID types.UID, apiVersion string) bool {
	return i != nil && i.crdUID == crdUID && i.resolution.APIVersion == apiVersion
}

// synced is closed when the first list is in the store; it blocks for ever when there is no informer.
func (i *informer) synced() <-chan struct{} {
	if i == nil {
		return nil
	}
	return i.shared.HasSyncedChecker().Done()
}

// reports delivers the latest outcome of listing and watching; it blocks for ever when there is no informer.
func (i *informer) reports() <-chan error {
	if i == nil {
		return nil
	}
	return i.reported
}

// end stops the informer without waiting for it: while nobody answers, client-go's reflector is asleep for as long as a
// minute.
func (i *informer) end() {
	if i != nil {
		i.cancel()
	}
}
