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
	"errors"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/machinist-dev/machinist/controllers"
	"github.com/machinist-dev/machinist/test/environment"
	"github.com/machinist-dev/machinist/test/environment/suite"
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
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(GinkgoWriter), textlogger.Verbosity(2)))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	env = suite.Start(ctx, environment.Options{CRDPaths: []string{"../../../config/crd/bases"}, CountRequests: true})
	scheme := controllers.NewScheme()
	Expect(apiextensionsv1.AddToScheme(scheme)).To(Succeed())
	var err error
	k8s, err = client.New(env.ConfigFor("provider-test"), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	watchMachines(scheme)
	install(simulator.InfraMachineCRD(simulator.CRDOptions{}))
	startManager()
})

var _ = AfterSuite(func() {
	AddReportEntry("What the Machines said", report.String(), ReportEntryVisibilityFailureOrVerbose)
})

func watchMachines(scheme *runtime.Scheme) {
	GinkgoHelper()
	watching, err := cache.New(env.ConfigFor("provider-test"), cache.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	runUntilEnd(watching.Start)
	machines = watching
}

// runUntilEnd runs something until the end of the node that calls it.
func runUntilEnd(run func(context.Context) error) {
	GinkgoHelper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	DeferCleanup(func() {
		cancel()
		Eventually(done).Should(Receive(BeNil()))
	})
}

// startManager runs a manager until the end of the suite. Nothing is resynchronised meanwhile: every change of a Machine
// must be woken by an event.
func startManager() {
	GinkgoHelper()
	var options controllers.Options
	options.BindFlags(pflag.NewFlagSet("", pflag.PanicOnError))
	options.HealthAddress, options.DiagnosticsAddress = "0", "0"
	options.SyncPeriod *= 60
	mgr, err := controllers.NewManager(env.Config, options)
	Expect(err).NotTo(HaveOccurred())
	runUntilEnd(func(ctx context.Context) error {
		return errors.Join(controllers.Setup(ctx, mgr, options), mgr.Start(ctx))
	})
	<-mgr.Elected()
}

func install(crds ...*apiextensionsv1.CustomResourceDefinition) {
	GinkgoHelper()
	_, err := envtest.InstallCRDs(env.Config, envtest.CRDInstallOptions{CRDs: crds})
	Expect(err).NotTo(HaveOccurred())
}
