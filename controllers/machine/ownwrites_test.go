// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"strconv"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

var _ = Describe("our own writes", func() {
	var writes *ownWrites
	BeforeEach(func() { writes = &ownWrites{} })

	version := func(uid types.UID, resourceVersion string) *clusterv1.Machine {
		return &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{UID: uid, ResourceVersion: resourceVersion, Labels: map[string]string{"as": "written"}}}
	}
	// cached is what comes out of the cache, to be told from what was written.
	cached := func(uid types.UID, resourceVersion string) *clusterv1.Machine {
		return &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{UID: uid, ResourceVersion: resourceVersion, Labels: map[string]string{"as": "cached"}}}
	}

	Describe("and the events that they cause", func() {
		It("are told from other changes", func() {
			Expect(writes.caused("a", "1", "2")).To(BeFalse(), "nothing written yet")
			writes.record("1", version("a", "2"))
			Expect(writes.caused("a", "1", "2")).To(BeTrue())
			Expect(writes.caused("a", "1", "2")).To(BeTrue(), "a resync may repeat it")
			Expect(writes.caused("a", "2", "3")).To(BeFalse(), "somebody else's, right after ours")
			Expect(writes.caused("a", "0", "2")).To(BeFalse(), "somebody else's and ours in one event")
			Expect(writes.caused("b", "1", "2")).To(BeFalse(), "another Machine's")
		})

		It("are remembered for as many writes as a reconcile makes", func() {
			writes.record("1", version("a", "2"))
			writes.record("2", version("a", "3"))
			writes.record("3", version("a", "4"))
			for from := 1; from <= 3; from++ {
				Expect(writes.caused("a", strconv.Itoa(from), strconv.Itoa(from+1))).To(BeTrue(), "from %d", from)
			}
			Expect(writes.caused("a", "1", "3")).To(BeFalse(), "two of ours in one event may hide a third one's")
			writes.record("9", version("a", "10"))
			Expect(writes.caused("a", "1", "2")).To(BeFalse(), "long ago")
		})

		It("are remembered when the cache has caught up, as its handlers run later", func() {
			writes.record("1", version("a", "2"))
			writes.observed(version("a", "2"))
			Expect(writes.caused("a", "1", "2")).To(BeTrue())
		})

		It("do not come from a write that changed nothing", func() {
			writes.record("1", version("a", "2"))
			writes.record("2", version("a", "2"))
			Expect(writes.caused("a", "2", "2")).To(BeFalse(), "as a resync would look")
			Expect(writes.caused("a", "1", "2")).To(BeTrue())
		})

		It("are forgotten with the Machine", func() {
			writes.record("1", version("a", "2"))
			writes.record("1", version("b", "2"))
			writes.forget("a")
			writes.forget("unknown")
			Expect(writes.caused("a", "1", "2")).To(BeFalse())
			Expect(writes.caused("b", "1", "2")).To(BeTrue())
			Expect(writes.newest(cached("a", "1")).Labels).To(HaveKeyWithValue("as", "cached"))
		})
	})

	DescribeTable("the newest Machine after a write of version 9 that the cache has not observed",
		func(uid types.UID, resourceVersion, as string) {
			writes.record("8", version("a", "9"))
			Expect(writes.newest(cached(uid, resourceVersion)).Labels).To(HaveKeyWithValue("as", as))
		},
		Entry("cache behind", types.UID("a"), "8", "written"),
		Entry("cache far behind", types.UID("a"), "1", "written"),
		Entry("cache has it", types.UID("a"), "9", "cached"),
		Entry("cache ahead, by a version of more digits", types.UID("a"), "10", "cached"),
		Entry("a Machine of the same name that came after it", types.UID("b"), "7", "cached"),
		Entry("a version that can't be compared", types.UID("a"), "x8", "cached"),
	)

	It("gives away copies", func() {
		writes.record("1", version("a", "2"))
		writes.newest(cached("a", "1")).Labels["as"] = "changed"
		Expect(writes.newest(cached("a", "1")).Labels).To(HaveKeyWithValue("as", "written"))
	})

	It("keeps no Machine that the cache has", func() {
		writes.record("1", version("a", "2"))
		writes.observed(cached("a", "1"))
		Expect(writes.byID["a"].latest).NotTo(BeNil(), "an older version has reached the cache")
		writes.observed(cached("b", "2"))
		Expect(writes.byID["a"].latest).NotTo(BeNil(), "another Machine has")
		writes.observed(cached("a", "3"))
		Expect(writes.byID["a"].latest).To(BeNil())
	})

	It("can be used by several workers and the informer at once", func() {
		var all sync.WaitGroup
		for worker := range 8 {
			all.Go(func() {
				uid := types.UID(strconv.Itoa(worker % 4))
				for i := range 200 {
					writes.record(strconv.Itoa(i), version(uid, strconv.Itoa(i+1)))
					writes.newest(cached(uid, strconv.Itoa(i)))
					writes.caused(uid, strconv.Itoa(i), strconv.Itoa(i+1))
					writes.observed(cached(uid, strconv.Itoa(i+1)))
				}
				writes.forget(uid)
			})
		}
		all.Wait()
		Expect(writes.byID).To(BeEmpty())
	})
})
