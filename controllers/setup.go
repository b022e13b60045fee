// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controllers builds the manager and registers its controllers; Setup is the list of them.
package controllers

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers/external"
	"github.com/machinist-dev/machinist/controllers/machine"
	"github.com/machinist-dev/machinist/controllers/machine/nodesync"
	"github.com/machinist-dev/machinist/controllers/machine/rollout"
	"github.com/machinist-dev/machinist/controllers/watchcache"
	"github.com/machinist-dev/machinist/controllers/workload"
)

// leaderElectionID differs from Cluster API's, so that both managers can run in one namespace.
const leaderElectionID = "controller-leader-election-machinist"

// shutdownTimeout is how long the manager waits for its reconciles after it was told to stop, and holds its Lease
// meanwhile. It ends before Kubernetes kills a pod, by default after 30 s.
const shutdownTimeout = machine.ShutdownGrace + 5*time.Second

// UserAgent names the manager in requests to the management cluster and to workload clusters.
const UserAgent = "machinist-manager"

// NewScheme returns a scheme with the kinds that the manager works with.
func NewScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, clusterv1.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err) // the kinds are fixed when this is compiled: any test finds it
		}
	}
	return scheme
}

// NewManager returns a manager with nothing registered. The config is copied.
func NewManager(cfg *rest.Config, o Options) (ctrl.Manager, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS, cfg.Burst, cfg.UserAgent = o.KubeAPIQPS, o.KubeAPIBurst, UserAgent
	cfg.WarningHandlerWithContext = warnings{log.NewKubeAPIWarningLogger(log.KubeAPIWarningLoggerOptions{})}
	webhooks, err := newWebhookServer(cfg, o)
	if err != nil {
		return nil, err
	}
	options, err := managerOptions(cfg, o)
	if err != nil {
		return nil, err
	}
	if webhooks != nil {
		options.WebhookServer = webhooks
	}
	mgr, err := ctrl.NewManager(cfg, options)
	if err != nil {
		return nil, fmt.Errorf("building the manager: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, fmt.Errorf("adding /healthz: %w", err)
	}
	if err := mgr.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return nil, fmt.Errorf("adding /readyz: %w", err)
	}
	if webhooks != nil {
		return outlived{mgr, webhooks}, nil
	}
	return mgr, nil
}

func managerOptions(cfg *rest.Config, o Options) (ctrl.Options, error) {
	settings, err := o.tlsSettings()
	if err != nil {
		return ctrl.Options{}, err
	}
	if o.LeaderElect && o.LeaderElectNamespace == "" {
		if o.LeaderElectNamespace, err = podNamespace(); err != nil {
			return ctrl.Options{}, fmt.Errorf("--leader-elect: the namespace of the Lease is not known, set --leader-elect-resource-namespace: %w", err)
		}
	}
	return ctrl.Options{
		Scheme: NewScheme(),
		// A Get of a Secret by a client that reads from the cache would list and keep all Secrets.
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
		Cache: watchcache.ManagementOptions(watchcache.Management{
			Namespace: o.Namespace, WatchFilter: o.WatchFilter, SyncPeriod: o.SyncPeriod, CRD: external.CRDMetadata(),
		}),
		Controller:                    config.Controller{EnableWarmup: new(true)},
		Metrics:                       diagnostics(o, settings),
		PprofBindAddress:              o.ProfilerAddress,
		HealthProbeBindAddress:        o.HealthAddress,
		LeaderElection:                o.LeaderElect,
		LeaderElectionID:              o.leaseName(),
		LeaderElectionNamespace:       o.LeaderElectNamespace,
		LeaderElectionConfig:          leaderElectionConfig(cfg),
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &o.LeaderElectLeaseDuration,
		RenewDeadline:                 &o.LeaderElectRenewDeadline,
		RetryPeriod:                   &o.LeaderElectRetryPeriod,
		GracefulShutdownTimeout:       new(shutdownTimeout),
	}, nil
}

