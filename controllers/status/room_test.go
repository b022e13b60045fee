// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

var _ = Describe("MakeRoom", func() {
	machineWith := func(others int, ours ...string) *clusterv1.Machine {
		m := &clusterv1.Machine{}
		for i := range others {
			m.Status.Conditions = append(m.Status.Conditions, metav1.Condition{Type: fmt.Sprint("Other", i)})
		}
		for _, t := range ours {
			m.Status.Conditions = append(m.Status.Conditions, metav1.Condition{Type: t})
		}
		return m
	}

	DescribeTable("takes as few conditions as possible", func(others int, taken ...string) {
		m := machineWith(others, "Paused", "Ready")
		Expect(MakeRoom(m, "Absent", "Paused", "Ready")).To(HaveExactElements(taken))
		Expect(m.Status.Conditions).To(HaveLen(others + 2 - len(taken)))
	},
		Entry("none, if there is room", 30),
		Entry("the first that is there, if one is too many", 31, "Paused"),
		Entry("two, if two are too many", 32, "Paused", "Ready"),
		Entry("all, if that is not enough", 40, "Paused", "Ready"),
	)

	It("takes nobody else's, and says what it takes", func() {
		rapid.Check(GinkgoT(), func(t *rapid.T) {
			g := NewWithT(t)
			ours := rapid.SliceOfNDistinct(rapid.SampledFrom(order), 0, 10, rapid.ID[string]).Draw(t, "ours")
			m := machineWith(rapid.IntRange(0, 35).Draw(t, "others"), ours...)
			before := m.DeepCopy()
			taken := MakeRoom(m, ours...)
			g.Expect(len(m.Status.Conditions) <= maxConditions || len(taken) == len(ours)).To(BeTrue())
			g.Expect(ours[:len(taken)]).To(HaveExactElements(taken))
			kept := slices.DeleteFunc(before.Status.Conditions, func(c metav1.Condition) bool { return slices.Contains(taken, c.Type) })
			g.Expect(m.Status.Conditions).To(HaveExactElements(kept))
		})
	})
})
