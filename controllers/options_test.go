// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"

	"github.com/machinist-dev/machinist/webhooks/references"
)

// parse returns the options that come of arguments.
func parse(t *testing.T, args ...string) (Options, error) {
	t.Helper()
	var options Options
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	options.FlagGroups().AddTo(flags)
	return options, flags.Parse(args)
}

func TestFlagsOfNodes(t *testing.T) {
	g := NewWithT(t)
	options, err := parse(t,
		"--additional-sync-machine-labels=^a/,b", "--additional-sync-machine-labels=c", "--additional-sync-machine-annotations=d",
		"--feature-gates=MachineTaintPropagation=true")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(options.Validate()).To(Succeed())
	g.Expect(options.AdditionalSyncMachineLabels).To(Equal([]string{"^a/", "b", "c"}))
	g.Expect(options.AdditionalSyncMachineAnnotations).To(Equal([]string{"d"}))
	g.Expect(options.FeatureGates).To(Equal(map[string]bool{MachineTaintPropagation: true}))
}

func TestFlagsOfNodesThatAreRefused(t *testing.T) {
	for arg, expected := range map[string]string{
		"--additional-sync-machine-labels=(":      `expressions for labels: "(" is no regular expression`,
		"--additional-sync-machine-annotations=(": `expressions for annotations: "(" is no regular expression`,
		"--feature-gates=MachinePool=true":        "--feature-gates: there is no feature MachinePool, expected one of [MachineTaintPropagation]",
		"--feature-gates=MachinePool=false":       "--feature-gates: there is no feature MachinePool, expected one of [MachineTaintPropagation]",
	} {
		t.Run(arg, func(t *testing.T) {
			g := NewWithT(t)
			options, err := parse(t, arg)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(options.Validate()).To(MatchError(ContainSubstring(expected)))
		})
	}
	for _, arg := range []string{"--feature-gates=MachineTaintPropagation=maybe", "--feature-gates=MachineTaintPropagation"} {
		_, err := parse(t, arg)
		NewWithT(t).Expect(err).To(HaveOccurred(), arg)
	}
}

// No flag sets such a mode, but whoever builds Options in Go may.
func TestModesThatAreRefused(t *testing.T) {
	for _, mode := range []references.Mode{"", "maybe", "OFF"} {
		t.Run(string(mode), func(t *testing.T) {
			g := NewWithT(t)
			options, err := parse(t)
			g.Expect(err).NotTo(HaveOccurred())
			options.ReferenceValidation = mode
			g.Expect(options.Validate()).To(MatchError(fmt.Sprintf("--reference-validation: expected off, warn or enforce, found %q", mode)))
		})
	}
}

func TestDefaultOptionsAreValid(t *testing.T) {
	g := NewWithT(t)
	options, err := parse(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(options.Validate()).To(Succeed())
	g.Expect(options.FeatureGates).To(BeEmpty())
}
