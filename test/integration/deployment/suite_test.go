// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package deployment tests the manifests of config/ on a real kube-apiserver: that it takes them, what they allow, and that a
// manager lives on it. There are no pods here; the end-to-end suite has them.
package deployment

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/machinist-dev/machinist/test/environment/suite"
)

func TestDeployment(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Manifests on a real API server")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	suite.SetDefaults()
	suite.SetLogger(suite.Logger()) // once: what a manager of an earlier spec has left may still look at it
	render(ctx, "default")          // builds kustomize, if it has not been built
})
