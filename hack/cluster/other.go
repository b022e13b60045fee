// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package main

import (
	"fmt"
	"os"
	"runtime"
)

func main() {
	fmt.Fprintf(os.Stderr, "cluster: this needs the namespaces and cgroups of Linux, and runs on %s: set KUBECONFIG to use "+
		"another cluster\n", runtime.GOOS)
	os.Exit(2) // as on a Linux that allows no cluster
}
