// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"context"
	"fmt"
	"net"
	"net/netip"
)

// FreeAddress returns an address of the loopback interface for a server that can only be told where to listen. For the next
// minute the system gives its port to nobody else who asks for any port: a connection has just ended there, and Linux keeps
// what is left of one (TIME_WAIT) for so long. A server that asks for the port by its number gets it all the same.
func FreeAddress(ctx context.Context) (netip.AddrPort, error) {
	address, err := usedAddress(ctx)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("looking for a free address: %w", err)
	}
	return netip.ParseAddrPort(address)
}

// usedAddress returns an address at which a connection was accepted, and closed by the side that accepted it: where a
// connection is closed first, there something is left of it.
func usedAddress(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = listener.Close() }() // nobody waits there
	address := listener.Addr().String()
	client, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	defer func() { _ = client.Close() }() // nothing was sent
	server, err := listener.Accept()
	if err != nil {
		return "", err
	}
	return address, server.Close()
}
