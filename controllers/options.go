// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/client-go/tools/leaderelection"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/machinist-dev/machinist/controllers/machine/nodesync"
	"github.com/machinist-dev/machinist/controllers/workload"
	"github.com/machinist-dev/machinist/webhooks/references"
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
	// WebhookPort is 0 if there is no webhook server.
	WebhookPort int
	WebhookHost string
	// WebhookCertDir is not used with WebhookCertRotation.
	WebhookCertDir      string
	WebhookCertRotation bool
	// WebhookService is a name, or namespace/name.
	WebhookService      string
	ReferenceValidation references.Mode
	TLSMinVersion       string
	TLSCipherSuites     []string
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
	check(len(content.IsLabelValue(o.WatchFilter)) == 0, "--watch-filter must be what a label can have as its value, found %q", o.WatchFilter)
	check(o.MachineConcurrency > 0, "--machine-concurrency must be at least 1, found %d", o.MachineConcurrency)
	check(o.SyncPeriod > 0, "--sync-period must be positive, found %s", o.SyncPeriod)
	check(o.KubeAPIQPS > 0, "--kube-api-qps must be positive, found %v", o.KubeAPIQPS)
	check(o.KubeAPIBurst > 0, "--kube-api-burst must be positive, found %d", o.KubeAPIBurst)
	check(o.ClusterCacheClientQPS > 0, "--clustercache-client-qps must be positive, found %v", o.ClusterCacheClientQPS)
	check(o.ClusterCacheClientBurst > 0, "--clustercache-client-burst must be positive, found %d", o.ClusterCacheClientBurst)
	check(o.RemoteConditionsGracePeriod >= minGracePeriod, "--remote-conditions-grace-period must be at least %s, because a lost connection is noticed only after %s; found %s",
		minGracePeriod, workload.ProbeFailures*(workload.ProbeInterval+workload.ProbeTimeout), o.RemoteConditionsGracePeriod)
	_, err := o.nodeRules()
	errs = append(errs, err, o.validateLeaderElection(), o.validateServers())
	for _, name := range slices.Sorted(maps.Keys(o.FeatureGates)) {
		check(slices.Contains(featureGates, name), "--feature-gates: there is no feature %s, expected one of %v", name, featureGates)
	}
	return errors.Join(errs...)
}

func (o *Options) validateLeaderElection() error {
	if !o.LeaderElect {
		return nil
	}
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(o.LeaderElectRetryPeriod > 0, "--leader-elect-retry-period must be positive, found %s", o.LeaderElectRetryPeriod)
	check(o.LeaderElectRenewDeadline.Seconds() > leaderelection.JitterFactor*o.LeaderElectRetryPeriod.Seconds(),
		"--leader-elect-renew-deadline must be more than %v times --leader-elect-retry-period, which is %s; found %s",
		leaderelection.JitterFactor, o.LeaderElectRetryPeriod, o.LeaderElectRenewDeadline)
	check(o.LeaderElectLeaseDuration > o.LeaderElectRenewDeadline, "--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline, which is %s: a leader must give up before another one takes over; found %s",
		o.LeaderElectRenewDeadline, o.LeaderElectLeaseDuration)
	return errors.Join(errs...)
}

// validateServers is about webhooks, what they judge, and TLS.
func (o *Options) validateServers() error {
	var errs []error
	if o.WebhookPort < 0 || o.WebhookPort > 65535 {
		errs = append(errs, fmt.Errorf("--webhook-port must be a port, or 0 for no webhooks; found %d", o.WebhookPort))
	}
	if namespace, name, qualified := cutService(o.WebhookService); len(content.IsDNS1123Label(name)) > 0 || qualified && len(content.IsDNS1123Label(namespace)) > 0 {
		errs = append(errs, fmt.Errorf("--webhook-service must be the name of a Service, or its namespace and name as in machinist-system/%s; found %q",
			defaultWebhookService, o.WebhookService))
	}
	if err := o.ReferenceValidation.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("--reference-validation: %w", err))
	}
	_, err := o.tlsSettings()
	return errors.Join(append(errs, err)...)
}

// tlsSettings changes the configuration of a TLS server to what was asked for.
func (o *Options) tlsSettings() (func(*tls.Config), error) {
	version, err := cliflag.TLSVersion(o.TLSMinVersion)
	if err != nil {
		return nil, fmt.Errorf("--tls-min-version must be one of %v, found %q", cliflag.TLSPossibleVersions(), o.TLSMinVersion)
	}
	suites, err := cliflag.TLSCipherSuites(o.TLSCipherSuites)
	if err != nil {
		return nil, fmt.Errorf("--tls-cipher-suites must be some of %v, found %v", cliflag.TLSCipherPossibleValues(), o.TLSCipherSuites)
	}
	return func(config *tls.Config) { config.MinVersion, config.CipherSuites = version, suites }, nil
}

// nodeRules tell what a Node gets from its Machine.
func (o *Options) nodeRules() (nodesync.Rules, error) {
	rules, err := nodesync.NewRules(o.AdditionalSyncMachineLabels, o.AdditionalSyncMachineAnnotations, o.FeatureGates[MachineTaintPropagation])
	if err != nil {
		return rules, fmt.Errorf("--additional-sync-machine-labels, --additional-sync-machine-annotations: %w", err)
	}
	return rules, nil
}
