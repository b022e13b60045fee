// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

func TestValidateLeaderElection(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*Options)
		outcome gomegatypes.GomegaMatcher
	}{
		"the defaults": {func(*Options) {}, Succeed()},
		"a Lease that ends before its leader gives up": {
			func(o *Options) { o.LeaderElectLeaseDuration = o.LeaderElectRenewDeadline },
			MatchError(ContainSubstring("--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline, which is 10s")),
		},
		"a deadline without time for a second attempt": {
			func(o *Options) { o.LeaderElectRetryPeriod = 9 * time.Second },
			MatchError(ContainSubstring("--leader-elect-renew-deadline must be more than 1.2 times --leader-elect-retry-period, which is 9s")),
		},
		"no time between attempts": {
			func(o *Options) { o.LeaderElectRetryPeriod = 0 },
			MatchError(ContainSubstring("--leader-elect-retry-period must be positive, found 0s")),
		},
		"anything without an election": {
			func(o *Options) { o.LeaderElect, o.LeaderElectRetryPeriod = false, 0 },
			Succeed(),
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var options Options
			options.FlagGroups()
			options.LeaderElect = true
			c.change(&options)
			g.Expect(options.Validate()).To(c.outcome)
		})
	}
}

func TestLeaderElectionConfig(t *testing.T) {
	g := NewWithT(t)
	busy := &rest.Config{Host: "here", QPS: 1, Burst: 1, RateLimiter: flowcontrol.NewFakeNeverRateLimiter()}
	own := leaderElectionConfig(busy)
	g.Expect(own.Host).To(Equal("here"))
	g.Expect(own.RateLimiter).To(BeNil())
	g.Expect(own.QPS).To(BeNumerically("<", 0), "no limit")
	g.Expect(own.Dial).NotTo(BeNil(), "a connection of its own")
	g.Expect(busy.Dial).To(BeNil())
}
