// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package suite is how a Ginkgo suite uses a test control plane: it starts one for the suite, and holds the waiting times
// of all suites in one place.
package suite

import (
	"context"
	"net/netip"
	"time"

	"github.com/go-logr/logr"
	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/machinist-dev/machinist/test/environment"
)

// The waiting times of all suites. No number appears at an Eventually: a spec that needs longer is slow because of
// something in the product or in its set-up, and that is what should change. Where it can't, a constant says why.
const (
	// EventuallyTimeout is how long something may take that must happen. Most things happen within milliseconds; the rest
	// is patience with a race detector on two busy cores. It costs nothing unless a spec fails.
	EventuallyTimeout = 20 * time.Second
	// EventuallyPolling is what a spec loses at most between something happening and being seen.
	EventuallyPolling = 20 * time.Millisecond
	// ConsistentlyDuration is how long something must not happen. Every spec that uses it takes as long.
	ConsistentlyDuration = 500 * time.Millisecond
	// ConsistentlyPolling is how often is looked meanwhile.
	ConsistentlyPolling = 20 * time.Millisecond
	// CollectionTimeout bounds what waits for the garbage collector or the namespace controller. The garbage collector
	// looks for new kinds every 30 seconds, and retries with backoff what it finds too early.
	CollectionTimeout = 90 * time.Second
)

// SetDefaults makes the waiting times above those of every Eventually and Consistently. Start calls it; a suite without a
// control plane calls it itself.
func SetDefaults() {
	gomega.SetDefaultEventuallyTimeout(EventuallyTimeout)
	gomega.SetDefaultEventuallyPollingInterval(EventuallyPolling)
	gomega.SetDefaultConsistentlyDuration(ConsistentlyDuration)
	gomega.SetDefaultConsistentlyPollingInterval(ConsistentlyPolling)
	gomega.EnforceDefaultTimeoutsWhenUsingContexts()
}

// Start starts a control plane that lasts until the end of the node that calls it: of the suite in a BeforeSuite, of the
// container in a BeforeAll, of the spec anywhere else. It fails the node if it can't.
func Start(ctx context.Context, options environment.Options) *environment.Environment {
	ginkgo.GinkgoHelper()
	SetDefaults()
	SetLogger(Logger())
	env, err := environment.Start(ctx, options)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	ginkgo.DeferCleanup(env.Stop)
	return env
}

// Logger returns one that shows what it is told with the spec that fails.
func Logger() logr.Logger {
	return textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(ginkgo.GinkgoWriter), textlogger.Verbosity(2)))
}

// SetLogger makes the logger that of the process. Start has set Logger.
func SetLogger(logger logr.Logger) {
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
}

// InstallCRDs installs definitions, and waits until they are served.
func InstallCRDs(env *environment.Environment, crds ...*apiextensionsv1.CustomResourceDefinition) {
	ginkgo.GinkgoHelper()
	_, err := envtest.InstallCRDs(env.Config, envtest.CRDInstallOptions{CRDs: crds})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
}

// Namespace makes a namespace for the spec that calls it, and returns its name.
func Namespace(ctx context.Context, env *environment.Environment) string {
	ginkgo.GinkgoHelper()
	namespace, err := env.CreateNamespace(ctx, "spec")
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return namespace
}

// FreeAddress returns an address of the loopback interface for a server of the suite, see environment.FreeAddress.
func FreeAddress(ctx context.Context) netip.AddrPort {
	ginkgo.GinkgoHelper()
	address, err := environment.FreeAddress(ctx)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return address
}

// Webhooks reads webhook configurations from files or folders, and chooses where on the loopback interface the suite's
// webhook server is to listen: host, port and the folder of its certificate are in what is returned. Call Install on that
// once the server is up, with env.Config; whatever must get past the webhooks is created before.
func Webhooks(paths ...string) *envtest.WebhookInstallOptions {
	ginkgo.GinkgoHelper()
	hooks := &envtest.WebhookInstallOptions{Paths: paths}
	gomega.Expect(hooks.PrepWithoutInstalling()).To(gomega.Succeed())
	ginkgo.DeferCleanup(hooks.Cleanup)
	return hooks
}
