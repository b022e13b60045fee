// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package accessor_test

import (
	"testing"

	"github.com/machinist-dev/machinist/apis/contract/accessor"
)

func TestPathString(t *testing.T) {
	for want, path := range map[string]accessor.Path{
		"":                                nil,
		"spec.providerID":                 {"spec", "providerID"},
		"metadata.labels[a.b/c]":          {"metadata", "labels", "a.b/c"},
		"metadata.annotations[plain.x].y": {"metadata", "annotations", "plain.x", "y"},
	} {
		if got := path.String(); got != want {
			t.Errorf("%q.String() = %q, want %q", []string(path), got, want)
		}
	}
}

func TestPathRelations(t *testing.T) {
	status := accessor.ParsePath("status")
	ready := accessor.ParsePath("status.ready")
	readyCopy := status.Append("ready")
	statusX := accessor.ParsePath("statusX.ready")
	for _, tc := range []struct {
		name                      string
		a, b                      accessor.Path
		equal, isParent, overlaps bool
	}{
		{"equal", ready, readyCopy, true, false, true},
		{"parent", status, ready, false, true, true},
		{"child", ready, status, false, false, true},
		{"common prefix of a key is no relation", status, statusX, false, false, false},
		{"siblings", ready, accessor.ParsePath("status.phase"), false, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.a.Equal(tc.b); got != tc.equal {
				t.Errorf("Equal = %t", got)
			}
			if got := tc.a.IsParentOf(tc.b); got != tc.isParent {
				t.Errorf("IsParentOf = %t", got)
			}
			if got := tc.a.Overlaps(tc.b); got != tc.overlaps {
				t.Errorf("Overlaps = %t", got)
			}
		})
	}
}

func TestPathAppendSharesNoMemory(t *testing.T) {
	base := append(make(accessor.Path, 0, 4), "status")
	first, second := base.Append("a"), base.Append("b")
	if first.String() != "status.a" || second.String() != "status.b" {
		t.Errorf("got %s and %s", first, second)
	}
}
