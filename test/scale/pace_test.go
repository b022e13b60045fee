// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
)

func TestPacedKeepsItsPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		begin := time.Now()
		var begun [5]time.Duration
		g.Expect(paced(t.Context(), 5, 10, 2, func(_ context.Context, i int) error {
			begun[i] = time.Since(begin)
			return nil
		})).To(Succeed())
		g.Expect(begun).To(HaveExactElements(
			0*time.Millisecond, 100*time.Millisecond, 200*time.Millisecond, 300*time.Millisecond, 400*time.Millisecond))
	})
}

func TestPacedBoundsWhatRunsAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		var running, most atomic.Int32
		g.Expect(paced(t.Context(), 20, 0, 3, func(ctx context.Context, _ int) error {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			return pause(ctx, time.Second)
		})).To(Succeed())
		g.Expect(most.Load()).To(BeEquivalentTo(3))
	})
}

func TestPacedEndsWithTheFirstError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		failure := errors.New("no more")
		var done atomic.Int32
		err := paced(t.Context(), 1000, 10, 2, func(_ context.Context, i int) error {
			done.Add(1)
			if i == 3 {
				return failure
			}
			return nil
		})
		g.Expect(err).To(MatchError(failure))
		g.Expect(done.Load()).To(BeEquivalentTo(4))
	})
}

func TestPollEndsWithTheContextAndSaysWhatTookTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		ctx, cancel := withDeadline(t.Context(), 3500*time.Millisecond, "baking")
		defer cancel()
		asked := 0
		err := poll(ctx, time.Second, func(context.Context) (bool, error) { asked++; return false, nil })
		g.Expect(err).To(MatchError("baking took longer than 3.5s"))
		g.Expect(asked).To(Equal(4))
	})
}
