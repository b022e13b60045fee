// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
	logsapi "k8s.io/component-base/logs/api/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"github.com/machinist-dev/machinist/controllers"
)

const helpHead = `Machinist runs Cluster API Machines in the management cluster that it is connected to.

Usage:
  manager [flags]

Durations are written as 90s, 10m or 1h30m.
`

// questions are flags that are answered instead of running the manager.
type questions struct{ version, help bool }

// flagGroups returns all flags, in the order of the help.
func flagGroups(options *controllers.Options, logging *logsapi.LoggingConfiguration, asked *questions) controllers.FlagGroups {
	cluster := controllers.NewFlagGroup("Management cluster")
	cluster.Flags.AddGoFlag(flag.Lookup(config.KubeconfigFlagName)) // of controller-runtime
	kubeconfig := cluster.Flags.Lookup(config.KubeconfigFlagName)
	kubeconfig.Usage = "The `file` with the access to the management cluster. If empty: the files that KUBECONFIG names, separated as in PATH; " +
		"if that is empty, too, the service account of the manager's pod; outside of a pod ~/.kube/config. Of a file the current context is used."
	general := controllers.NewFlagGroup("General")
	general.Flags.BoolVar(&asked.version, "version", false, "Print the version and exit.")
	general.Flags.BoolVarP(&asked.help, "help", "h", false, "Print this and exit.")
	groups := append(controllers.FlagGroups{cluster}, options.FlagGroups()...)
	return append(groups, loggingGroup(logging), general)
}

// alphaFlags need a feature gate of component-base that isn't turned on here: they are accepted only with their defaults.
var alphaFlags = []string{"log-text-split-stream", "log-text-info-buffer-size", "log-json-split-stream", "log-json-info-buffer-size"}

func loggingGroup(logging *logsapi.LoggingConfiguration) controllers.FlagGroup {
	group := controllers.NewFlagGroup("Logging")
	logging.Verbosity = 2
	logsapi.AddFlags(logging, group.Flags)
	for _, name := range alphaFlags {
		group.Flags.Lookup(name).Hidden = true
	}
	for name, usage := range map[string]string{
		"v":                          "How much is logged: `level` 0 is least, 2 is what happens, 4 and more is for developers.",
		"vmodule":                    "Other levels for some files, as `pattern=level`, separated by commas; only with --logging-format=text.",
		"logging-format":             "The `format` of the log: text or json.",
		logsapi.LogFlushFreqFlagName: "Longest `time` until what was logged is written.",
	} {
		group.Flags.Lookup(name).Usage = usage
	}
	return group
}

// printHelp wraps lines at that width, unless it is 0.
func printHelp(w io.Writer, width int, groups []controllers.FlagGroup) {
	fmt.Fprint(w, helpHead)
	for _, group := range groups {
		fmt.Fprintf(w, "\n%s:\n%s", group.Title, group.Flags.FlagUsagesWrapped(width))
	}
}

// terminalWidth returns the number of columns, 0 if the file isn't a terminal, or one that is too narrow for columns of text.
func terminalWidth(file *os.File) int {
	const narrow = 60
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil || width < narrow {
		return 0
	}
	return width
}
