// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/machinist-dev/machinist/controllers"
	"github.com/machinist-dev/machinist/controllers/external"
	"github.com/machinist-dev/machinist/controllers/machine"
	"github.com/machinist-dev/machinist/test/manager"
)

// managerOptions are for one namespace and one worker: who waits holds up everybody.
func managerOptions(namespace string) controllers.Options {
	options := manager.Options()
	options.Namespace = namespace
	options.MachineConcurrency = 1
	return options
}

// startManager runs a manager for one namespace, with the administrator's access, until the end of the spec.
func startManager(namespace string) {
	GinkgoHelper()
	startManagerWith(env.Config, managerOptions(namespace))
}

func startManagerWith(cfg *rest.Config, options controllers.Options) {
	GinkgoHelper()
	forgetMetrics()
	manager.Run(cfg, options)
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
