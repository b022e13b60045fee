// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"errors"
	"net/http"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
)

// gate is before an object of the API server: while it is closed, whoever wants to read that waits.
type gate struct {
	path string

	mu         sync.Mutex
	opened     chan struct{} // closed while the gate is open
	held, gone int
}

func newGate(path string) *gate {
	g := &gate{path: path, opened: make(chan struct{})}
	close(g.opened)
	return g
}

// close lasts until open, or the end of the spec.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.opened = make(chan struct{})
	DeferCleanup(g.open)
}

// open returns how many have passed before. It may be called again.
func (g *gate) open() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.opened:
	default:
		close(g.opened)
	}
	return g.gone
}

// waiting is how many have come while the gate was closed.
func (g *gate) waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.held
}

func (g *gate) passed() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.gone
}

// arrive returns what is closed when who has come may pass.
func (g *gate) arrive() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.opened:
	default:
		g.held++
	}
	return g.opened
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.gone++
}

func (g *gate) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if request.Method != http.MethodGet || !strings.HasSuffix(request.URL.Path, g.path) {
			return next.RoundTrip(request)
		}
		select {
		case <-g.arrive():
		case <-request.Context().Done():
			return nil, request.Context().Err()
		}
		defer g.leave()
		return next.RoundTrip(request)
	})
}

// ration is before an object of the API server: as many writes of it succeed as are allowed, others fail. So what it says
// lasts as long as a spec needs that.
type ration struct {
	path string
	left chan struct{}
}

func newRation(path string) *ration { return &ration{path: path, left: make(chan struct{}, 10)} }

// allow allows one more.
func (r *ration) allow() { r.left <- struct{}{} }

func (r *ration) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if request.Method != http.MethodPut || !strings.HasSuffix(request.URL.Path, r.path) {
			return next.RoundTrip(request)
		}
		select {
		case <-r.left:
		default:
			return nil, errors.New("the spec does not allow that yet")
		}
		response, err := next.RoundTrip(request)
		if err != nil || response.StatusCode != http.StatusOK {
			r.allow() // somebody else was faster
		}
		return response, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
