// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// balancer passes each new connection on to one of its backends. Like kube-proxy it leaves those that are open alone when a
// backend is removed.
type balancer struct {
	port int

	mu       sync.Mutex
	backends []string
}

func newBalancer(ctx context.Context) *balancer {
	GinkgoHelper()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(listener.Close)
	b := &balancer{port: listener.Addr().(*net.TCPAddr).Port}
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return // closed
			}
			go b.pass(connection)
		}
	}()
	return b
}

func (b *balancer) add(backend string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.backends = append(b.backends, backend)
}

func (b *balancer) remove(backend string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.backends = slices.DeleteFunc(slices.Clone(b.backends), func(other string) bool { return other == backend })
}

func (b *balancer) choose() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.backends) == 0 {
		return ""
	}
	return b.backends[rand.IntN(len(b.backends))]
}

func (b *balancer) pass(client net.Conn) {
	defer client.Close() //nolint:errcheck // the other side may have closed it
	var dialer net.Dialer
	server, err := dialer.DialContext(context.Background(), "tcp", b.choose())
	if err != nil {
		return
	}
	defer server.Close() //nolint:errcheck // the other side may have closed it
	ended := make(chan struct{}, 2)
	for to, from := range map[net.Conn]net.Conn{client: server, server: client} {
		go func() {
			_, _ = io.Copy(to, from)
			ended <- struct{}{}
		}()
	}
	<-ended
}
