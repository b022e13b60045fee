// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nodes runs the manager with simulated providers and looks at what it writes to Nodes: that it is what the Machines
// ask for, that nobody else's labels, annotations and taints are lost, and that each change is one patch.
package nodes

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/machinist-dev/machinist/controllers"
	"github.com/machinist-dev/machinist/test/environment"
	"github.com/machinist-dev/machinist/test/environment/suite"
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
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(GinkgoWriter), textlogger.Verbosity(2)))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	env = suite.Start(ctx, environment.Options{CRDPaths: []string{"../../../config/crd/bases"}, CountRequests: true})
	var err error
	k8s, err = client.New(env.ConfigFor("nodes-test"), client.Options{Scheme: controllers.NewScheme()})
	Expect(err).NotTo(HaveOccurred())
	_, err = envtest.InstallCRDs(env.Config, envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{
		simulator.InfraMachineCRD(simulator.CRDOptions{}), simulator.BootstrapConfigCRD(simulator.CRDOptions{}),
	}})
	Expect(err).NotTo(HaveOccurred())
	sim, err = simulator.Start(ctx, env.Config, simulator.Options{ControlPlaneInitialized: true, PayloadSize: -1, Quiet: true})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(sim.Stop)
	startManager()
})

// startManager runs a manager until the end of the suite. Nothing is resynchronised meanwhile: every step must be woken by an
// event.
func startManager() {
	GinkgoHelper()
	var options controllers.Options
	flags := pflag.NewFlagSet("", pflag.PanicOnError)
	options.BindFlags(flags)
	Expect(flags.Parse([]string{
		"--health-addr=0", "--diagnostics-address=0", "--feature-gates=MachineTaintPropagation=true",
		"--additional-sync-machine-labels=^example.org/,^example.net/", "--additional-sync-machine-annotations=^example.org/",
	})).To(Succeed())
	options.SyncPeriod = 10 * time.Hour
	Expect(options.Validate()).To(Succeed())
	mgr, err := controllers.NewManager(env.Config, options)
	Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- errors.Join(controllers.Setup(ctx, mgr, options), mgr.Start(ctx)) }()
	DeferCleanup(func() {
		cancel()
		Eventually(done).Should(Receive(BeNil()))
	})
	<-mgr.Elected()
}
