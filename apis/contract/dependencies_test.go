// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"os/exec"
	"strings"
	"testing"
)

// Whoever reads provider objects must not have to take controller-runtime or client-go with the facade: it depends on
// apimachinery, what apimachinery depends on, and flect.
func TestDependenciesOfTheFacade(t *testing.T) {
	const module = "github.com/machinist-dev/machinist/"
	for _, pkg := range []string{"apis/contract/...", "generated/facade"} {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", module+pkg).CombinedOutput()
		if err != nil {
			t.Fatalf("go list: %v\n%s", err, out)
		}
		dependencies := strings.Fields(string(out))
		if len(dependencies) < 10 {
			t.Fatalf("go list returned %q", out)
		}
		for _, dependency := range dependencies {
			switch {
			case strings.HasPrefix(dependency, module+"apis/contract"), dependency == module+"generated/facade":
			case strings.HasPrefix(dependency, "k8s.io/apimachinery/"):
			case strings.HasPrefix(dependency, module), strings.HasPrefix(dependency, "k8s.io/api/"),
				strings.HasPrefix(dependency, "k8s.io/client-go"), strings.HasPrefix(dependency, "k8s.io/apiextensions-apiserver"),
				strings.HasPrefix(dependency, "sigs.k8s.io/controller-"):
				t.Errorf("%s depends on %s", pkg, dependency)
			}
		}
	}
}
