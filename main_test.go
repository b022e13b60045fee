// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
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
