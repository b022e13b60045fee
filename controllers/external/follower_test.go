// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"cmp"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/machinist-dev/machinist/apis/contract"
)

// The follower against a stub of the API server, for faults that a real one has for a moment only. Time is that of
// synctest: minutes pass at once.

var (
	errNotServed   = apierrors.NewNotFound(schema.GroupResource{Resource: "testmachines"}, "")
	errForbidden   = apierrors.NewForbidden(schema.GroupResource{Resource: "testmachines"}, "", errors.New("no"))
	errBusy        = apierrors.NewTooManyRequests("storage is (re)initializing", 1)
	errInternal    = apierrors.NewInternalError(errors.New("conversion failed"))
	errExpired     = apierrors.NewResourceExpired("too old")
	errUnreachable = errors.New("dial tcp 127.0.0.1:6443: connect: no route to host")
)

const (
	aMoment  = 2 * time.Second
	aWhile   = 5 * time.Minute
	recovery = time.Minute + time.Second // client-go's reflector rests for a minute at most
)

func TestKindOfAWorkingServer(t *testing.T) {
	follow(t, faults{}, func(g *WithT, s *server, kind *kindWatch) {
		pass(aMoment)
		g.Expect(problemOf(kind)).To(BeEmpty())
		g.Expect(s.wakesSoFar()).To(Equal(1), "when the list is complete")
		pass(aWhile)
		g.Expect(s.wakesSoFar()).To(Equal(1))
		requests, _ := s.counted()
		g.Expect(requests).To(Equal(1), "a watch that begins with a list")
	})
}

// A version is served a moment after the CRD says so, and not the one request earlier that decides on the next minute.
func TestFirstListThatFailsForAMoment(t *testing.T) {
	for name, tc := range map[string]struct {
		err   error
		lasts time.Duration
	}{
		"not served": {errNotServed, time.Second}, "busy": {errBusy, time.Second}, "failing": {errInternal, quickRetry / 2},
	} {
		t.Run(name, func(t *testing.T) {
			follow(t, faults{list: tc.err, watch: tc.err}, func(g *WithT, s *server, kind *kindWatch) {
				pass(tc.lasts)
				g.Expect(problemOf(kind)).To(Equal("pending"))
				g.Expect(s.wakesSoFar()).To(BeZero(), "nobody needs to know")
				s.fail(nil)
				pass(quickRetry)
				g.Expect(problemOf(kind)).To(BeEmpty())
				g.Expect(s.wakesSoFar()).To(Equal(1))
			})
		})
	}
}

// Whatever keeps failing is said once and retried ever more slowly, and ends by itself.
func TestFirstListThatKeepsFailing(t *testing.T) {
	for name, tc := range map[string]struct {
		err   error
		after time.Duration
	}{
		"not served":  {errNotServed, staleAfter},
		"busy":        {errBusy, longerPatience * staleAfter},
		"forbidden":   {errForbidden, quickRetry},
		"unreachable": {errUnreachable, longerPatience * staleAfter},
		"conversion":  {errInternal, quickRetry},
	} {
		t.Run(name, func(t *testing.T) {
			follow(t, faults{list: tc.err, watch: tc.err}, func(g *WithT, s *server, kind *kindWatch) {
				pass(tc.after - time.Millisecond)
				g.Expect(problemOf(kind)).To(Equal("pending"))
				g.Expect(s.wakesSoFar()).To(BeZero())
				pass(2 * time.Millisecond)
				text := tc.err.Error()
				if !isAnswer(tc.err) {
					text = errNoAnswer.Error()
				}
				g.Expect(problemOf(kind)).To(Equal("KindNotSynced: Objects of TestMachine.example.org can't be listed and watched at API version v1: " + text + "; this is retried until it succeeds"))
				g.Expect(s.wakesSoFar()).To(Equal(1))
				pass(aWhile)
				g.Expect(s.wakesSoFar()).To(Equal(1), "it was said")
				requests, _ := s.counted()
				g.Expect(requests).To(BeNumerically("<", 2*(quickRetries+30)))
				s.fail(nil)
				pass(recovery)
				g.Expect(problemOf(kind)).To(BeEmpty())
				g.Expect(s.wakesSoFar()).To(Equal(2))
			})
		})
	}
}

// An API server that can't convert the objects of a kind says so at first, and then for a long time that it is busy.
func TestFirstListThatIsRefusedAndThenPutOff(t *testing.T) {
	follow(t, faults{list: errInternal, watch: errInternal}, func(g *WithT, s *server, kind *kindWatch) {
		pass(quickRetry / 2)
		s.fail(errBusy)
		pass(staleAfter - quickRetry)
		g.Expect(problemOf(kind)).To(Equal("pending"))
		pass(quickRetry)
		g.Expect(problemOf(kind)).To(ContainSubstring("conversion failed"))
		pass(aWhile)
		g.Expect(problemOf(kind)).To(ContainSubstring("conversion failed"))
		g.Expect(s.wakesSoFar()).To(Equal(1))
	})
}

