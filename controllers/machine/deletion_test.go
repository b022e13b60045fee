// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/machinist-dev/machinist/controllers/external"
)

var _ = DescribeTable("A deletion goes on only if it is known whether there is an InfraMachine",
	func(ctx SpecContext, change func(*scope), known, drained bool) {
		s := goingNode()
		change(s)
		Expect((&Reconciler{}).knowInfraMachine(ctx, s)).To(Equal(known))
		Expect(nodeStepsApply(s)).To(Equal(drained))
		if !known {
			Expect(s.deleting.reason).To(Equal("WaitingForInfrastructureDeletion"))
			Expect(s.deleting.message).To(HaveSuffix(": " + s.infra.problem.Error()))
		}
	},
	Entry("its kind can't be read", func(s *scope) {
		s.infra.problem = &external.KindError{Problem: external.NotSynced, Message: "forbidden"}
	}, false, false),
	Entry("reading it failed", func(s *scope) { s.infra.problem = errors.New("timeout") }, false, false),
	Entry("it does not exist", func(s *scope) { s.infra.missing = true }, true, false),
	Entry("its kind is not installed", func(s *scope) { s.infra.problem = &external.KindError{Problem: external.CRDMissing} }, true, false),
	Entry("it is somebody else's", func(s *scope) { s.infra.problem = &external.OwnedError{} }, true, false),
)
