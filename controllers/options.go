// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/leaderelection"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/machinist-dev/machinist/controllers/machine/nodesync"
	"github.com/machinist-dev/machinist/controllers/workload"
)

// Options configure the manager and its controllers. Flags are named, and by default set, as those of Cluster API's
// core manager, so that the arguments of a deployment carry over if their features exist here.
type Options struct {
	LeaderElect                 bool
	LeaderElectLeaseDuration    time.Duration
	LeaderElectRenewDeadline    time.Duration
	LeaderElectRetryPeriod      time.Duration
	LeaderElectNamespace        string
	Namespace                   string
	WatchFilter                 string
	MachineConcurrency          int
	SyncPeriod                  time.Duration
	KubeAPIQPS                  float32
	KubeAPIBurst                int
	ClusterCacheClientQPS       float32
	ClusterCacheClientBurst     int
	RemoteConditionsGracePeriod time.Duration
	HealthAddress               string
	DiagnosticsAddress          string
	InsecureDiagnostics         bool
	ProfilerAddress             string
	ContentionProfiling         bool
	// AdditionalSyncMachineLabels and AdditionalSyncMachineAnnotations are regular expressions.
	AdditionalSyncMachineLabels      []string
	AdditionalSyncMachineAnnotations []string
	// FeatureGates are the features that are turned on or off, by name.
	FeatureGates map[string]bool
	// WorkloadTiming has no flag; it is for tests.
	WorkloadTiming workload.Timing
}

// MachineTaintPropagation is the feature that a Node gets the taints in spec.taints of its Machine. It is off by default.
const MachineTaintPropagation = "MachineTaintPropagation"

// featureGates are all that there are.
var featureGates = []string{MachineTaintPropagation}

// BindFlags adds the flags to the set; their defaults are those of Cluster API's core manager.
func (o *Options) BindFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&o.LeaderElect, "leader-elect", false,
		"Run only while holding a Lease, so that of several replicas one is active at a time.")
	fs.DurationVar(&o.LeaderElectLeaseDuration, "leader-elect-lease-duration", 15*time.Second,
		"Time after which a replica that isn't the leader may take over a Lease that was not renewed.")
	fs.DurationVar(&o.LeaderElectRenewDeadline, "leader-elect-renew-deadline", 10*time.Second,
		"Time for which the leader tries to renew its Lease before it gives up and exits.")
	fs.DurationVar(&o.LeaderElectRetryPeriod, "leader-elect-retry-period", 2*time.Second,
		"Time between two attempts to get or renew the Lease.")
	fs.StringVar(&o.LeaderElectNamespace, "leader-elect-resource-namespace", "",
		"Namespace of the Lease; that of the manager's pod if empty. Needed outside of a cluster.")
	fs.StringVar(&o.Namespace, "namespace", "",
		"Namespace whose Machines are reconciled; all namespaces if empty.")
	fs.StringVar(&o.WatchFilter, "watch-filter", "",
		"Value of the label cluster.x-k8s.io/watch-filter that a Machine must have to be reconciled; any Machine if empty.")
	fs.IntVar(&o.MachineConcurrency, "machine-concurrency", 100,
		"Number of Machines that are reconciled at the same time.")
	fs.DurationVar(&o.SyncPeriod, "sync-period", 10*time.Minute,
		"Time after which every Machine is reconciled again although nothing changed.")
	fs.Float32Var(&o.KubeAPIQPS, "kube-api-qps", 100,
		"Requests per second to the management cluster, on average.")
	fs.IntVar(&o.KubeAPIBurst, "kube-api-burst", 200,
		"Requests to the management cluster that may exceed --kube-api-qps for a moment.")
	fs.Float32Var(&o.ClusterCacheClientQPS, "clustercache-client-qps", 20,
		"Requests per second to each workload cluster, on average.")
	fs.IntVar(&o.ClusterCacheClientBurst, "clustercache-client-burst", 30,
		"Requests to each workload cluster that may exceed --clustercache-client-qps for a moment.")
	fs.DurationVar(&o.RemoteConditionsGracePeriod, "remote-conditions-grace-period", 5*time.Minute,
		"Time after the last successful probe of a workload cluster after which conditions about its Nodes become Unknown; at least 2m.")
	fs.StringSliceVar(&o.AdditionalSyncMachineLabels, "additional-sync-machine-labels", nil,
		"Regular expressions, separated by commas: labels of a Machine whose key matches one of them are set on its Node, too.")
	fs.StringSliceVar(&o.AdditionalSyncMachineAnnotations, "additional-sync-machine-annotations", nil,
		"Regular expressions, separated by commas: annotations of a Machine whose key matches one of them are set on its Node, too.")
	fs.Var(cliflag.NewMapStringBool(&o.FeatureGates), "feature-gates",
		"Features to turn on or off, as name=true|false, separated by commas. There is one: "+MachineTaintPropagation+", alpha, off by default.")
	fs.StringVar(&o.HealthAddress, "health-addr", ":9440",
		"Address that serves /healthz and /readyz.")
	fs.StringVar(&o.DiagnosticsAddress, "diagnostics-address", ":8443",
		"Address that serves /metrics and /debug/pprof, by HTTPS and to authenticated and authorized clients; 0 turns it off.")
	fs.BoolVar(&o.InsecureDiagnostics, "insecure-diagnostics", false,
		"Serve only /metrics on --diagnostics-address, by HTTP and to anybody.")
	fs.StringVar(&o.ProfilerAddress, "profiler-address", "",
		"Address that serves /debug/pprof by HTTP and to anybody, for example localhost:6060; off if empty.")
	fs.BoolVar(&o.ContentionProfiling, "contention-profiling", false,
		"Record where goroutines block, for /debug/pprof/block.")
}

