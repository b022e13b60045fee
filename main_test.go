// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/machinist-dev/machinist/controllers"
)

// A flag that is true or false takes no argument of its own: what follows it would be ignored, and the flag be true.
func TestStrayArgument(t *testing.T) {
	for _, args := range [][]string{{"start"}, {"--insecure-diagnostics", "false"}} {
		err := run(t.Context(), args)
		if err == nil || !strings.Contains(err.Error(), "unexpected argument \""+args[len(args)-1]+"\": there are only flags") {
			t.Errorf("%q: got %v", args, err)
		}
	}
}

func helpOf(t *testing.T, width int) string {
	t.Helper()
	var options controllers.Options
	var asked questions
	var help bytes.Buffer
	printHelp(&help, width, flagGroups(&options, logsapi.NewLoggingConfiguration(), &asked))
	return help.String()
}

func TestHelp(t *testing.T) {
	g := NewWithT(t)
	help := helpOf(t, 0)
	for name, line := range map[string]string{
		"a default that isn't the library's": `-v, --v level .*\(default 2\)`,
		"all places of the access":           `--kubeconfig file .*KUBECONFIG.*service account.*~/\.kube/config`,
		"a unit":                             `--kube-api-qps requests .*per second.*\(default 100\)`,
		"modes":                              `--reference-validation mode .*off, warn, enforce.*\(default warn\)`,
		"how to do without webhooks":         `--webhook-port port .*0 for none.*\(default 9443\)`,
		"help itself":                        `-h, --help `,
	} {
		g.Expect(help).To(MatchRegexp("(?m)^ +"+line), name)
	}
	g.Expect(help).NotTo(ContainSubstring("log-json-split-stream"), "what can't be set")
	g.Expect(help).NotTo(ContainSubstring("test.timeout"), "flags of others")

	at := 0
	for _, title := range []string{"Management cluster", "What is reconciled", "Leader election", "Webhooks", "Logging", "General"} {
		next := strings.Index(help, "\n"+title+":\n")
		g.Expect(next).To(BeNumerically(">", at), title)
		at = next
	}
}

func TestHelpFitsTheTerminal(t *testing.T) {
	const width = 100
	const slop = 5 // a short rest of a text stays on its line
	for line := range strings.Lines(helpOf(t, width)) {
		if len(line) > width+slop+len("\n") {
			t.Errorf("longer than %d columns: %s", width, line)
		}
	}
}

// unreachable is a kubeconfig of an API server that isn't there.
func unreachable(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	content := `{"apiVersion": "v1", "kind": "Config", "current-context": "c",
		"contexts": [{"name": "c", "context": {"cluster": "c"}}],
		"clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}]}`
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// What goes wrong outside of a pod names the flag that mends it. The logging configuration can be applied once in a process.
func TestOutsideOfAPod(t *testing.T) {
	reapply := logsapi.ReapplyHandling
	logsapi.ReapplyHandling = logsapi.ReapplyHandlingIgnoreUnchanged
	t.Cleanup(func() { logsapi.ReapplyHandling = reapply })
	for name, c := range map[string]struct {
		args     []string
		expected string
	}{
		"election":           {[]string{"--leader-elect", "--webhook-port=0"}, "set --leader-elect-resource-namespace"},
		"rotation":           {[]string{"--webhook-cert-rotation"}, "set --webhook-service=NAMESPACE/machinist-webhook-service"},
		"no certificate":     {[]string{"--webhook-cert-dir=" + t.TempDir()}, "--webhook-port=0"},
		"alpha log settings": {[]string{"--log-json-split-stream"}, "LoggingAlphaOptions"},
		"unknown flag":       {[]string{"--no-such-flag"}, "--help lists all flags"},
	} {
		t.Run(name, func(t *testing.T) {
			err := run(t.Context(), append(c.args, "--kubeconfig="+unreachable(t)))
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(c.expected)))
		})
	}
}
