// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"strings"
	"unicode/utf8"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = DescribeTable("The note of an event is one that the API server accepts",
	func(note, expected string) {
		Expect(shorten(note)).To(Equal(expected))
		Expect(len(shorten(note))).To(BeNumerically("<=", 1024))
		Expect(utf8.ValidString(shorten(note))).To(BeTrue())
	},
	Entry("short", "node-0", "node-0"),
	Entry("as long as may be", strings.Repeat("x", 1024), strings.Repeat("x", 1024)),
	Entry("one too long", strings.Repeat("x", 1025), strings.Repeat("x", 1021)+"…"),
	Entry("cut within a character", strings.Repeat("ü", 600), strings.Repeat("ü", 510)+"…"),
)
