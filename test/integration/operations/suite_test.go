// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package operations runs managers as operators do: paused, filtered, restricted to a namespace, stopped, restarted, and two
// of them at a time.
package operations

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

func TestOperations(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Managers in operation")
}

var (
	env       *environment.Environment
	k8s       client.Client // a user's client: live, not from a cache
	providers *simulator.Simulator
)

var _ = BeforeSuite(func(ctx SpecContext) {
	env = suite.Start(ctx, environment.Options{CRDPaths: []string{"../../../config/crd/bases"}, CountRequests: true})
	k8s = manager.User(env, "operations-test")
	providers = manager.Providers(ctx, env)
})
