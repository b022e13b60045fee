// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ha runs managers as processes of their own, two at a time, and takes the leader away in the middle of work: by
// SIGKILL, as when a machine fails, and by SIGTERM, as in a rolling upgrade.
//
// It works with MACHINIST_MACHINES Machines, 300 unless that is set.
package ha

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/machinist-dev/machinist/test/environment"
	"github.com/machinist-dev/machinist/test/environment/suite"
	"github.com/machinist-dev/machinist/test/manager"
	"github.com/machinist-dev/machinist/test/simulator"
)

const (
	machinesVariable = "MACHINIST_MACHINES"
	defaultMachines  = 300
	// convergenceTimeout is how long all Machines may take. 1,000 take less than a minute on two free cores.
	convergenceTimeout = 4 * time.Minute
	// countInterval is the time between two counts of all Machines. A list of 1,000 costs the API server and us as much as some
	// dozens of other requests.
	countInterval = 3 * time.Second
)

func TestHA(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "High availability")
}

var (
	env       *environment.Environment
	k8s       client.Client // a user's client: live, not from a cache
	providers *simulator.Simulator
	binary    string
	machines  int
)

var _ = BeforeSuite(func(ctx SpecContext) {
	machines = defaultMachines
	if value, set := os.LookupEnv(machinesVariable); set {
		var err error
		machines, err = strconv.Atoi(value)
		Expect(err).NotTo(HaveOccurred(), machinesVariable)
		Expect(machines).To(BeNumerically(">=", 20), machinesVariable)
	}
	binary = build(ctx)
	env = suite.Start(ctx, environment.Options{CRDPaths: []string{"../../../config/crd/bases"}, CountRequests: true})
	k8s = manager.User(env, "ha-test")
	suite.InstallCRDs(env, simulator.InfraMachineCRD(simulator.CRDOptions{}), simulator.BootstrapConfigCRD(simulator.CRDOptions{}))
	var err error
	providers, err = simulator.Start(ctx, env.Config, simulator.Options{
		ControlPlaneInitialized: true, PayloadSize: -1, Quiet: true,
		BootstrapDelay: 500 * time.Millisecond, ProvisionDelay: 2 * time.Second, NodeDelay: time.Second, DeletionDelay: time.Second, Jitter: 0.5,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(providers.Stop)
})

// build builds the manager as it is in this checkout, with what tests have compiled.
func build(ctx context.Context) string {
	GinkgoHelper()
	path := filepath.Join(GinkgoT().TempDir(), "manager")
	command := exec.CommandContext(ctx, "go", "build", "-o", path, ".")
	command.Dir = "../../.."
	output, err := command.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(output))
	return path
}