// leaderElectionConfig has neither the rate limit nor the TCP connection of the manager's clients: however much the manager
// has to do, it must not lose its Lease. The leader sends one small request every --leader-elect-retry-period.
func leaderElectionConfig(cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS, cfg.RateLimiter = -1, nil
	if cfg.Dial == nil { // clients with the same dialer share their connections
		cfg.Dial = (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 10 * time.Second}).DialContext
	}
	return cfg
}

// warnings logs the warnings of the API server but for one that every new Machine would cause: that the name of its
// finalizer is unusual. Others know the finalizer by that name, so it stays.
type warnings struct{ rest.WarningHandlerWithContext }

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (w warnings) HandleWarningHeaderWithContext(ctx context.Context, code int, agent, message string) {
	if !strings.Contains(message, strconv.Quote(clusterv1.MachineFinalizer)) {
		w.WarningHandlerWithContext.HandleWarningHeaderWithContext(ctx, code, agent, message)
	}
}

// diagnostics are metrics and profiles, or only metrics where everybody may read them.
func diagnostics(o Options, settings func(*tls.Config)) metricsserver.Options {
	if o.InsecureDiagnostics {
		return metricsserver.Options{BindAddress: o.DiagnosticsAddress}
	}
	return metricsserver.Options{
		BindAddress:    o.DiagnosticsAddress,
		SecureServing:  true,
		TLSOpts:        []func(*tls.Config){settings},
		FilterProvider: filters.WithAuthenticationAndAuthorization,
		ExtraHandlers: map[string]http.Handler{
			"/debug/pprof/":        http.HandlerFunc(pprof.Index),
			"/debug/pprof/cmdline": http.HandlerFunc(pprof.Cmdline),
			"/debug/pprof/profile": http.HandlerFunc(pprof.Profile),
			"/debug/pprof/symbol":  http.HandlerFunc(pprof.Symbol),
			"/debug/pprof/trace":   http.HandlerFunc(pprof.Trace),
		},
	}
}

// Setup registers all controllers with the manager.
func Setup(ctx context.Context, mgr ctrl.Manager, o Options) error {
	rules, err := o.nodeRules()
	if err != nil {
		return err
	}
	referrers := machine.Referrers{Reader: mgr.GetCache()}
	tracker, err := external.NewTracker(external.Options{
		Config: mgr.GetConfig(), Cache: mgr.GetCache(), Referrers: referrers, Namespace: o.Namespace,
	})
	if err != nil {
		return err
	}
	revisions, err := rollout.New(rollout.Options{
		Config: mgr.GetConfig(), HTTP: mgr.GetHTTPClient(), Cache: mgr.GetCache(), CRD: external.CRDMetadata(),
		Machines: referrers.OfMachineSet, Namespace: o.Namespace,
	})
	if err != nil {
		return err
	}
	for _, collector := range []prometheus.Collector{tracker, &machine.Metrics{Reader: mgr.GetCache()}} {
		if err := register(collector); err != nil {
			return err
		}
	}
	reconciler := &machine.Reconciler{
		Client:                      watchcache.Guard(mgr.GetClient()),
		Live:                        mgr.GetAPIReader(),
		External:                    tracker,
		NodeRules:                   rules,
		Revisions:                   revisions,
		Recorder:                    mgr.GetEventRecorder("machine-controller"),
		Clock:                       clock.RealClock{},
		WatchFilter:                 o.WatchFilter,
		RemoteConditionsGracePeriod: o.RemoteConditionsGracePeriod,
	}
	reconciler.Workload = workload.NewClusters(workload.Options{
		Self:    workload.SelfFromEnvironment(mgr.GetConfig()),
		Secrets: mgr.GetAPIReader(), Cache: mgr.GetCache(), Referrers: referrers, SameNode: nodesync.Same, Wanted: reconciler.NeedsWorkload,
		QPS: o.ClusterCacheClientQPS, Burst: o.ClusterCacheClientBurst, UserAgent: UserAgent, Timing: o.WorkloadTiming,
	})
	if err := reconciler.SetupWithManager(ctx, mgr, o.MachineConcurrency); err != nil {
		return fmt.Errorf("setting up the Machine controller: %w", err)
	}
	return setUpWebhooks(mgr, o)
}
