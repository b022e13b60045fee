// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/machinist-dev/machinist/controllers/machine"
	"github.com/machinist-dev/machinist/webhooks"
	"github.com/machinist-dev/machinist/webhooks/certificates"
	"github.com/machinist-dev/machinist/webhooks/meter"
	"github.com/machinist-dev/machinist/webhooks/references"
	"github.com/machinist-dev/machinist/webhooks/server"
)

const (
	// defaultWebhookService is the name of the Service in config/; its Secret has that name and certificateSuffix.
	defaultWebhookService = "machinist-webhook-service"
	certificateSuffix     = "-cert"

	// podNamespaceFile is where a pod reads which namespace it is in.
	podNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
)

// callers are the objects in config/ by which the API server finds our webhooks. In an object that isn't ours, such as a
// CustomResourceDefinition of Cluster API, nothing calls our Service, and nothing is changed.
var callers = []certificates.Target{
	certificates.MutatingWebhookConfiguration("machinist-mutating-webhook-configuration"),
	certificates.ValidatingWebhookConfiguration("machinist-validating-webhook-configuration"),
	certificates.CustomResourceDefinition("clusters.cluster.x-k8s.io"),
	certificates.CustomResourceDefinition("machines.cluster.x-k8s.io"),
}

// setUpWebhooks registers what the webhook server serves. All replicas serve it.
func setUpWebhooks(mgr ctrl.Manager, o Options) error {
	if o.WebhookPort == 0 {
		return nil
	}
	webhookServer := mgr.GetWebhookServer() // which makes the manager start it
	if err := mgr.AddReadyzCheck("webhooks", webhookServer.StartedChecker()); err != nil {
		return fmt.Errorf("adding the webhooks to /readyz: %w", err)
	}
	counts := meter.New()
	if err := register(counts); err != nil {
		return err
	}
	return webhooks.Setup(mgr, webhooks.Options{
		MachineTaintPropagation: o.FeatureGates[MachineTaintPropagation],
		References: references.Options{
			Mode: o.ReferenceValidation, Machines: machine.Finder{Reader: mgr.GetCache()}, Namespace: o.Namespace, Meter: counts,
		},
	})
}

// newWebhookServer returns nil if there is to be none.
func newWebhookServer(cfg *rest.Config, o Options) (*server.Server, error) {
	if o.WebhookPort == 0 {
		return nil, nil //nolint:nilnil // none is wanted
	}
	settings, err := o.tlsSettings()
	if err != nil {
		return nil, err
	}
	options := server.Options{Host: o.WebhookHost, Port: o.WebhookPort, CertDir: o.WebhookCertDir, TLS: settings, Linger: server.DefaultLinger}
	if o.WebhookCertRotation {
		if options.Keeper, err = newKeeper(cfg, o); err != nil {
			return nil, fmt.Errorf("--webhook-cert-rotation: %w", err)
		}
	} else if _, err := os.Stat(filepath.Join(o.WebhookCertDir, corev1.TLSCertKey)); err != nil {
		return nil, fmt.Errorf("the webhook server has no certificate: put one into --webhook-cert-dir, set --webhook-cert-rotation, or do without webhooks by --webhook-port=0: %w", err)
	}
	return server.New(options), nil
}

func newKeeper(cfg *rest.Config, o Options) (*certificates.Keeper, error) {
	namespace, name, qualified := cutService(o.WebhookService)
	if !qualified {
		var err error
		if namespace, err = podNamespace(); err != nil {
			return nil, fmt.Errorf("the namespace of the webhooks' Service is not known, set --webhook-service=NAMESPACE/%s: %w", name, err)
		}
	}
	keeper, err := certificates.New(certificates.Options{
		Config:  cfg,
		Service: types.NamespacedName{Namespace: namespace, Name: name},
		Secret:  types.NamespacedName{Namespace: namespace, Name: name + certificateSuffix},
		Targets: callers,
	})
	if err != nil {
		return nil, err
	}
	return keeper, register(keeper)
}

// register serves the metrics of a collector. The registry is the process's: of several managers in one, as in tests, the
// first has its metrics served.
func register(collector prometheus.Collector) error {
	if err := metrics.Registry.Register(collector); err != nil && !errors.As(err, &prometheus.AlreadyRegisteredError{}) {
		return fmt.Errorf("registering the metrics of %T: %w", collector, err)
	}
	return nil
}

// cutService splits the value of --webhook-service, which is qualified if it has a namespace.
func cutService(service string) (namespace, name string, qualified bool) {
	if namespace, name, qualified = strings.Cut(service, "/"); qualified {
		return namespace, name, true
	}
	return "", service, false
}

// podNamespace returns the namespace of the pod that the manager runs in.
func podNamespace() (string, error) {
	content, err := os.ReadFile(podNamespaceFile)
	if err != nil {
		return "", fmt.Errorf("the manager seems not to run in a pod: %w", err)
	}
	return strings.TrimSpace(string(content)), nil
}

// outlived is a manager that ends after its webhook server, which serves for a moment more.
type outlived struct {
	ctrl.Manager

	webhooks *server.Server
}

// Start implements manager.Manager. After an error it does not wait: a manager that has lost its Lease must end at once.
func (m outlived) Start(ctx context.Context) error {
	if err := m.Manager.Start(ctx); err != nil {
		return err
	}
	m.webhooks.Wait()
	return nil
}
