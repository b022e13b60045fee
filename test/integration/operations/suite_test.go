// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package operations runs managers as operators do: paused, filtered, restricted to a namespace, stopped, restarted, and two
// of them at a time.
package operations

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
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
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(GinkgoWriter), textlogger.Verbosity(2)))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	env = suite.Start(ctx, environment.Options{CRDPaths: []string{"../../../config/crd/bases"}, CountRequests: true})
	userConfig := env.ConfigFor("operations-test")
	userConfig.QPS = -1
	var err error
	k8s, err = client.New(userConfig, client.Options{Scheme: controllers.NewScheme()})
	Expect(err).NotTo(HaveOccurred())
	_, err = envtest.InstallCRDs(env.Config, envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{
		simulator.InfraMachineCRD(simulator.CRDOptions{}), simulator.BootstrapConfigCRD(simulator.CRDOptions{}),
	}})
	Expect(err).NotTo(HaveOccurred())
	providers, err = simulator.Start(ctx, env.Config, simulator.Options{ControlPlaneInitialized: true, PayloadSize: -1, Quiet: true})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(providers.Stop)
})
