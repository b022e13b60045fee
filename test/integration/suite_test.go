// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package integration runs the manager against a real kube-apiserver and etcd, with providers played by the specs.
package integration

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/machinist-dev/machinist/apis/contract"
	"github.com/machinist-dev/machinist/test/environment"
	"github.com/machinist-dev/machinist/test/environment/suite"
	"github.com/machinist-dev/machinist/test/manager"
	"github.com/machinist-dev/machinist/test/simulator"
	"github.com/machinist-dev/machinist/test/simulator/workload"
)

func TestIntegration(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Manager on a real API server")
}

var (
	env       *environment.Environment
	k8s       client.Client // a user's client: live, not from a cache
	workloads *workload.Server
)

var _ = BeforeSuite(func(ctx SpecContext) {
	env = suite.Start(ctx, environment.Options{CRDPaths: []string{"../../config/crd/bases"}, CountRequests: true})
	k8s = manager.User(env, "integration-test")
	var err error
	workloads, err = workload.Start(workload.Options{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(workloads.Close)
	for _, p := range []provider{oldProvider, newProvider, foreignProvider} {
		suite.InstallCRDs(env, p.crds()...)
	}
	suite.InstallCRDs(env, simulator.ControlPlaneCRD(simulator.CRDOptions{}))
	manager.Run(env.Config, manager.Options())
})

// The providers of the suite: one for each contract version, and one whose kinds are in API groups of its own.
var (
	oldProvider     = newProviderOf(contract.V1Beta1, "infrastructure.cluster.x-k8s.io", "bootstrap.cluster.x-k8s.io", "Old")
	newProvider     = newProviderOf(contract.V1Beta2, "infrastructure.cluster.x-k8s.io", "bootstrap.cluster.x-k8s.io", "New")
	foreignProvider = newProviderOf(contract.V1Beta2, "metal.example.org", "ignition.example.net", "Foreign")
)
