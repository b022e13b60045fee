// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// patience is how long a request may go without an answer before the API server is probed out of turn.
const patience = time.Second

// errNoAnswer is what requests fail with while the API server doesn't answer.
var errNoAnswer = fmt.Errorf("%w: its API server has not answered the last probe", ErrNotConnected)

// gate keeps workers from waiting for an API server that doesn't answer. Their requests are let through as long as its probes
// succeed. One that gets no answer for some time has the API server probed at once; when a probe fails, all that are under way
// are given up, and further ones fail without being sent, until a probe succeeds.
//
// So an outage costs the workers one wait of patience and ProbeTimeout at most, and not one for each request until the
// connection is given up. A request that is slow for a reason of its own, such as an eviction with a slow webhook, goes on.
type gate struct {
	// suspected has room for one wish for a probe.
	suspected chan struct{}

	mu     sync.Mutex
	closed bool
	passed map[*passage]struct{}
}

// passage is a request that is under way, until its answer has been read.
type passage struct{ giveUp context.CancelCauseFunc }

func newGate() *gate {
	return &gate{suspected: make(chan struct{}, 1), passed: map[*passage]struct{}{}}
}

// probed opens or closes the gate by the outcome of a probe.
func (g *gate) probed(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = err != nil
	if g.closed {
		for p := range g.passed {
			p.giveUp(errNoAnswer)
		}
	}
}

func (g *gate) suspect() {
	select {
	case g.suspected <- struct{}{}:
	default:
	}
}

func (g *gate) enter(p *passage) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.passed[p] = struct{}{}
	}
	return !g.closed
}

func (g *gate) leave(p *passage) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.passed, p)
	p.giveUp(nil)
}

// wrap is for rest.Config.Wrap.
func (g *gate) wrap(next http.RoundTripper) http.RoundTripper {
	return &gatedTransport{gate: g, next: next}
}

type gatedTransport struct {
	gate *gate
	next http.RoundTripper
}

// WrappedRoundTripper lets the connections below be closed.
func (t *gatedTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t *gatedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Context().Value(probing{}) != nil || request.URL.Query().Has("watch") {
		return t.next.RoundTrip(request)
	}
	ctx, giveUp := context.WithCancelCause(request.Context())
	p := &passage{giveUp: giveUp}
	if !t.gate.enter(p) {
		giveUp(nil)
		return nil, errNoAnswer
	}
	impatience := time.AfterFunc(patience, t.gate.suspect)
	response, err := t.next.RoundTrip(request.WithContext(ctx))
	impatience.Stop()
	if err != nil {
		if context.Cause(ctx) == errNoAnswer { //nolint:errorlint // the very one
			err = errNoAnswer
		}
		t.gate.leave(p)
		return nil, err
	}
	response.Body = &passingBody{ReadCloser: response.Body, leave: sync.OnceFunc(func() { t.gate.leave(p) })}
	return response, nil
}

// passingBody ends a passage when the answer has been read.
type passingBody struct {
	io.ReadCloser
	leave func()
}

// Close implements io.Closer.
func (b *passingBody) Close() error {
	defer b.leave()
	return b.ReadCloser.Close()
}

// probing marks the context of a probe, which passes the gate in any case.
type probing struct{}
