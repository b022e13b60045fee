// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package deletion takes Machines down on a real API server, with providers and workload clusters that are simulated: hooks,
// the drain, volumes, and everything that may be missing.
//
// Two managers run, each for the Machines with its label: a narrow one that reconciles one Machine at a time, so that a
// worker that waits for something would hold up all others, and a wide one for many Machines.
package deletion

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers/machine/drain"
	"github.com/machinist-dev/machinist/test/environment"
	"github.com/machinist-dev/machinist/test/environment/suite"
	"github.com/machinist-dev/machinist/test/manager"
	"github.com/machinist-dev/machinist/test/simulator"
)

func TestDeletion(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Deletion of Machines")
}

var (
	env *environment.Environment
	k8s client.WithWatch // a user's client: live, not from a cache
	sim *simulator.Simulator
)

// The values of the watch-filter label.
const (
	narrow = "narrow"
	wide   = "wide"
)

// nextLook is how long something may take that has to wait for the next look at a Node.
const nextLook = drain.RetryInterval + suite.EventuallyTimeout

var _ = BeforeSuite(func(ctx SpecContext) {
	env = suite.Start(ctx, environment.Options{CRDPaths: []string{"../../../config/crd/bases"}})
	k8s = manager.User(env, "deletion-test")
	sim = manager.Providers(ctx, env)
	startManager(narrow, 1)
	startManager(wide, 100)
})

// startManager runs a manager until the end of the suite.
func startManager(filter string, concurrency int) {
	GinkgoHelper()
	options := manager.Options()
	options.WatchFilter, options.MachineConcurrency = filter, concurrency
	// Many Machines of one Cluster go at the same time; how fast they may is not what is tested.
	options.KubeAPIQPS, options.KubeAPIBurst = 1000, 2000
	options.ClusterCacheClientQPS, options.ClusterCacheClientBurst = 1000, 2000
	manager.Run(env.Config, options)
}

func deletingOf(m *clusterv1.Machine) (reason, message string) {
	for _, c := range m.Status.Conditions {
		if c.Type == clusterv1.MachineDeletingCondition {
			return c.Reason, c.Message
		}
	}
	return "", ""
}
