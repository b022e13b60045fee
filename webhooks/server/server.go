// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/machinist-dev/machinist/webhooks/certificates"
)

// DefaultLinger is how long a server goes on after its manager has ended. A Service forgets a pod within a second or two.
const DefaultLinger = 5 * time.Second

// Options configure a Server.
type Options struct {
	// Host and Port are where it listens; an empty host is all addresses.
	Host string
	Port int
	// CertDir has the files tls.crt and tls.key, which are read again when they change. It is not used with a Keeper.
	CertDir string
	// Keeper has the certificate, if it isn't read from files. The server runs it.
	Keeper *certificates.Keeper
	// TLS changes the settings of TLS; may be nil.
	TLS func(*tls.Config)
	// Linger is how long the server goes on after its context has ended.
	Linger time.Duration
}

// Server implements webhook.Server. It is safe for concurrent use.
type Server struct {
	webhook.Server

	keeper *certificates.Keeper
	linger time.Duration
	// leaving is true once the context of Start has ended.
	leaving atomic.Bool
	started atomic.Bool
	// ended is closed when a server that was started has ended.
	ended chan struct{}
}

// New returns a Server that does nothing before Start.
func New(o Options) *Server {
	options := webhook.Options{Host: o.Host, Port: o.Port, CertDir: o.CertDir}
	if o.TLS != nil {
		options.TLSOpts = append(options.TLSOpts, o.TLS)
	}
	if o.Keeper != nil {
		options.TLSOpts = append(options.TLSOpts, func(config *tls.Config) { config.GetCertificate = o.Keeper.GetCertificate })
	}
	return &Server{Server: webhook.NewServer(options), keeper: o.Keeper, linger: o.Linger, ended: make(chan struct{})}
}

// Register implements webhook.Server.
func (s *Server) Register(path string, hook http.Handler) {
	s.Server.Register(path, http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		if s.leaving.Load() {
			response.Header().Set("Connection", "close")
		}
		hook.ServeHTTP(response, request)
	}))
}

// Start serves until the context ends, and returns then although the server goes on; Wait waits for its end.
func (s *Server) Start(ctx context.Context) error {
	if s.started.Swap(true) {
		return errors.New("the webhook server was started before")
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	failed := make(chan error, 1)
	go func() {
		defer close(s.ended)
		defer stop() // for the keeper
		failed <- s.Server.Start(serving)
	}()
	if s.keeper != nil {
		go s.keeper.Run(serving)
	}
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	s.leaving.Store(true)
	time.AfterFunc(s.linger, stop)
	return nil
}

// Wait waits until a server that was started has ended, which is after the context of Start has.
func (s *Server) Wait() {
	if s.started.Load() {
		<-s.ended
	}
}

// StartedChecker implements webhook.Server: it fails while clients could not connect, or would not trust the certificate.
func (s *Server) StartedChecker() healthz.Checker {
	started := s.Server.StartedChecker()
	return func(request *http.Request) error {
		if s.keeper != nil {
			if err := s.keeper.Ready(request); err != nil {
				return err
			}
		}
		return started(request)
	}
}
