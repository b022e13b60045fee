// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"crypto/tls"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/machinist-dev/machinist/webhooks/references"
)

func TestFlagGroupsHaveEachFlagOnce(t *testing.T) {
	g := NewWithT(t)
	var options Options
	seen := map[string]string{}
	for _, group := range options.FlagGroups() {
		group.Flags.VisitAll(func(flag *pflag.Flag) {
			g.Expect(seen).NotTo(HaveKey(flag.Name))
			seen[flag.Name] = group.Title
			g.Expect(flag.Usage).To(HaveSuffix("."), flag.Name)
		})
	}
	bound := pflag.NewFlagSet("", pflag.PanicOnError)
	options.FlagGroups().AddTo(bound)
	bound.VisitAll(func(flag *pflag.Flag) { g.Expect(seen).To(HaveKey(flag.Name)) })
	g.Expect(seen).To(HaveKeyWithValue("webhook-port", "Webhooks"))
}

func TestServerFlagsThatAreRefused(t *testing.T) {
	for arg, expected := range map[string]string{
		"--webhook-port=-1":               "--webhook-port must be a port, or 0 for no webhooks; found -1",
		"--webhook-port=65536":            "found 65536",
		"--webhook-service=Capital":       `--webhook-service must be the name of a Service, or its namespace and name as in machinist-system/machinist-webhook-service; found "Capital"`,
		"--webhook-service=a/b/c":         `found "a/b/c"`,
		"--webhook-service=/b":            `found "/b"`,
		"--webhook-service=":              `found ""`,
		"--tls-min-version=1.2":           `--tls-min-version must be one of [VersionTLS10 VersionTLS11 VersionTLS12 VersionTLS13], found "1.2"`,
		"--tls-cipher-suites=ROT13,ROT26": "found [ROT13 ROT26]",
		"--watch-filter=no label":         `--watch-filter must be what a label can have as its value, found "no label"`,
	} {
		t.Run(arg, func(t *testing.T) {
			g := NewWithT(t)
			options, err := parse(t, arg)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(options.Validate()).To(MatchError(ContainSubstring(expected)))
		})
	}
}

func TestModesOfReferenceValidation(t *testing.T) {
	g := NewWithT(t)
	for _, mode := range []references.Mode{references.Off, references.Warn, references.Enforce} {
		options, err := parse(t, "--reference-validation="+string(mode))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(options.ReferenceValidation).To(Equal(mode))
	}
	options, err := parse(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(options.ReferenceValidation).To(Equal(references.Warn), "the default")
	for _, value := range []string{"maybe", "", "OFF"} {
		_, err := parse(t, "--reference-validation="+value)
		g.Expect(err).To(MatchError(fmt.Sprintf(`invalid argument %q for "--reference-validation" flag: expected off, warn or enforce, found %q`, value, value)))
	}
}

func TestMetricsAreRegisteredOnce(t *testing.T) {
	g := NewWithT(t)
	named := func(labels ...string) prometheus.Collector {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "machinist_test_total", Help: "A test's."}, labels)
	}
	first := named()
	defer metrics.Registry.Unregister(first)
	g.Expect(register(first)).To(Succeed())
	g.Expect(register(named())).To(Succeed(), "that of a second manager in the process")
	g.Expect(register(named("other"))).To(MatchError(ContainSubstring("registering the metrics of *prometheus.CounterVec")))
}

func TestTLSSettings(t *testing.T) {
	g := NewWithT(t)
	options, err := parse(t, "--tls-min-version=VersionTLS13", "--tls-cipher-suites=TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(options.Validate()).To(Succeed())
	settings, err := options.tlsSettings()
	g.Expect(err).NotTo(HaveOccurred())
	config := &tls.Config{}
	settings(config)
	g.Expect(config.MinVersion).To(BeEquivalentTo(tls.VersionTLS13))
	g.Expect(config.CipherSuites).To(Equal([]uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}))
	g.Expect(diagnostics(options, settings).TLSOpts).To(HaveLen(1))
}

func TestServiceOfTheWebhooks(t *testing.T) {
	g := NewWithT(t)
	namespace, name, qualified := cutService("here/hooks")
	g.Expect([]any{namespace, name, qualified}).To(Equal([]any{"here", "hooks", true}))
	namespace, name, qualified = cutService("hooks")
	g.Expect([]any{namespace, name, qualified}).To(Equal([]any{"", "hooks", false}))
}
