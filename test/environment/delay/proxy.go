// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package delay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
)

// Proxy forwards requests to one API server. It is safe for concurrent use.
type Proxy struct {
	host      string
	server    *http.Server
	transport *http.Transport
	// running counts requests, and streams that are still being read.
	running sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	usual   time.Duration            // the delay of resources that are not in special
	special map[string]time.Duration // by the plural name of the resource
	expired map[string]bool          // resources whose watches can't be resumed
	streams map[*stream]struct{}
}

// Start starts a proxy without delays in front of the API server that config leads to. The context bounds the start only;
// end the proxy by Close.
func Start(ctx context.Context, config *rest.Config) (*Proxy, error) {
	target, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("delaying proxy: %w", err)
	}
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, fmt.Errorf("delaying proxy: %w", err)
	}
	// A transport of its own, as client-go shares those that it makes, and they can't be closed.
	transport := &http.Transport{TLSClientConfig: tlsConfig, ForceAttemptHTTP2: true}
	authenticated, err := rest.HTTPWrappersForConfig(config, transport)
	if err != nil {
		return nil, fmt.Errorf("delaying proxy: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("delaying proxy: %w", err)
	}
	p := &Proxy{
		host:      "http://" + listener.Addr().String(),
		transport: transport,
		special:   map[string]time.Duration{},
		expired:   map[string]bool{},
		streams:   map[*stream]struct{}{},
	}
	p.server = &http.Server{Handler: p.handler(target, authenticated), ReadHeaderTimeout: 10 * time.Second}
	p.running.Go(func() { _ = p.server.Serve(listener) }) // ends with an error that says that it was closed
	return p, nil
}

// Config returns the access to the API server by way of the proxy. It is a copy, to be changed at will.
func (p *Proxy) Config() *rest.Config { return &rest.Config{Host: p.host} }

// Delay sets by how much events of watches are late: those of the resources, which are plural names without group, or all
// if none is named. It holds also for events that have been received already and not handed on: a delay of 0 lets them
// go.
func (p *Proxy) Delay(by time.Duration, resources ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(resources) == 0 {
		p.usual = by
		clear(p.special)
	}
	for _, resource := range resources {
		p.special[resource] = by
	}
	for s := range p.streams {
		s.setDelay(p.delayOf(s.resource))
	}
}

func (p *Proxy) delayOf(resource string) time.Duration {
	if by, ok := p.special[resource]; ok {
		return by
	}
	return p.usual
}

// Expire does to the resources what a compaction of etcd does to clients that lag far behind: their watches end, what was
// held back is lost, and watches are refused with 410 Gone until the resource has been listed again. Clients learn about
// the objects as they are then, and never what they were in between.
func (p *Proxy) Expire(resources ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, resource := range resources {
		p.expired[resource] = true
	}
	for s := range p.streams {
		if slices.Contains(resources, s.resource) {
			s.end()
		}
	}
}

// Close ends all connections, and waits until nothing of the proxy runs any more.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	for s := range p.streams {
		s.end()
	}
	p.mu.Unlock()
	err := p.server.Close()
	p.running.Wait()
	p.transport.CloseIdleConnections()
	return err
}

func (p *Proxy) handler(target *url.URL, transport http.RoundTripper) http.Handler {
	reverse := &httputil.ReverseProxy{
		Transport:      transport,
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target) },
		FlushInterval:  -1, // each event at once
		ModifyResponse: p.holdBack,
		// A client that goes away in the middle of a watch is nothing to talk about.
		ErrorLog:     log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !p.begin() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		defer p.running.Done()
		if p.refuses(r) {
			writeGone(w)
			return
		}
		reverse.ServeHTTP(w, r)
	})
}

func (p *Proxy) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.running.Add(1)
	}
	return !p.closed
}

// refuses reports whether the request resumes a watch that has expired. A list makes that good.
func (p *Proxy) refuses(r *http.Request) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	query, resource := r.URL.Query(), path.Base(r.URL.Path)
	if !p.expired[resource] || r.Method != http.MethodGet {
		return false
	}
	version := query.Get("resourceVersion")
	if isWatch(r) && query.Get("sendInitialEvents") != "true" && version != "" && version != "0" {
		return true
	}
	delete(p.expired, resource)
	return false
}

// isWatch follows the API server, to which any value that isn't a false one is true.
func isWatch(r *http.Request) bool {
	value, ok := r.URL.Query()["watch"]
	return ok && value[0] != "false" && value[0] != "0"
}

func writeGone(w http.ResponseWriter) {
	status := apierrors.NewResourceExpired("the delaying proxy has let this watch expire").Status()
	status.Kind, status.APIVersion = "Status", "v1"
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(status.Code))
	_ = json.NewEncoder(w).Encode(status) // the client has gone, then
}

// holdBack puts a stream in the place of the body of a watch.
func (p *Proxy) holdBack(response *http.Response) error {
	if !isWatch(response.Request) || response.StatusCode != http.StatusOK {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errors.New("the delaying proxy is closed")
	}
	resource := path.Base(response.Request.URL.Path)
	s := newStream(response.Body, resource, p.delayOf(resource), response.Request.Context().Done())
	s.closed = func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.streams, s)
	}
	p.streams[s] = struct{}{}
	p.running.Go(s.fill)
	response.Body = s
	return nil
}