// One that is starting may refuse a request before it says that it is busy, and then works.
func TestFirstListThatIsRefusedWhileTheServerStarts(t *testing.T) {
	follow(t, faults{list: errForbidden, watch: errForbidden}, func(g *WithT, s *server, kind *kindWatch) {
		pass(quickRetry / 2)
		s.fail(errBusy)
		pass(time.Second)
		g.Expect(problemOf(kind)).To(Equal("pending"))
		s.fail(nil)
		pass(recovery)
		g.Expect(problemOf(kind)).To(BeEmpty())
		g.Expect(s.wakesSoFar()).To(Equal(1), "in sync")
	})
}

func TestFirstListThatIsNotAnswered(t *testing.T) {
	follow(t, faults{hang: true}, func(g *WithT, s *server, kind *kindWatch) {
		pass(longerPatience*staleAfter + time.Millisecond)
		g.Expect(problemOf(kind)).To(ContainSubstring("the API server has not answered yet"))
		s.removeCRD(kind)
		pass(time.Millisecond)
		g.Expect(problemOf(kind)).To(HavePrefix("CustomResourceDefinitionMissing: "))
	})
}

// A list of many objects takes long, the more so if API server and manager have much else to do. Nothing is wrong then.
func TestFirstListThatTakesLong(t *testing.T) {
	follow(t, faults{trickle: staleAfter / 2}, func(g *WithT, s *server, kind *kindWatch) {
		for range 60 {
			pass(aWhile / 60)
			g.Expect(problemOf(kind)).To(Equal("pending"))
		}
		s.fail(nil)
		pass(aMoment + staleAfter/2)
		g.Expect(problemOf(kind)).To(BeEmpty())
		g.Expect(s.wakesSoFar()).To(Equal(1), "when the list is complete")
	})
}

func TestFirstListThatAlwaysBreaksOff(t *testing.T) {
	follow(t, faults{trickle: time.Second, breaks: 3}, func(g *WithT, s *server, kind *kindWatch) {
		pass((longerPatience+1)*staleAfter + time.Millisecond)
		g.Expect(problemOf(kind)).To(ContainSubstring("the API server has not answered yet"))
		g.Expect(s.wakesSoFar()).To(Equal(1))
	})
}

// What is known stays good enough while an API server that has started again gets ready, and while everything is listed again.
func TestServingInformerThatFailsForAMoment(t *testing.T) {
	follow(t, faults{}, func(g *WithT, s *server, kind *kindWatch) {
		pass(aMoment)
		s.behave(faults{list: errBusy, watch: errBusy})
		s.endWatches(errExpired)
		pass(staleAfter)
		s.behave(faults{trickle: staleAfter / 2})
		for range 60 {
			pass(aWhile / 60)
			g.Expect(problemOf(kind)).To(BeEmpty())
		}
		s.fail(nil)
		pass(recovery)
		g.Expect(problemOf(kind)).To(BeEmpty())
		g.Expect(s.wakesSoFar()).To(Equal(1), "in sync")
	})
}

// The failures of an informer that serves: its answers grow old.
func TestServingInformerThatFails(t *testing.T) {
	for name, tc := range map[string]struct {
		faults faults
		last   error // what the watch ends with that was open
		said   bool
		after  time.Duration // staleAfter if it is 0
	}{
		"nothing is allowed any more":               {faults: faults{list: errForbidden, watch: errForbidden}, said: true},
		"lists work and watches don't":              {faults: faults{watch: errForbidden}, said: true, after: 2 * staleAfter},
		"watches are accepted and events aren't":    {faults: faults{list: errInternal, events: errInternal}, said: true},
		"the API server is away":                    {faults: faults{list: errUnreachable, watch: errUnreachable}},
		"the version of the last event is too old":  {last: errExpired},
		"nobody serves the version any more":        {faults: faults{list: errNotServed, watch: errNotServed}, said: true},
		"the API server asks for patience for ever": {faults: faults{list: errBusy, watch: errBusy}, said: true, after: longerPatience * staleAfter},
	} {
		t.Run(name, func(t *testing.T) {
			follow(t, faults{}, func(g *WithT, s *server, kind *kindWatch) {
				pass(aMoment)
				s.behave(tc.faults)
				s.endWatches(tc.last)
				pass(staleAfter / 2)
				g.Expect(problemOf(kind)).To(BeEmpty(), "what is known is not old yet")
				pass(cmp.Or(tc.after, staleAfter))
				for range 60 {
					if tc.said {
						g.Expect(problemOf(kind)).To(HavePrefix("KindNotSynced: "), "also when something else works in between")
					} else {
						g.Expect(problemOf(kind)).To(BeEmpty())
					}
					pass(aWhile / 60)
				}
				s.fail(nil)
				pass(recovery)
				g.Expect(problemOf(kind)).To(BeEmpty())
				if tc.said {
					g.Expect(s.wakesSoFar()).To(Equal(3), "in sync, failing, in sync")
				} else {
					g.Expect(s.wakesSoFar()).To(Equal(1))
				}
			})
		})
	}
}

