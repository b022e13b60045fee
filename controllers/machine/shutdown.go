// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"errors"
	"time"
)

// ShutdownGrace is how long a reconcile may go on after its manager has been told to stop.
const ShutdownGrace = 10 * time.Second

// outlasting returns a context that is cancelled by that much later than the given one is, but has the same deadline.
func outlasting(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			timer := time.NewTimer(by)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-lasting.Done():
			}
		}
		cancel()
	})
	return lasting, func() { stop(); cancel() }
}
