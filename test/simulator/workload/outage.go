// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
)

// Outage is a way in which a cluster can't be reached.
type Outage int

const (
	reachable Outage = iota
	// Refused closes the cluster's connections and refuses new ones: clients learn about it at once.
	Refused
	// Hanging stops all traffic without closing anything, as a network does that drops packets: connections are still
	// accepted, but there is no answer, not even to the TLS handshake, until the cluster is brought up again. Then
	// everything goes on where it stopped.
	Hanging
)

func (o Outage) String() string {
	switch o {
	case reachable:
		return "reachable"
	case Refused:
		return "Refused"
	case Hanging:
		return "Hanging"
	default:
		return fmt.Sprintf("Outage(%d)", int(o))
	}
}

var errRefused = errors.New("the cluster refuses connections")

// connections are the TCP connections of one cluster.
type connections struct {
	mu     sync.Mutex
	outage Outage
	// gate is closed when the outage ends; nil if nothing hangs.
	gate chan struct{}
	open map[*gatedConn]struct{}
}

// add takes a new connection in, during its TLS handshake.
func (c *connections) add(conn *gatedConn) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.outage == Refused {
		return errRefused
	}
	if c.open == nil {
		c.open = map[*gatedConn]struct{}{}
	}
	c.open[conn] = struct{}{}
	conn.owner.Store(c)
	return nil
}

func (c *connections) remove(conn *gatedConn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, conn)
}

func (c *connections) set(outage Outage) {
	c.mu.Lock()
	c.outage = outage
	if c.gate != nil {
		close(c.gate)
		c.gate = nil
	}
	if outage == Hanging {
		c.gate = make(chan struct{})
	}
	c.mu.Unlock()
	if outage == Refused {
		c.closeAll()
	}
}

func (c *connections) closeAll() {
	c.mu.Lock()
	closing := c.open
	c.open = nil
	c.mu.Unlock()
	for conn := range closing {
		_ = conn.Close() // it may be closed already
	}
}

// pass waits while the cluster hangs, or until the connection is closed.
func (c *connections) pass(closed <-chan struct{}) {
	c.mu.Lock()
	gate := c.gate
	c.mu.Unlock()
	if gate == nil {
		return
	}
	select {
	case <-gate:
	case <-closed:
	}
}

type gatedListener struct{ net.Listener }

func (l gatedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &gatedConn{Conn: conn, closed: make(chan struct{})}, nil
}

// gatedConn is a connection whose traffic stops while its cluster hangs. It belongs to no cluster before the TLS
// handshake says to which.
type gatedConn struct {
	net.Conn
	owner  atomic.Pointer[connections]
	once   sync.Once
	closed chan struct{}
}

func (c *gatedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.pass()
	return n, err
}

func (c *gatedConn) Write(p []byte) (int, error) {
	c.pass()
	return c.Conn.Write(p)
}

func (c *gatedConn) Close() error {
	c.once.Do(func() {
		close(c.closed)
		if owner := c.owner.Load(); owner != nil {
			owner.remove(c)
		}
	})
	return c.Conn.Close()
}

func (c *gatedConn) pass() {
	if owner := c.owner.Load(); owner != nil {
		owner.pass(c.closed)
	}
}
