// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package ownwrites

import (
	"slices"
	"strconv"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

var _ = Describe("own writes", func() {
	var memory *Memory[string]
	BeforeEach(func() { memory = &Memory[string]{} })

	write := func(uid types.UID, from, to string) {
		memory.Begin(uid)
		memory.Record(uid, from, to, "as written")
		Expect(memory.End(uid)).To(BeFalse())
	}
	newest := func(uid types.UID, cached string) string {
		if latest, ok := memory.Newest(uid, cached); ok {
			return latest
		}
		return "as cached"
	}

	Describe("and the events that they cause", func() {
		It("are told from other changes", func() {
			Expect(memory.Changed("a", "1", "2")).To(BeFalse(), "nothing written yet")
			memory.Begin("a")
			memory.Record("a", "2", "3", "x")
			memory.Record("a", "4", "5", "x")
			memory.End("a")
			Expect(memory.Changed("a", "2", "3")).To(BeTrue())
			Expect(memory.Changed("b", "2", "3")).To(BeFalse(), "another object's")
			Expect(memory.Changed("a", "3", "4")).To(BeFalse(), "somebody else's, between ours")
			Expect(memory.Changed("a", "3", "5")).To(BeFalse(), "somebody else's and ours in one event")
		})

		It("are ours also if they come before the answer", func() {
			memory.Begin("a")
			Expect(memory.Changed("a", "1", "2")).To(BeTrue())
			memory.Record("a", "1", "2", "x")
			Expect(memory.End("a")).To(BeFalse())
			Expect(memory.Len()).To(BeZero(), "the cache has it")
		})

		It("wake nobody before End, which tells of those that were not ours", func() {
			memory.Begin("a")
			Expect(memory.Changed("a", "1", "2")).To(BeTrue())
			memory.Record("a", "2", "3", "x")
			Expect(memory.Changed("a", "2", "3")).To(BeTrue())
			Expect(memory.End("a")).To(BeTrue())
			Expect(memory.Changed("a", "3", "4")).To(BeFalse(), "after End")
		})

		It("are held until the last writer is done", func() {
			memory.Begin("a")
			memory.Begin("a")
			Expect(memory.Changed("a", "1", "2")).To(BeTrue())
			Expect(memory.End("a")).To(BeFalse())
			Expect(memory.Changed("a", "2", "3")).To(BeTrue())
			Expect(memory.End("a")).To(BeTrue())
		})

		It("do not come from a write that changed nothing, nor from one with others in between", func() {
			write("a", "2", "2")
			Expect(memory.Changed("a", "2", "2")).To(BeFalse(), "as a resync would look")
			write("a", "", "4")
			Expect(newest("a", "3")).To(Equal("as written"))
			Expect(memory.Changed("a", "2", "4")).To(BeFalse())
		})
	})

	DescribeTable("the newest version after a write of version 9 that the cache has not told of",
		func(uid types.UID, cached, expected string) {
			write("a", "8", "9")
			Expect(newest(uid, cached)).To(Equal(expected))
		},
		Entry("cache behind", types.UID("a"), "8", "as written"),
		Entry("cache far behind", types.UID("a"), "1", "as written"),
		Entry("cache has it", types.UID("a"), "9", "as cached"),
		Entry("cache ahead, by a version of more digits", types.UID("a"), "10", "as cached"),
		Entry("an object of the same name that came after it", types.UID("b"), "7", "as cached"),
		Entry("a version that can't be compared", types.UID("a"), "x8", "as cached"),
	)

	Describe("memory", func() {
		It("holds nothing that the cache has", func() {
			write("a", "1", "3")
			memory.Changed("a", "1", "2")
			memory.Changed("b", "1", "3")
			Expect(memory.Len()).To(Equal(1), "an older version, and another object, have reached the cache")
			memory.Changed("a", "3", "4")
			Expect(memory.Len()).To(BeZero())
		})

		It("holds nothing of an object that is gone, whenever that becomes known", func() {
			write("a", "1", "2")
			memory.Forget("a")
			memory.Forget("unknown")
			Expect(memory.Len()).To(BeZero())

			memory.Begin("a")
			memory.Forget("a")
			memory.Record("a", "1", "2", "x")
			Expect(newest("a", "1")).To(Equal("as cached"))
			memory.End("a")
			Expect(memory.Len()).To(BeZero())

			write("a", "1", "2")
			memory.Begin("b")
			memory.Clear()
			memory.Record("b", "1", "2", "x")
			memory.End("b")
			Expect(memory.Len()).To(BeZero())
		})

		It("holds nothing of an object that was not written to", func() {
			memory.Begin("a")
			memory.End("a")
			Expect(memory.Len()).To(BeZero())
		})
	})

	It("wake somebody for each change of others, and for no other, in whatever order answers and events come", func() {
		rapid.Check(GinkgoT(), func(t *rapid.T) {
			memory := &Memory[int]{}
			byUs := rapid.SliceOfN(rapid.Bool(), 1, 8).Draw(t, "written by us")
			foreign := slices.Contains(byUs, false)
			told, woken := 0, false
			memory.Begin("a")
			tell := func(upTo int) {
				for told < upTo {
					told++
					woken = !memory.Changed("a", strconv.Itoa(told-1), strconv.Itoa(told)) || woken
				}
			}
			for i, ours := range byUs {
				if ours {
					// The event of a write may come before its answer, and those of later changes can't.
					tell(rapid.IntRange(told, i+1).Draw(t, "events"))
					memory.Record("a", strconv.Itoa(i), strconv.Itoa(i+1), i)
				}
			}
			woken = memory.End("a") || woken
			tell(len(byUs))
			if woken != foreign {
				t.Fatalf("woken is %v, expected %v", woken, foreign)
			}
			if memory.Len() != 0 {
				t.Fatalf("something is remembered of %d objects, expected none", memory.Len())
			}
		})
	})

	It("can be used by several workers and the informer at once", func() {
		var all sync.WaitGroup
		for worker := range 8 {
			all.Go(func() {
				uid := types.UID(strconv.Itoa(worker % 4))
				for i := range 200 {
					memory.Begin(uid)
					memory.Record(uid, strconv.Itoa(i), strconv.Itoa(i+1), "x")
					memory.Newest(uid, strconv.Itoa(i))
					memory.Changed(uid, strconv.Itoa(i), strconv.Itoa(i+1))
					memory.End(uid)
				}
				memory.Forget(uid)
			})
		}
		all.Wait()
		Expect(memory.Len()).To(BeZero())
	})
})
