// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package staleness runs the manager on caches that are late: a proxy holds back the events of its watches, and makes it
// list again now and then. Users, providers and kubelets are played by the specs and by the simulator, which see the API
// server as it is.
//
// What the specs do is chosen by a seed, which they print. MACHINIST_SEED repeats one, and MACHINIST_ROUNDS makes the
// specs with random changes go on for that many rounds.
package staleness

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/machinist-dev/machinist/test/environment"
	"github.com/machinist-dev/machinist/test/environment/delay"
	"github.com/machinist-dev/machinist/test/environment/suite"
	"github.com/machinist-dev/machinist/test/manager"
	"github.com/machinist-dev/machinist/test/simulator"
	"github.com/machinist-dev/machinist/test/simulator/workload"
)

func TestStaleness(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Manager on late caches")
}

var (
	env       *environment.Environment
	k8s       client.WithWatch // a user's client: live, not from a cache
	workloads *workload.Server
)

var _ = BeforeSuite(func(ctx SpecContext) {
	env = suite.Start(ctx, environment.Options{CRDPaths: []string{"../../../config/crd/bases"}, CountRequests: true})
	k8s = manager.User(env, "staleness-test")
	var err error
	workloads, err = workload.Start(workload.Options{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(workloads.Close)
	crds := []*apiextensionsv1.CustomResourceDefinition{
		simulator.InfraMachineCRD(simulator.CRDOptions{}), simulator.BootstrapConfigCRD(simulator.CRDOptions{}),
	}
	for _, p := range []provider{oldProvider, newProvider} {
		crds = append(crds, p.crds()...)
	}
	suite.InstallCRDs(env, crds...)
})

// startProxy starts a proxy without delays that lasts until the end of the spec.
func startProxy(ctx context.Context) *delay.Proxy {
	GinkgoHelper()
	proxy, err := delay.Start(ctx, env.Config)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(proxy.Close)
	return proxy
}

// startManager runs a manager of one namespace until stop is called, or else until the end of the spec.
func startManager(cfg *rest.Config, namespace string) (stop func()) {
	GinkgoHelper()
	options := manager.Options()
	options.Namespace = namespace
	return manager.Run(cfg, options).Stop
}

// newSeed returns the seed that the environment names, or else a random one, and reports it.
func newSeed() uint64 {
	GinkgoHelper()
	seed := rand.Uint64()
	if text := os.Getenv("MACHINIST_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		Expect(err).NotTo(HaveOccurred(), "MACHINIST_SEED")
	}
	AddReportEntry("seed", seed, ReportEntryVisibilityFailureOrVerbose)
	return seed
}

// rounds returns how often specs with random changes repeat them.
func rounds() int {
	GinkgoHelper()
	text := os.Getenv("MACHINIST_ROUNDS")
	if text == "" {
		return 1
	}
	n, err := strconv.Atoi(text)
	Expect(err).NotTo(HaveOccurred(), "MACHINIST_ROUNDS")
	return n
}

// pause lets some time pass in which the world goes on.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
