// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
)

func TestStableText(t *testing.T) {
	g := NewWithT(t)
	for text, stable := range map[string]string{
		"read tcp 10.0.0.5:43210->10.1.1.1:6443: connection reset by peer":                                         "read tcp 10.1.1.1:6443: connection reset by peer",
		"x509: certificate has expired or is not yet valid: current time 2026-11-30T07:00:00Z is after 2026-01-01": "x509: certificate has expired or is not yet valid is after 2026-01-01",
		"dial tcp 10.1.1.1:6443: connect: connection refused":                                                      "dial tcp 10.1.1.1:6443: connect: connection refused",
	} {
		g.Expect(StableText(errors.New(text))).To(Equal(stable))
	}
}
