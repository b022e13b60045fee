// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"github.com/machinist-dev/machinist/test/environment"
	"github.com/machinist-dev/machinist/test/environment/suite"
	"github.com/machinist-dev/machinist/test/simulator"
)

// Providers installs the two simulated kinds and runs their providers, which take no time, and workload clusters, until the
// end of the node that calls it.
func Providers(ctx context.Context, env *environment.Environment) *simulator.Simulator {
	ginkgo.GinkgoHelper()
	suite.InstallCRDs(env, simulator.InfraMachineCRD(simulator.CRDOptions{}), simulator.BootstrapConfigCRD(simulator.CRDOptions{}))
	providers, err := simulator.Start(ctx, env.Config, simulator.Options{ControlPlaneInitialized: true, PayloadSize: -1, Quiet: true})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	ginkgo.DeferCleanup(providers.Stop)
	return providers
}
