// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

func TestLeaseOfWatchFilter(t *testing.T) {
	seen := map[string]string{}
	for _, filter := range []string{"", "shard-0", "shard-1", "a.b", "Shard-0", "shard_0", "a..b", strings.Repeat("x", 63)} {
		name := (&Options{WatchFilter: filter}).leaseName()
		if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
			t.Errorf("%q: %s: %v", filter, name, problems)
		}
		if other, ok := seen[name]; ok {
			t.Errorf("%q and %q have the Lease %s in common", filter, other, name)
		}
		seen[name] = filter
	}
	if got := (&Options{}).leaseName(); got != "controller-leader-election-machinist" {
		t.Errorf("without a filter: got %s", got)
	}
	if got := (&Options{WatchFilter: "shard-0"}).leaseName(); got != "controller-leader-election-machinist-shard-0" {
		t.Errorf("got %s", got)
	}
}
