// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package ownwrites

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

func TestOwnWrites(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Own writes")
}
