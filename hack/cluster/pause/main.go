// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Pause is the first process of each pod: it holds the pod's namespaces, and waits for the end.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// Children that lose their parent become ours, and with this nobody has to ask how they ended.
	signal.Ignore(syscall.SIGCHLD)
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGINT, syscall.SIGTERM)
	<-end
}
