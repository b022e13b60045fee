// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/machinist-dev/machinist/apis/contract"
)

// staleAfter is how long an informer that serves may fail to list and watch before its answers are called old, and how
// long nothing may arrive of a first list before that is called a problem. What is called so is written to every Machine of
// the kind, so what passes by itself, such as an API server that has too much to do, gets longerPatience times as long.
const (
	staleAfter     = 10 * time.Second
	longerPatience = 3
)

// quickRetry is when a first list is tried again that failed: client-go's reflector would take its time. It is tried again
// quickRetries times if it failed as it does for a moment after a version has begun to be served, and else once, as an API
// server may fail for a moment for any reason.
const (
	quickRetry   = 250 * time.Millisecond
	quickRetries = 20
)

// errNoAnswer is the failure of a list that takes too long.
var errNoAnswer = errors.New("the API server has not answered yet")

// currentTime is what differs in the error of an expired certificate at each attempt. The text ends up in conditions, where
// each change is a write for every Machine of the kind.
var currentTime = regexp.MustCompile(`: current time \S+`)

// follower adapts a kindWatch to its CRD. It runs in one goroutine.
type follower struct {
	*kindWatch
	// next has been started and does not serve yet; nil if the serving informer is the right one, or none can be.
	next *informer
	// nextFailed is true if next could not list so far.
	nextFailed bool
	// retry fires when next shall be started again; nil if it shall not, or was too often.
	retry   <-chan time.Time
	retries int
	// refusal is the latest failure of next that would not pass by itself; nil if there was none.
	refusal error
	// failure is why the serving informer, or the first one, can't list and watch at the moment, as far as is known; nil
	// if it can.
	failure error
	// stale fires when that has lasted for staleAfter, waited times already; nil while there is no failure, or it was said.
	stale  <-chan time.Time
	waited int
}

// follow runs until the context ends, and then leaves nothing running.
func (w *kindWatch) follow(ctx context.Context) {
	f := &follower{kindWatch: w}
	ctx = log.IntoContext(ctx, log.FromContext(ctx).WithValues("kind", w.kind.GroupKind.String(), "role", w.kind.Role.String()))
	defer func() {
		f.next.end()
		w.state.Load().serving.end()
	}()
	f.adapt(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.wakeup:
			f.adapt(ctx)
		case <-f.next.synced():
			f.swap(ctx)
		case err := <-f.next.reports():
			f.nextReported(ctx, err)
		case <-f.retry:
			next := f.next
			f.dropNext()
			f.next = f.startInformer(ctx, next.crdUID, next.resolution)
		case err := <-w.state.Load().serving.reports():
			f.servingReported(ctx, err)
		case <-f.stale:
			f.grownStale(ctx)
		}
	}
}

// adapt compares the CRD with what runs.
func (f *follower) adapt(ctx context.Context) {
	definition, err := f.readDefinition(ctx)
	if ctx.Err() != nil {
		return
	}
	if problem, known := errors.AsType[*KindError](err); known {
		f.stop(ctx, problem)
		return
	}
	if err != nil {
		f.stop(ctx, f.problem(NotSynced, "%v", err))
		return
	}
	state := f.state.Load()
	switch {
	case state.serving.serves(definition.UID, definition.APIVersion):
		f.dropNext()
		f.publishResolution(ctx, definition.Resolution)
	case f.next.serves(definition.UID, definition.APIVersion) && !f.nextFailed:
		f.next.resolution = definition.Resolution
	default:
		f.replace(ctx, definition.UID, definition.Resolution)
	}
}

// readDefinition fails if the cache of CRDs is not filled in time; when it is, its events make the follower look again.
func (f *follower) readDefinition(ctx context.Context) (*Definition, error) {
	ctx, cancel := context.WithTimeout(ctx, staleAfter)
	defer cancel()
	return ReadDefinition(ctx, f.tracker.cache, f.kind)
}

// replace starts the informer that shall serve next. One that failed for the same version is started again, too: the CRD
// has changed, perhaps because it is served now, and the old one would only find out after its backoff.
func (f *follower) replace(ctx context.Context, crdUID types.UID, resolution contract.Resolution) {
	f.dropNext()
	if serving := f.state.Load().serving; serving != nil && serving.crdUID != crdUID {
		f.stop(ctx, f.pending()) // deleted and installed again: what the old informer knows is gone
	}
	log.FromContext(ctx).V(1).Info("Starting informer", "apiVersion", resolution.APIVersion, "contractVersion", resolution.ContractVersion)
	f.next, f.retries, f.refusal = f.startInformer(ctx, crdUID, resolution), 0, nil
	if f.state.Load().serving == nil {
		f.begins(errNoAnswer)
	}
}

// begins starts the time that a failure may last.
func (f *follower) begins(failure error) {
	f.failure, f.stale, f.waited = failure, time.After(staleAfter), 0
}