func TestMovedLabel(t *testing.T) {
	follow(t, faults{}, func(g *WithT, s *server, kind *kindWatch) {
		pass(aMoment)
		s.fail(errForbidden)
		s.label(kind, "v2")
		pass(aWhile)
		g.Expect(problemOf(kind)).To(BeEmpty(), "the answers of the old version are better than none")
		g.Expect(kind.state.Load().resolution.APIVersion).To(Equal("v1"))
		s.fail(nil)
		pass(recovery)
		g.Expect(kind.state.Load().resolution).To(Equal(contract.Resolution{APIVersion: "v2", ContractVersion: contract.V1Beta2}))
		g.Expect(s.openWatches()).To(Equal(map[string]int{"v2": 1}))
		s.label(kind, "v1")
		pass(time.Millisecond)
		g.Expect(s.openWatches()).To(Equal(map[string]int{"v1": 1}), "at once, when nothing fails")
	})
}

// What is remembered about objects is bounded by what exists.
func TestMemoryGoesWithTheCRD(t *testing.T) {
	follow(t, faults{}, func(g *WithT, s *server, kind *kindWatch) {
		pass(aMoment)
		kind.writes.Begin("u")
		kind.writes.Record("u", "1", "2", &packed{})
		kind.writes.End("u")
		g.Expect(kind.writes.Len()).To(Equal(1))
		kind.refused.Add("u", "1")
		kind.mu.Lock()
		kind.deleted["u"] = struct{}{}
		kind.mu.Unlock()
		s.removeCRD(kind)
		pass(time.Millisecond)
		kind.mu.Lock()
		defer kind.mu.Unlock()
		g.Expect([]int{kind.writes.Len(), kind.refused.Len(), len(kind.deleted)}).To(HaveEach(BeZero()))
	})
}

// A reconcile may ask for a kind when its last Machine has just gone. Nobody would end the informer then.
func TestKindThatNobodyReferences(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, s := NewWithT(t), newServer()
		ctx, cancel := context.WithCancel(t.Context())
		defer func() {
			cancel()
			s.queue.ShutDown()
			pass(recovery)
		}()
		tracker := s.tracker(ctx)
		kind := Kind{Role: InfraMachine, GroupKind: schema.GroupKind{Group: "example.org", Kind: "TestMachine"}}
		s.refer(reconcile.Request{})
		tracker.Ensure(kind)
		pass(aMoment)
		g.Expect(tracker.kinds).To(HaveKey(kind))
		s.refer()
		tracker.Release(ctx, kind)
		pass(aMoment)
		g.Expect(tracker.kinds).To(BeEmpty())
		tracker.Ensure(kind)
		pass(aMoment)
		g.Expect(tracker.kinds).To(BeEmpty())
		g.Expect(s.openWatches()).To(BeEmpty())
	})
}

func TestReports(t *testing.T) {
	g := NewWithT(t)
	inf := &informer{reported: make(chan error, 1)}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	inf.report(over, errForbidden)
	inf.report(t.Context(), errExpired)
	inf.report(t.Context(), errUnreachable)
	g.Expect(inf.reported).To(BeEmpty(), "an informer that was ended, a list that follows, and a connection say nothing about the kind")
	inf.report(t.Context(), errForbidden)
	inf.report(t.Context(), nil)
	inf.report(t.Context(), errNotServed)
	g.Expect(inf.reported).To(Receive(Equal(error(errNotServed))), "the latest counts")
	g.Expect(inf.reported).To(BeEmpty())
}

// Whoever stops a watch does not read on.
func TestWatchThatIsStoppedLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := watch.NewFakeWithChanSize(2, false)
		from.Add(&unstructured.Unstructured{})
		w := newListingWatch(from, func() { t.Error("the list is not complete") })
		synctest.Wait()
		w.Stop()
		w.Stop()
		synctest.Wait()
		NewWithT(t).Eventually(w.ResultChan()).Should(BeClosed())
	})
}

// follow runs a test with a follower that starts with it, on a server that has these faults at first.
func follow(t *testing.T, begin faults, test func(*WithT, *server, *kindWatch)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.behave(begin)
		ctx, cancel := context.WithCancel(t.Context())
		kind := newKindWatch(s.tracker(ctx), Kind{Role: InfraMachine, GroupKind: schema.GroupKind{Group: "example.org", Kind: "TestMachine"}})
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			kind.follow(ctx)
		}()
		defer func() {
			cancel()
			<-ended
			s.queue.ShutDown()
			pass(recovery) // for goroutines of client-go that are asleep
		}()
		test(NewWithT(t), s, kind)
	})
}

// pass lets time pass, and everything happen that is due.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// problemOf says why the kind can't be read; "" if it can.
func problemOf(kind *kindWatch) string {
	_, err := kind.get(types.NamespacedName{Namespace: "ns", Name: "n"})
	problem, ok := errors.AsType[*KindError](err)
	switch {
	case !ok:
		return ""
	case problem.pending:
		return "pending"
	default:
		return string(problem.Problem) + ": " + problem.Message
	}
}
