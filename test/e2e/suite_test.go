// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/machinist-dev/machinist/test/environment/suite"
	"github.com/machinist-dev/machinist/test/simulator"
)

// The waiting times of this suite. Pods start, CPUs are few, and much else happens.
const (
	// buildTimeout bounds what may have to build everything: the programs of Kubernetes, the manager, kubectl.
	buildTimeout = 40 * time.Minute
	// deployTimeout bounds a make target that uses what is built.
	deployTimeout = 5 * time.Minute
	// eventuallyTimeout is how long it may take until something happens that must.
	eventuallyTimeout = 2 * time.Minute
	// rotationTimeout is how long it may take until a certificate is signed by a new authority: the bundle of the new one
	// has to be known for a minute first.
	rotationTimeout = 4 * time.Minute
	polling         = 250 * time.Millisecond
)

// The kinds of the two providers of servers. That of the second is in a group that the manager knows nothing of, so it
// depends on the role that the provider brings along.
var (
	simMachine   = simulator.SimMachine
	metalMachine = schema.GroupKind{Group: "metal.example.com", Kind: "MetalMachine"}
)

var (
	target *cluster
	k8s    client.WithWatch // an administrator's
)

func TestE2E(t *testing.T) {
	if os.Getenv(enableVariable) == "" {
		t.Skipf("this installs Machinist on a real cluster: run make test-e2e, or set %s=true; docs/development.md says more", enableVariable)
	}
	RegisterFailHandler(Fail)
	RunSpecs(t, "End to end")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	suite.SetDefaults()
	SetDefaultEventuallyTimeout(eventuallyTimeout)
	SetDefaultEventuallyPollingInterval(polling)
	suite.SetLogger(suite.Logger())
	target = newCluster(ctx)
	k8s = target.client()
}, NodeTimeout(buildTimeout))
