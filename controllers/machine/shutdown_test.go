// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
)

func TestOutlasting(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(context.Context) (context.Context, context.CancelFunc)
		left time.Duration
	}{
		"a context that is cancelled is outlasted": {
			end: func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(ctx)
				cancel()
				return ctx, cancel
			},
			left: time.Second,
		},
		"a deadline is not": {
			end: func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, 3*time.Second)
			},
			left: 3 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				started := time.Now()
				parent, cancelParent := c.end(t.Context())
				defer cancelParent()
				ctx, cancel := outlasting(parent, time.Second)
				defer cancel()
				g.Expect(ctx.Err()).NotTo(HaveOccurred())
				<-ctx.Done()
				g.Expect(time.Since(started)).To(Equal(c.left))
			})
		})
	}
}

// Nothing is left behind by a reconcile that ends before its manager does; synctest fails if a goroutine is.
func TestOutlastingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, cancelParent := context.WithCancel(t.Context())
		_, cancel := outlasting(parent, time.Hour)
		cancel()
		cancelParent()
	})
}