// grownStale says that the kind can't be read, unless something is still arriving, or the failure may end by itself.
func (f *follower) grownStale(ctx context.Context) {
	f.waited++
	patience := 1
	if errors.Is(f.failure, errNoAnswer) || isBusy(f.failure) {
		patience = longerPatience
	}
	switch {
	case f.listing().arrivals.progressed():
		f.begins(f.failure)
	case f.waited < patience:
		f.stale = time.After(staleAfter)
	default:
		f.stale = nil
		f.publish(ctx, f.unreadable())
	}
}

// isBusy reports whether the API server has only said that it can't answer now.
func isBusy(err error) bool {
	return apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err)
}

// listing is the informer that reads depend on: the one that serves, or else the first one.
func (f *follower) listing() *informer {
	if serving := f.state.Load().serving; serving != nil {
		return serving
	}
	return f.next
}

// swap makes the informer that has synced serve, wakes every Machine of the kind, and ends the one that served before.
func (f *follower) swap(ctx context.Context) {
	before := f.state.Load().serving
	f.state.Store(&kindState{serving: f.next, resolution: f.next.resolution})
	log.FromContext(ctx).Info("Informer has synced", "apiVersion", f.next.resolution.APIVersion, "contractVersion", f.next.resolution.ContractVersion)
	f.next, f.nextFailed, f.retry = nil, false, nil
	f.failure, f.stale = nil, nil
	f.wakeAll(ctx)
	before.end()
}

func (f *follower) nextReported(ctx context.Context, err error) {
	f.nextFailed = err != nil
	if err == nil {
		return
	}
	momentary := apierrors.IsNotFound(err) || apierrors.IsTooManyRequests(err)
	confirmed, passing := f.refusal != nil, momentary || isBusy(err)
	if (momentary && f.retries < quickRetries) || (!passing && !confirmed) {
		f.retry = time.After(quickRetry)
		f.retries++
	}
	if !passing {
		f.refusal = err
	}
	if f.state.Load().serving != nil {
		// The answers of the informer that still serves are better than none.
		log.FromContext(ctx).V(1).Info("Informer of the next API version has not synced", "apiVersion", f.next.resolution.APIVersion, "err", err.Error())
		return
	}
	f.failure = cmp.Or(f.refusal, err)
	if (passing || !confirmed) && f.stale != nil {
		return // the CRD has just been installed, or the API server has just started
	}
	f.stale = nil
	f.publish(ctx, f.unreadable())
}

// unreadable is the problem of a kind whose serving informer, or first one, can't list and watch.
func (f *follower) unreadable() *KindError {
	return f.problem(NotSynced, "Objects of %s can't be listed and watched at API version %s: %s; this is retried until it succeeds",
		f.kind.GroupKind, f.listing().resolution.APIVersion, currentTime.ReplaceAllString(f.failure.Error(), ""))
}

func (f *follower) servingReported(ctx context.Context, err error) {
	f.failure = err
	switch {
	case err == nil:
		f.stale = nil
		f.publish(ctx, nil)
		return
	case f.stale == nil && f.state.Load().problem == nil:
		f.begins(err)
		f.state.Load().serving.arrivals.forget()
	}
}

// publishResolution switches the contract version when the label moved without changing the API version.
func (f *follower) publishResolution(ctx context.Context, resolution contract.Resolution) {
	state := f.state.Load()
	if state.resolution == resolution {
		return
	}
	f.state.Store(&kindState{serving: state.serving, resolution: resolution, problem: state.problem})
	log.FromContext(ctx).Info("Contract version has changed", "apiVersion", resolution.APIVersion, "contractVersion", resolution.ContractVersion)
	f.wakeAll(ctx)
}

// publish makes reads fail with the problem, or succeed again if it is nil, and wakes every Machine of the kind if that
// is news to them.
func (f *follower) publish(ctx context.Context, problem *KindError) {
	state := f.state.Load()
	if state.problem == problem || (state.problem != nil && problem != nil && *state.problem == *problem) {
		return
	}
	if problem != nil {
		log.FromContext(ctx).Info("Kind can't be read", "problem", problem.Problem, "message", problem.Message)
	}
	f.state.Store(&kindState{serving: state.serving, resolution: state.resolution, problem: problem})
	f.wakeAll(ctx)
}

// stop ends all informers; reads fail with the problem from now on. What was remembered about objects is forgotten: either
// they are gone, or the list of the next informer tells.
func (f *follower) stop(ctx context.Context, problem *KindError) {
	f.dropNext()
	state := f.state.Load()
	f.publish(ctx, problem)
	f.state.Store(&kindState{problem: f.state.Load().problem})
	f.failure, f.stale = nil, nil
	state.serving.end()
	f.forgetAll()
}

func (f *follower) dropNext() {
	f.next.end()
	f.next, f.nextFailed, f.retry = nil, false, nil
}

// wakeAll wakes every Machine of the kind. There is none if a reconcile has asked for the kind when its last Machine had
// just gone.
func (f *follower) wakeAll(ctx context.Context) {
	requests := f.tracker.referrers.Of(ctx, f.kind)
	if len(requests) == 0 {
		f.tracker.Release(ctx, f.kind)
	}
	f.tracker.enqueue(requests)
}
