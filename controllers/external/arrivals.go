// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"

	"k8s.io/client-go/rest"
)

// arrivals tell a list that is long from one that is stuck, by the bytes that arrive. An attempt that comes no further than
// one before it does not count, so that what always fails halfway is found out. The zero value is ready to use.
type arrivals struct {
	// furthest is the number of bytes of the attempt that got the most of them. Clients write it, while they read.
	furthest atomic.Int64
	// noticed is what it was when progressed was called last. It is the follower's.
	noticed int64
}

// progressed reports whether more has arrived since it was called last.
func (a *arrivals) progressed() bool {
	before := a.noticed
	a.noticed = a.furthest.Load()
	return a.noticed > before
}

// forget makes what has arrived so far count for nothing, as it was of a watch that has ended.
func (a *arrivals) forget() {
	a.noticed = 0
	a.furthest.Store(0)
}

func (a *arrivals) reached(bytes int64) {
	for {
		furthest := a.furthest.Load()
		if bytes <= furthest || a.furthest.CompareAndSwap(furthest, bytes) {
			return
		}
	}
}

type arrivalsKey struct{}

// into returns a context for requests whose answers these are to count.
func (a *arrivals) into(ctx context.Context) context.Context {
	return context.WithValue(ctx, arrivalsKey{}, a)
}

// withArrivals returns a config for clients that count what arrives for the arrivals in the context of a request.
func withArrivals(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(transport http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			response, err := transport.RoundTrip(request)
			a, counts := request.Context().Value(arrivalsKey{}).(*arrivals)
			if counts && err == nil && response.StatusCode == http.StatusOK {
				response.Body = &countedBody{ReadCloser: response.Body, arrivals: a}
			}
			return response, err
		})
	})
	return config
}

// countedBody is the answer to one attempt.
type countedBody struct {
	io.ReadCloser
	arrivals *arrivals
	bytes    int64
}

// Read implements io.Reader.
func (b *countedBody) Read(buffer []byte) (int, error) {
	n, err := b.ReadCloser.Read(buffer)
	b.bytes += int64(n)
	b.arrivals.reached(b.bytes)
	return n, err
}
