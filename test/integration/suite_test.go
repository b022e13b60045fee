// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package integration runs the manager against a real kube-apiserver and etcd, with providers played by the specs.
package integration

import (
	"context"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/machinist-dev/machinist/apis/contract"
	"github.com/machinist-dev/machinist/controllers"
	"github.com/machinist-dev/machinist/test/environment"
	"github.com/machinist-dev/machinist/test/environment/suite"
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
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(GinkgoWriter), textlogger.Verbosity(2)))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	env = suite.Start(ctx, environment.Options{CRDPaths: []string{"../../config/crd/bases"}, CountRequests: true})
	var err error
	k8s, err = client.New(env.ConfigFor("integration-test"), client.Options{Scheme: scheme()})
	Expect(err).NotTo(HaveOccurred())
	workloads, err = workload.Start(workload.Options{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(workloads.Close)
	for _, p := range []provider{oldProvider, newProvider, foreignProvider} {
		install(p.crds()...)
	}
	install(simulator.ControlPlaneCRD(simulator.CRDOptions{}))
	startManager(managerOptions())
})

// managerOptions are the defaults of the flags, with servers that need no port.
func managerOptions() controllers.Options {
	options := defaultOptions()
	options.HealthAddress = "0"
	options.DiagnosticsAddress = "0"
	options.SyncPeriod = tenHours // every step must be woken by an event
	return options
}

// startManager runs a manager until the end of the node that calls it.
func startManager(options controllers.Options) {
	GinkgoHelper()
	mgr, err := controllers.NewManager(env.Config, options)
	Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	Expect(controllers.Setup(ctx, mgr, options)).To(Succeed())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	DeferCleanup(func() {
		cancel()
		Eventually(done).Should(Receive(BeNil()))
	})
	<-mgr.Elected()
}

func install(crds ...*apiextensionsv1.CustomResourceDefinition) {
	GinkgoHelper()
	_, err := envtest.InstallCRDs(env.Config, envtest.CRDInstallOptions{CRDs: crds})
	Expect(err).NotTo(HaveOccurred())
}

// The providers of the suite: one for each contract version, and one whose kinds are in API groups of its own.
var (
	oldProvider     = newProviderOf(contract.V1Beta1, "infrastructure.cluster.x-k8s.io", "bootstrap.cluster.x-k8s.io", "Old")
	newProvider     = newProviderOf(contract.V1Beta2, "infrastructure.cluster.x-k8s.io", "bootstrap.cluster.x-k8s.io", "New")
	foreignProvider = newProviderOf(contract.V1Beta2, "metal.example.org", "ignition.example.net", "Foreign")
)
