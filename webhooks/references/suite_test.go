// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package references

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

func TestReferences(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Validation of references")
}
