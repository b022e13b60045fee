// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/machinist-dev/machinist/webhooks/references"
)

// FlagGroup is what stands under one heading of the help.
type FlagGroup struct {
	Title string
	Flags *pflag.FlagSet
}

// FlagGroups are several, in the order of the help.
type FlagGroups []FlagGroup

// AddTo adds the flags of all groups to the set.
func (g FlagGroups) AddTo(fs *pflag.FlagSet) {
	for _, group := range g {
		fs.AddFlagSet(group.Flags)
	}
}

// NewFlagGroup returns a group without flags, which stay in the order in which they are added.
func NewFlagGroup(title string) FlagGroup {
	flags := pflag.NewFlagSet(title, pflag.ContinueOnError)
	flags.SortFlags = false
	return FlagGroup{title, flags}
}

// FlagGroups returns all flags by what they are about. It sets the options to the defaults, which are those of Cluster API's core
// manager.
func (o *Options) FlagGroups() FlagGroups {
	var groups FlagGroups
	for _, group := range []struct {
		title string
		bind  func(*pflag.FlagSet)
	}{
		{"What is reconciled", o.bindScope},
		{"Requests to API servers", o.bindClients},
		{"Nodes", o.bindNodes},
		{"Leader election", o.bindLeaderElection},
		{"Webhooks", o.bindWebhooks},
		{"Health, metrics, profiles", o.bindDiagnostics},
		{"TLS of the webhooks and of the diagnostics", o.bindTLS},
	} {
		bound := NewFlagGroup(group.title)
		group.bind(bound.Flags)
		groups = append(groups, bound)
	}
	return groups
}

func (o *Options) bindScope(fs *pflag.FlagSet) {
	fs.StringVar(&o.Namespace, "namespace", "",
		"The `namespace` whose Machines are reconciled; all namespaces if empty.")
	fs.StringVar(&o.WatchFilter, "watch-filter", "",
		"The `value` of the label cluster.x-k8s.io/watch-filter that a Machine must have to be reconciled, and to be kept in memory; any Machine if empty.")
	fs.IntVar(&o.MachineConcurrency, "machine-concurrency", 100,
		"The `number` of Machines that are reconciled at the same time.")
	fs.DurationVar(&o.SyncPeriod, "sync-period", 10*time.Minute,
		"The `time` after which all Machines are reconciled again, from memory; for example 10m or 1h30m.")
	fs.Var(cliflag.NewMapStringBool(&o.FeatureGates), "feature-gates",
		"Features to turn on or off, as `name=true|false`, separated by commas. There is one: "+MachineTaintPropagation+", alpha, off by default.")
}

func (o *Options) bindClients(fs *pflag.FlagSet) {
	fs.Float32Var(&o.KubeAPIQPS, "kube-api-qps", 100,
		"Average number of `requests` per second to the management cluster, for each client of the manager.")
	fs.IntVar(&o.KubeAPIBurst, "kube-api-burst", 200,
		"Number of `requests` to the management cluster that may exceed --kube-api-qps for a moment.")
	fs.Float32Var(&o.ClusterCacheClientQPS, "clustercache-client-qps", 20,
		"Average number of `requests` per second to each workload cluster.")
	fs.IntVar(&o.ClusterCacheClientBurst, "clustercache-client-burst", 30,
		"Number of `requests` to each workload cluster that may exceed --clustercache-client-qps for a moment.")
}

func (o *Options) bindNodes(fs *pflag.FlagSet) {
	fs.DurationVar(&o.RemoteConditionsGracePeriod, "remote-conditions-grace-period", 5*time.Minute,
		"The `time` after the last successful probe of a workload cluster after which conditions about its Nodes become Unknown; at least 2m.")
	fs.StringSliceVar(&o.AdditionalSyncMachineLabels, "additional-sync-machine-labels", nil,
		"Regular `expressions`, separated by commas: labels of a Machine whose key matches one of them are set on its Node, too.")
	fs.StringSliceVar(&o.AdditionalSyncMachineAnnotations, "additional-sync-machine-annotations", nil,
		"Regular `expressions`, separated by commas: annotations of a Machine whose key matches one of them are set on its Node, too.")
}

