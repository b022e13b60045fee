// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package ownwrites

import (
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
)

var _ = Describe("refused patches", func() {
	var refusals *Refusals
	BeforeEach(func() {
		refusals = &Refusals{}
		refusals.Add("a", "9")
	})

	DescribeTable("are not sent again",
		func(uid types.UID, resourceVersion string, again bool) {
			Expect(refusals.Again(uid, resourceVersion)).To(Equal(again))
		},
		Entry("while nothing newer is known", types.UID("a"), "9", true),
		Entry("but with a newer version", types.UID("a"), "10", false),
		Entry("but of another object", types.UID("b"), "9", false),
	)

	DescribeTable("are explained",
		func(uid types.UID, resourceVersion string, explained bool) {
			Expect(refusals.Explained(uid, resourceVersion)).To(Equal(explained))
			left := map[bool]int{true: 0, false: 1}[explained]
			Expect(refusals.Len()).To(Equal(left))
			Expect(refusals.Explained(uid, resourceVersion)).To(BeFalse(), "told already")
		},
		Entry("by a newer version", types.UID("a"), "10", true),
		Entry("by one that can't be compared", types.UID("a"), "x10", true),
		Entry("not by the version that they were made for, whose event may come late", types.UID("a"), "9", false),
		Entry("not by an older one", types.UID("a"), "8", false),
		Entry("not by another object's", types.UID("b"), "10", false),
	)

	It("are forgotten with the object, and with the cache", func() {
		refusals.Forget("a")
		refusals.Forget("unknown")
		Expect(refusals.Len()).To(BeZero())
		refusals.Add("b", "1")
		refusals.Clear()
		Expect(refusals.Len()).To(BeZero())
	})
})

// Whatever becomes of the event, nobody waits for ever.
func TestRefusedPatchIsTriedAgainAfterAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, refusals := NewWithT(t), &Refusals{}
		refusals.Add("a", "9")
		pass := func(d time.Duration) { <-time.After(d) }
		pass(RefusedFor - time.Second)
		g.Expect(refusals.Again("a", "9")).To(BeTrue())
		pass(2 * time.Second)
		g.Expect(refusals.Again("a", "9")).To(BeFalse())
	})
}
