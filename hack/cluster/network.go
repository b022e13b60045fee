// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
)

// The network of the cluster. Pods dial the machine at hostIP, and the machine dials pods at their own addresses.
const (
	hostIP       = "172.30.255.1"
	nodeIP       = "172.30.255.2"
	linkBits     = "/30"
	podCIDR      = "10.244.0.0/24"
	serviceCIDR  = "10.96.0.0/24"
	apiServiceIP = "10.96.0.1"
	apiServer    = "https://" + nodeIP + ":6443"

	nodeName = "node1"
	// hostLink and nodeLink are the two ends of the cable between machine and node.
	hostLink = "machinist0"
	nodeLink = "eth0"
)

// connect lays the cable between the machine and the network namespace of a process. It ends with that namespace, and the
// addresses and the route with it.
func connect(ctx context.Context, pid int) error {
	return ip(ctx,
		[]string{"link", "add", hostLink, "type", "veth", "peer", "name", nodeLink, "netns", strconv.Itoa(pid)},
		[]string{"address", "add", hostIP + linkBits, "dev", hostLink},
		[]string{"link", "set", hostLink, "up"},
		[]string{"route", "add", podCIDR, "via", nodeIP},
	)
}

// disconnect removes the cable if it is still there: the kernel takes namespaces apart a moment after their last process.
func disconnect(ctx context.Context) error {
	if !exists("/sys/class/net/" + hostLink) {
		return nil
	}
	if err := ip(ctx, []string{"link", "delete", hostLink}); err != nil && exists("/sys/class/net/"+hostLink) {
		return err
	}
	return nil
}

// setUpNode does the node's side, from inside.
func setUpNode(ctx context.Context) error {
	err := ip(ctx,
		[]string{"link", "set", "lo", "up"},
		[]string{"address", "add", nodeIP + linkBits, "dev", nodeLink},
		[]string{"link", "set", nodeLink, "up"},
		[]string{"route", "add", "default", "via", hostIP},
	)
	if err != nil {
		return err
	}
	// This one belongs to the network namespace.
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644); err != nil {
		return fmt.Errorf("letting the node forward what pods send: %w", err)
	}
	return nil
}

func ip(ctx context.Context, commands ...[]string) error {
	for _, arguments := range commands {
		if err := execute(ctx, nil, "ip", arguments...); err != nil {
			return fmt.Errorf("setting up the network, which needs %s%s and %s for itself: %w", hostIP, linkBits, podCIDR, err)
		}
	}
	return nil
}