// minGracePeriod is how long it may take until a broken connection is noticed: the probes that must fail, each after its
// interval and with its timeout, and some time on top.
const minGracePeriod = 2 * time.Minute

// Validate returns all that is wrong with the options, each with the flag to correct.
func (o *Options) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(o.MachineConcurrency > 0, "--machine-concurrency must be at least 1, found %d", o.MachineConcurrency)
	check(o.SyncPeriod > 0, "--sync-period must be positive, found %s", o.SyncPeriod)
	if o.LeaderElect {
		check(o.LeaderElectRetryPeriod > 0, "--leader-elect-retry-period must be positive, found %s", o.LeaderElectRetryPeriod)
		check(o.LeaderElectRenewDeadline.Seconds() > leaderelection.JitterFactor*o.LeaderElectRetryPeriod.Seconds(),
			"--leader-elect-renew-deadline must be more than %v times --leader-elect-retry-period, which is %s; found %s",
			leaderelection.JitterFactor, o.LeaderElectRetryPeriod, o.LeaderElectRenewDeadline)
		check(o.LeaderElectLeaseDuration > o.LeaderElectRenewDeadline, "--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline, which is %s: a leader must give up before another one takes over; found %s",
			o.LeaderElectRenewDeadline, o.LeaderElectLeaseDuration)
	}
	check(o.KubeAPIQPS > 0, "--kube-api-qps must be positive, found %v", o.KubeAPIQPS)
	check(o.KubeAPIBurst > 0, "--kube-api-burst must be positive, found %d", o.KubeAPIBurst)
	check(o.ClusterCacheClientQPS > 0, "--clustercache-client-qps must be positive, found %v", o.ClusterCacheClientQPS)
	check(o.ClusterCacheClientBurst > 0, "--clustercache-client-burst must be positive, found %d", o.ClusterCacheClientBurst)
	check(o.RemoteConditionsGracePeriod >= minGracePeriod, "--remote-conditions-grace-period must be at least %s, because a lost connection is noticed only after %s; found %s",
		minGracePeriod, workload.ProbeFailures*(workload.ProbeInterval+workload.ProbeTimeout), o.RemoteConditionsGracePeriod)
	_, err := o.nodeRules()
	errs = append(errs, err)
	for _, name := range slices.Sorted(maps.Keys(o.FeatureGates)) {
		check(slices.Contains(featureGates, name), "--feature-gates: there is no feature %s, expected one of %v", name, featureGates)
	}
	return errors.Join(errs...)
}

// nodeRules tell what a Node gets from its Machine.
func (o *Options) nodeRules() (nodesync.Rules, error) {
	rules, err := nodesync.NewRules(o.AdditionalSyncMachineLabels, o.AdditionalSyncMachineAnnotations, o.FeatureGates[MachineTaintPropagation])
	if err != nil {
		return rules, fmt.Errorf("--additional-sync-machine-labels, --additional-sync-machine-annotations: %w", err)
	}
	return rules, nil
}
