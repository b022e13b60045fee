// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package builder_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/machinist-dev/machinist/test/builder"
)

func TestBuildersAreImmutable(t *testing.T) {
	machine := builder.Machine("default", "a").WithLabel("k", "v")
	before := machine.Build()
	machine.WithLabel("other", "x").WithAnnotation("a", "b").WithFinalizer("f").WithProviderID("p").WithControlPlane()
	machine.Build().Labels["leaked"] = "yes"
	if diff := cmp.Diff(before, machine.Build()); diff != "" {
		t.Errorf("the shared builder changed:\n%s", diff)
	}
	cluster := builder.Cluster("default", "c").WithAnnotation("k", "v")
	unchanged := cluster.Build()
	cluster.WithPaused(true).WithControlPlaneInitialized(true).WithLabel("k", "v")
	if diff := cmp.Diff(unchanged, cluster.Build()); diff != "" {
		t.Errorf("the shared builder changed:\n%s", diff)
	}
}
