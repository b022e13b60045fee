// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nodes runs the manager with simulated providers and looks at what it writes to Nodes: that it is what the Machines
// ask for, that nobody else's labels, annotations and taints are lost, and that each change is one patch.
package nodes

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/machinist-dev/machinist/test/environment"
	"github.com/machinist-dev/machinist/test/environment/suite"
	"github.com/machinist-dev/machinist/test/manager"
	"github.com/machinist-dev/machinist/test/simulator"
)

func TestNodes(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Nodes of Machines")
}

var (
	env *environment.Environment
	k8s client.Client // a user's client: live, not from a cache
	sim *simulator.Simulator
)

var _ = BeforeSuite(func(ctx SpecContext) {
	env = suite.Start(ctx, environment.Options{CRDPaths: []string{"../../../config/crd/bases"}, CountRequests: true})
	k8s = manager.User(env, "nodes-test")
	sim = manager.Providers(ctx, env)
	manager.Run(env.Config, manager.Options("--feature-gates=MachineTaintPropagation=true",
		"--additional-sync-machine-labels=^example.org/,^example.net/", "--additional-sync-machine-annotations=^example.org/"))
})
