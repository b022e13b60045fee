// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package deletion takes Machines down on a real API server, with providers and workload clusters that are simulated: hooks,
// the drain, volumes, and everything that may be missing.
//
// Two managers run, each for the Machines with its label: a narrow one that reconciles one Machine at a time, so that a
// worker that waits for something would hold up all others, and a wide one for many Machines.
package deletion

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
	eventsv1 "k8s.io/api/events/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers"
	"github.com/machinist-dev/machinist/controllers/machine/drain"
	"github.com/machinist-dev/machinist/test/environment"
	"github.com/machinist-dev/machinist/test/environment/suite"
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
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(GinkgoWriter), textlogger.Verbosity(2)))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	env = suite.Start(ctx, environment.Options{CRDPaths: []string{"../../../config/crd/bases"}})
	scheme := controllers.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{apiextensionsv1.AddToScheme, eventsv1.AddToScheme} {
		Expect(add(scheme)).To(Succeed())
	}
	user := env.ConfigFor("deletion-test")
	user.QPS = -1
	var err error
	k8s, err = client.NewWithWatch(user, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	install(simulator.InfraMachineCRD(simulator.CRDOptions{}), simulator.BootstrapConfigCRD(simulator.CRDOptions{}))
	sim, err = simulator.Start(ctx, env.Config, simulator.Options{ControlPlaneInitialized: true, PayloadSize: -1, Quiet: true})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(sim.Stop)
	startManager(narrow, 1)
	startManager(wide, 100)
})

// startManager runs a manager until the end of the suite.
func startManager(filter string, concurrency int) {
	GinkgoHelper()
	var options controllers.Options
	options.BindFlags(pflag.NewFlagSet("", pflag.PanicOnError))
	options.HealthAddress, options.DiagnosticsAddress = "0", "0"
	options.SyncPeriod *= 60 // every step must be woken by an event, or by the time that it asks for
	options.WatchFilter, options.MachineConcurrency = filter, concurrency
	// Many Machines of one Cluster go at the same time; how fast they may is not what is tested.
	options.KubeAPIQPS, options.KubeAPIBurst = 1000, 2000
	options.ClusterCacheClientQPS, options.ClusterCacheClientBurst = 1000, 2000
	mgr, err := controllers.NewManager(env.Config, options)
	Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- errors.Join(controllers.Setup(ctx, oneOfTwo{mgr}, options), mgr.Start(ctx)) }()
	DeferCleanup(func() {
		cancel()
		Eventually(done).Should(Receive(BeNil()))
	})
	<-mgr.Elected()
}

// oneOfTwo is a manager in a process that has another one with the same controllers.
type oneOfTwo struct{ ctrl.Manager }

func (m oneOfTwo) GetControllerOptions() config.Controller {
	options := m.Manager.GetControllerOptions()
	options.SkipNameValidation = new(true)
	return options
}

func install(crds ...*apiextensionsv1.CustomResourceDefinition) {
	GinkgoHelper()
	_, err := envtest.InstallCRDs(env.Config, envtest.CRDInstallOptions{CRDs: crds})
	Expect(err).NotTo(HaveOccurred())
}

func deletingOf(m *clusterv1.Machine) (reason, message string) {
	for _, c := range m.Status.Conditions {
		if c.Type == clusterv1.MachineDeletingCondition {
			return c.Reason, c.Message
		}
	}
	return "", ""
}
