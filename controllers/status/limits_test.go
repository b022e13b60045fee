// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"
	"unicode/utf8"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"pgregory.net/rapid"
)

var _ = Describe("limit", func() {
	DescribeTable("to 4 characters", func(text, expected string) {
		Expect(limit(text, 4)).To(Equal(expected))
	},
		Entry("empty", "", ""),
		Entry("shorter", "abc", "abc"),
		Entry("just as long", "abcd", "abcd"),
		Entry("longer", "abcde", "abc…"),
		Entry("as long in characters, longer in bytes", "äöüß", "äöüß"),
		Entry("cut between characters of several bytes", "äöüßä", "äöü…"),
		Entry("no UTF-8", "a\xffb", "a\uFFFDb"),
		Entry("no UTF-8 at the cut", "abc\xf0\x9f\x98de", "abc…"),
		Entry("half a character at the end", "abc\xc3", "abc\uFFFD"),
	)

	It("never breaks a character, never exceeds the limit, changes nothing that fits", func() {
		rapid.Check(GinkgoT(), func(t *rapid.T) {
			g := NewWithT(t)
			text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "text")
			n := rapid.IntRange(1, 20).Draw(t, "n")
			short := limit(text, n)
			g.Expect(utf8.ValidString(short)).To(BeTrue())
			g.Expect(utf8.RuneCountInString(short)).To(BeNumerically("<=", n))
			g.Expect(limit(short, n)).To(Equal(short))
			if utf8.ValidString(text) && utf8.RuneCountInString(text) <= n {
				g.Expect(short).To(Equal(text))
			}
			if strings.HasSuffix(short, "…") && short != text {
				g.Expect(strings.ToValidUTF8(text, "\uFFFD")).To(HavePrefix(strings.TrimSuffix(short, "…")))
			}
		})
	})
})
