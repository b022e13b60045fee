// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// KubernetesVersion is the version that workload clusters report.
const KubernetesVersion = "v1.37.2"

// Options configure a Server.
type Options struct {
	// Address to listen on, as host:port. Empty means a free port of 127.0.0.1. Only 127.0.0.1 and localhost are in the
	// clusters' certificates.
	Address string
	// HistorySize is how many changes per resource a cluster remembers at least, for watches that fall behind or
	// resume; a watch from before gets 410 Gone. 0 means 1024.
	HistorySize int
}

// Server serves any number of workload clusters. All methods may be called concurrently.
type Server struct {
	historySize int
	listener    net.Listener
	server      *http.Server
	mux         *http.ServeMux
	served      chan struct{}

	mu           sync.RWMutex
	clusters     map[types.NamespacedName]*Cluster
	byServerName map[string]*Cluster

	// running counts the handlers, so that Close leaves none behind. Once closed is set, none may start.
	runningMu sync.Mutex
	closed    bool
	running   sync.WaitGroup
}

// Start listens and serves until Close.
func Start(opts Options) (*Server, error) {
	if opts.HistorySize < 0 {
		return nil, fmt.Errorf("workload server: HistorySize is %d, expected 0 (the default) or more", opts.HistorySize)
	}
	if opts.HistorySize == 0 {
		opts.HistorySize = 1024
	}
	if opts.Address == "" {
		opts.Address = "127.0.0.1:0"
	}
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", opts.Address)
	if err != nil {
		return nil, fmt.Errorf("workload server: %w", err)
	}
	s := &Server{
		historySize:  opts.HistorySize,
		listener:     listener,
		mux:          http.NewServeMux(),
		served:       make(chan struct{}),
		clusters:     map[types.NamespacedName]*Cluster{},
		byServerName: map[string]*Cluster{},
	}
	s.routeRoot()
	s.routeDiscovery()
	for _, res := range resources {
		s.routeResource(res)
	}
	s.server = &http.Server{
		Handler:   s.mux,
		TLSConfig: &tls.Config{GetConfigForClient: s.tlsConfigFor},
		// Refused handshakes and aborted connections are what this server is made for.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	go func() {
		defer close(s.served)
		_ = s.server.ServeTLS(gatedListener{listener}, "", "") // always ErrServerClosed
	}()
	return s, nil
}

// Close ends all requests and connections and waits until nothing of the server runs any more.
func (s *Server) Close() error {
	s.mu.RLock()
	for _, cluster := range s.clusters {
		cluster.connections.closeAll()
	}
	s.mu.RUnlock()
	err := s.server.Close()
	<-s.served

	s.runningMu.Lock()
	s.closed = true
	s.runningMu.Unlock()
	s.running.Wait()
	return err
}

// begin says whether a handler may start; if so, it must call s.running.Done.
func (s *Server) begin() bool {
	s.runningMu.Lock()
	defer s.runningMu.Unlock()
	if s.closed {
		return false
	}
	s.running.Add(1)
	return true
}

// AddCluster returns the cluster of that name, made empty and reachable if it doesn't exist yet.
func (s *Server) AddCluster(key types.NamespacedName) (*Cluster, error) {
	if cluster, found := s.Cluster(key); found {
		return cluster, nil
	}
	if key.Namespace == "" || key.Name == "" {
		return nil, fmt.Errorf("workload cluster %q: namespace and name are required", key)
	}
	cluster, err := newCluster(s, key)
	if err != nil {
		return nil, fmt.Errorf("workload cluster %s: %w", key, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if other, found := s.clusters[key]; found {
		return other, nil
	}
	s.clusters[key] = cluster
	s.byServerName[serverName(key)] = cluster
	return cluster, nil
}

// Cluster returns the cluster of that name, if it exists.
func (s *Server) Cluster(key types.NamespacedName) (*Cluster, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	cluster, found := s.clusters[key]
	return cluster, found
}

// RemoveCluster forgets a cluster with all its objects and closes its connections. Removing a missing one does nothing.
func (s *Server) RemoveCluster(key types.NamespacedName) {
	s.mu.Lock()
	cluster, found := s.clusters[key]
	delete(s.clusters, key)
	delete(s.byServerName, serverName(key))
	s.mu.Unlock()
	if found {
		cluster.connections.closeAll()
	}
}

// Requests counts the requests that the clusters got since they were added; those of removed clusters are not in it.
func (s *Server) Requests() map[Request]int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	total := map[Request]int{}
	for _, cluster := range s.clusters {
		for request, count := range cluster.Requests() {
			total[request] += count
		}
	}
	return total
}

// tlsConfigFor shows a client the certificate of the cluster that it asks for by the kubeconfig's tls-server-name. Since
// clusters have different CAs, a client has a TCP connection per cluster, and each can fail on its own.
func (s *Server) tlsConfigFor(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	s.mu.RLock()
	cluster, found := s.byServerName[hello.ServerName]
	s.mu.RUnlock()
	if !found {
		return nil, fmt.Errorf("no cluster has the TLS server name %q", hello.ServerName)
	}
	if err := cluster.connections.add(hello.Conn.(*gatedConn)); err != nil {
		return nil, err
	}
	return cluster.tlsConfig(), nil
}