func (o *Options) bindLeaderElection(fs *pflag.FlagSet) {
	fs.BoolVar(&o.LeaderElect, "leader-elect", false,
		"Reconcile only while holding a Lease, so that of several replicas one is active at a time. The others keep their caches filled, and answer webhooks.")
	fs.DurationVar(&o.LeaderElectLeaseDuration, "leader-elect-lease-duration", 15*time.Second,
		"The `time` after which a replica that isn't the leader may take over a Lease that was not renewed.")
	fs.DurationVar(&o.LeaderElectRenewDeadline, "leader-elect-renew-deadline", 10*time.Second,
		"The `time` for which the leader tries to renew its Lease before it gives up and exits.")
	fs.DurationVar(&o.LeaderElectRetryPeriod, "leader-elect-retry-period", 2*time.Second,
		"The `time` between two attempts to get or renew the Lease.")
	fs.StringVar(&o.LeaderElectNamespace, "leader-elect-resource-namespace", "",
		"The `namespace` of the Lease; that of the manager's pod if empty. Needed outside of a pod.")
}

func (o *Options) bindWebhooks(fs *pflag.FlagSet) {
	fs.IntVar(&o.WebhookPort, "webhook-port", 9443,
		"The `port` of the webhook server; 0 for none.")
	fs.StringVar(&o.WebhookHost, "webhook-host", "",
		"The `address` that the webhook server listens on; all addresses if empty.")
	fs.StringVar(&o.WebhookCertDir, "webhook-cert-dir", "/tmp/k8s-webhook-server/serving-certs/",
		"The `folder` with the webhook server's certificate and key, tls.crt and tls.key. They are read again when they change.")
	fs.BoolVar(&o.WebhookCertRotation, "webhook-cert-rotation", false,
		"Make certificate and authority instead, keep them in the Secret <webhook-service>-cert, renew them in time, and tell the API server.")
	fs.StringVar(&o.WebhookService, "webhook-service", defaultWebhookService,
		"Service of the webhooks, for --webhook-cert-rotation: its `name`, or namespace/name outside of a pod.")
	o.ReferenceValidation = references.Warn
	fs.Var(&o.ReferenceValidation, "reference-validation",
		fmt.Sprintf("What becomes of a Machine whose references can't be right, as `mode`: %s, %s, %s.", references.Off, references.Warn, references.Enforce))
}

func (o *Options) bindDiagnostics(fs *pflag.FlagSet) {
	fs.StringVar(&o.HealthAddress, "health-addr", ":9440",
		"The `address` that serves /healthz and /readyz.")
	fs.StringVar(&o.DiagnosticsAddress, "diagnostics-address", ":8443",
		"The `address` that serves /metrics and /debug/pprof, by HTTPS and to authenticated and authorized clients; 0 turns it off.")
	fs.BoolVar(&o.InsecureDiagnostics, "insecure-diagnostics", false,
		"Serve only /metrics on --diagnostics-address, by HTTP and to anybody.")
	fs.StringVar(&o.ProfilerAddress, "profiler-address", "",
		"The `address` that serves /debug/pprof by HTTP and to anybody, for example localhost:6060; off if empty.")
	fs.BoolVar(&o.ContentionProfiling, "contention-profiling", false,
		"Record where goroutines block, for /debug/pprof/block.")
}

func (o *Options) bindTLS(fs *pflag.FlagSet) {
	fs.StringVar(&o.TLSMinVersion, "tls-min-version", "VersionTLS12",
		"Lowest `version` that is accepted: "+strings.Join(cliflag.TLSPossibleVersions(), ", ")+".")
	fs.StringSliceVar(&o.TLSCipherSuites, "tls-cipher-suites", nil,
		"Cipher `suites` for TLS 1.2 and below, separated by commas; Go's own choice if empty. Those of TLS 1.3 can't be chosen. Good ones: "+
			strings.Join(cliflag.PreferredTLSCipherNames(), ", ")+".")
}
