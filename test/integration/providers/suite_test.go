// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package providers shows the manager the CustomResourceDefinitions and objects of real providers, on a real API server,
// and checks that a Machine says exactly what the object that it references says, or exactly what is wrong with it.
//
// What a Machine must say is worked out here a second time, by plain lookups in the object (expectation_test.go), and
// for objects that break the contract written down in words (exceptions_test.go). The accessors of the facade have no
// part in it.
//
// One set of providers is a folder of data beside the repository, which not everybody has. The other comes from public
// modules of Cluster API, so that the suite shows something everywhere. No provider runs: the conversion webhooks of
// their definitions are replaced by conversion strategy None, so an object is read at another API version than it was
// written only as far as the two have the same fields.
package providers

import (
	"context"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/machinist-dev/machinist/test/environment"
	"github.com/machinist-dev/machinist/test/environment/suite"
	"github.com/machinist-dev/machinist/test/manager"
	"github.com/machinist-dev/machinist/test/simulator"
)

func TestProviders(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Manager with definitions and objects of real providers")
}

var (
	env      *environment.Environment
	k8s      client.Client // a user's client: live, not from a cache
	machines client.Reader // watches Machines, so that waiting for them costs no requests
	report   table
)

var _ = BeforeSuite(func(ctx SpecContext) {
	env = suite.Start(ctx, environment.Options{CRDPaths: []string{"../../../config/crd/bases"}, CountRequests: true})
	k8s = manager.User(env, "provider-test")
	watchMachines()
	suite.InstallCRDs(env, simulator.InfraMachineCRD(simulator.CRDOptions{}))
	manager.Run(env.Config, manager.Options())
})

var _ = AfterSuite(func() {
	AddReportEntry("What the Machines said", report.String(), ReportEntryVisibilityFailureOrVerbose)
})

func watchMachines() {
	GinkgoHelper()
	watching, err := cache.New(env.ConfigFor("provider-test"), cache.Options{Scheme: k8s.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- watching.Start(ctx) }()
	DeferCleanup(func() {
		cancel()
		Eventually(done).Should(Receive(BeNil()))
	})
	machines = watching
}
