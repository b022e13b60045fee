// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"errors"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// line is between one manager and the API server: it sees each request, can hold one back, and can be cut.
type line struct {
	mu   sync.Mutex
	sent []call
	cut  bool
	// hold chooses the request whose answer is held back; nil when none is, or it has been found.
	hold func(call) bool
	held *heldCall
}

// call is a request of a manager.
type call struct {
	At time.Time
	// Verb is list or watch for the reads of collections, get, or the HTTP method in lower case.
	Verb, Path string
}

// heldCall is a request that has been made and whose answer the manager hasn't got yet.
type heldCall struct {
	call
	made    chan struct{}
	release chan struct{}
}

var errCut = errors.New("the line to the API server is cut")

// attach makes the clients of the config use the line.
func (l *line) attach(cfg *rest.Config) {
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			held, err := l.pass(callOf(request))
			if err != nil {
				return nil, err
			}
			response, err := next.RoundTrip(request)
			if held == nil {
				return response, err
			}
			close(held.made)
			select {
			case <-held.release:
				return response, err
			case <-request.Context().Done(): // the manager has given up
				return nil, request.Context().Err()
			}
		})
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

func callOf(request *http.Request) call {
	c := call{At: time.Now(), Verb: strings.ToLower(request.Method), Path: request.URL.Path}
	if c.Verb != "get" {
		return c
	}
	if request.URL.Query().Get("watch") != "" {
		c.Verb = "watch"
	} else if isCollection(c.resource()) {
		c.Verb = "list"
	}
	return c
}

// resource is the last part of the path, which for a collection is its name.
func (c call) resource() string { return path.Base(c.Path) }

// isCollection knows the resources that are read here.
func isCollection(name string) bool {
	return slices.Contains([]string{"machines", "clusters", "simmachines", "simconfigs", "customresourcedefinitions", "secrets"}, name)
}

func (l *line) pass(c call) (*heldCall, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		return nil, errCut
	}
	l.sent = append(l.sent, c)
	if l.hold == nil || !l.hold(c) {
		return nil, nil //nolint:nilnil // it passes
	}
	l.hold = nil
	l.held.call = c
	return l.held, nil
}

// holdNext holds the answer to the next request that matches.
func (l *line) holdNext(match func(call) bool) *heldCall {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hold, l.held = match, &heldCall{made: make(chan struct{}), release: make(chan struct{})}
	return l.held
}

// sever makes all further requests fail; watches that are open stay open.
func (l *line) sever() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = true
}

// mark is the number of requests so far, for since.
func (l *line) mark() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.sent)
}

// since returns the requests from a mark on that match, without those of leader election, and without events.
func (l *line) since(mark int, match func(call) bool) []call {
	l.mu.Lock()
	defer l.mu.Unlock()
	var calls []call
	for _, c := range l.sent[mark:] {
		if !isLease(c) && !strings.Contains(c.Path, "/events") && match(c) {
			calls = append(calls, c)
		}
	}
	return calls
}

func (l *line) leases() []call {
	l.mu.Lock()
	defer l.mu.Unlock()
	var calls []call
	for _, c := range l.sent {
		if isLease(c) {
			calls = append(calls, c)
		}
	}
	return calls
}

func isLease(c call) bool { return strings.Contains(c.Path, "/leases") }

func every(call) bool { return true }

func isWrite(c call) bool { return !slices.Contains([]string{"get", "list", "watch"}, c.Verb) }
