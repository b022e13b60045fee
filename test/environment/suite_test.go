// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package environment_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

func TestEnvironment(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Environment")
}
