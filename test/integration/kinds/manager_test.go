// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/machinist-dev/machinist/controllers"
	"github.com/machinist-dev/machinist/controllers/external"
	"github.com/machinist-dev/machinist/controllers/machine"
)

func scheme() *runtime.Scheme {
	s := controllers.NewScheme()
	Expect(apiextensionsv1.AddToScheme(s)).To(Succeed())
	return s
}

// managerOptions are the defaults of the flags but for one namespace, one worker, no resync and servers without a port.
func managerOptions(namespace string) controllers.Options {
	var options controllers.Options
	options.BindFlags(pflag.NewFlagSet("", pflag.PanicOnError))
	options.HealthAddress = "0"
	options.DiagnosticsAddress = "0"
	options.Namespace = namespace
	options.MachineConcurrency = 1      // who waits holds up everybody
	options.SyncPeriod = 10 * time.Hour // every step must be woken by an event
	return options
}

// startManager runs a manager for one namespace, with the administrator's access, until the end of the spec.
func startManager(namespace string) {
	GinkgoHelper()
	startManagerWith(env.Config, managerOptions(namespace))
}

func startManagerWith(cfg *rest.Config, options controllers.Options) {
	GinkgoHelper()
	mgr, err := controllers.NewManager(cfg, options)
	Expect(err).NotTo(HaveOccurred())
	forgetMetrics()
	ctx, cancel := context.WithCancel(context.Background())
	Expect(controllers.Setup(ctx, oneOfMany{mgr}, options)).To(Succeed())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	DeferCleanup(func() {
		cancel()
		Eventually(done).Should(Receive(BeNil()))
	})
	<-mgr.Elected()
}

// oneOfMany is a manager of a process that has had others: their controllers had the same name.
type oneOfMany struct{ ctrl.Manager }

func (m oneOfMany) GetControllerOptions() config.Controller {
	options := m.Manager.GetControllerOptions()
	options.SkipNameValidation = new(true)
	return options
}

// forgetMetrics removes the collectors of earlier managers from the registry, so that those of the next are served. A
// collector is known there by what it describes.
func forgetMetrics() {
	GinkgoHelper()
	tracker, err := external.NewTracker(external.Options{Config: env.Config})
	Expect(err).NotTo(HaveOccurred())
	metrics.Registry.Unregister(tracker)
	metrics.Registry.Unregister(&machine.Metrics{})
}
