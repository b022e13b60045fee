// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manager runs our manager in Ginkgo suites, and makes the client by which they look at what it does.
package manager

import (
	"context"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"github.com/spf13/pflag"
	eventsv1 "k8s.io/api/events/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/machinist-dev/machinist/controllers"
	"github.com/machinist-dev/machinist/test/environment"
)

// Options are the defaults of the flags, but for those given, without webhooks, with servers that need no port, and without a
// resync: every step must be woken by an event, or by the time that it asks for.
func Options(flags ...string) controllers.Options {
	ginkgo.GinkgoHelper()
	var options controllers.Options
	set := pflag.NewFlagSet("", pflag.PanicOnError)
	options.FlagGroups().AddTo(set)
	gomega.Expect(set.Parse(append([]string{"--webhook-port=0"}, flags...))).To(gomega.Succeed())
	options.HealthAddress, options.DiagnosticsAddress = "0", "0"
	options.SyncPeriod = 10 * time.Hour
	return options
}

// Manager is one that runs.
type Manager struct {
	ctrl.Manager

	cancel context.CancelFunc
	// ended is closed when it has ended, and err, which is how, can be read from then on.
	ended chan struct{}
	err   error
	// asked is whether the spec has asked how it ended.
	asked bool
}

// Start starts a manager that ends with the node that calls it at the latest.
func Start(cfg *rest.Config, options controllers.Options) *Manager {
	ginkgo.GinkgoHelper()
	mgr, err := controllers.NewManager(cfg, options)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	m := &Manager{Manager: oneOfSeveral{mgr}, cancel: cancel, ended: make(chan struct{})}
	gomega.Expect(controllers.Setup(ctx, m, options)).To(gomega.Succeed())
	go func() {
		defer close(m.ended)
		m.err = mgr.Start(ctx)
	}()
	ginkgo.DeferCleanup(func() {
		cancel()
		gomega.Eventually(m.ended).Should(gomega.BeClosed())
		if !m.asked {
			gomega.Expect(m.err).NotTo(gomega.HaveOccurred())
		}
	})
	return m
}

// Run starts a manager, as Start does, and waits until it is at work.
func Run(cfg *rest.Config, options controllers.Options) *Manager {
	ginkgo.GinkgoHelper()
	m := Start(cfg, options)
	gomega.Eventually(m.Elected()).Should(gomega.BeClosed())
	return m
}

// Tell tells the manager to stop, as a signal does.
func (m *Manager) Tell() { m.cancel() }

// Ended is closed when the manager has ended.
func (m *Manager) Ended() <-chan struct{} { return m.ended }

// Err waits until the manager has ended, and returns how: nil if it was told to.
func (m *Manager) Err() error {
	ginkgo.GinkgoHelper()
	gomega.Eventually(m.ended).Should(gomega.BeClosed())
	m.asked = true
	return m.err
}

// Stop tells the manager to stop, and waits until it has.
func (m *Manager) Stop() {
	ginkgo.GinkgoHelper()
	m.Tell()
	gomega.Expect(m.Err()).NotTo(gomega.HaveOccurred())
}

// oneOfSeveral is a manager in a process that has others with the same controllers.
type oneOfSeveral struct{ ctrl.Manager }

// GetControllerOptions implements manager.Manager.
func (m oneOfSeveral) GetControllerOptions() config.Controller {
	options := m.Manager.GetControllerOptions()
	options.SkipNameValidation = new(true)
	return options
}

// Reconciles is the number of those of the Machine controller that the managers of this process have finished.
func Reconciles() int {
	ginkgo.GinkgoHelper()
	families, err := metrics.Registry.Gather()
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	total := 0
	for _, family := range families {
		if family.GetName() != "controller_runtime_reconcile_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "controller" && label.GetValue() == "machine" {
					total += int(metric.GetCounter().GetValue())
				}
			}
		}
	}
	return total
}

// User returns a client of a user of that name: it reads live, not from a cache, and as fast as it likes.
func User(env *environment.Environment, name string) client.WithWatch {
	ginkgo.GinkgoHelper()
	scheme := controllers.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{apiextensionsv1.AddToScheme, eventsv1.AddToScheme} {
		gomega.Expect(add(scheme)).To(gomega.Succeed())
	}
	cfg := env.ConfigFor(name)
	cfg.QPS = -1
	user, err := client.NewWithWatch(cfg, client.Options{Scheme: scheme})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return user
}
