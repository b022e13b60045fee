// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package workload runs a manager whose workload clusters fail: they don't answer, refuse, get other credentials, and go.
package workload

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

func TestWorkload(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Manager and its workload clusters")
}

var (
	env       *environment.Environment
	k8s       client.WithWatch // a user's client: live, not from a cache
	providers *simulator.Simulator
)

var _ = BeforeSuite(func(ctx SpecContext) {
	env = suite.Start(ctx, environment.Options{CRDPaths: []string{"../../../config/crd/bases"}})
	k8s = manager.User(env, "workload-test")
	providers = manager.Providers(ctx, env)
})
