// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package watchcache

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

func TestWatchcache(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "What is cached")
}
