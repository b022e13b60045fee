// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kinds tests on a real kube-apiserver how the manager lives with kinds of provider objects that come, move,
// fail and go. Each spec has a manager, a namespace and kinds of its own, so that what it counts is its own, too.
package kinds

import (
	"testing"

	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/machinist-dev/machinist/test/environment"
	"github.com/machinist-dev/machinist/test/environment/suite"
	"github.com/machinist-dev/machinist/test/manager"
	"github.com/machinist-dev/machinist/test/simulator/workload"
)

func TestKinds(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Kinds of provider objects on a real API server")
}

var (
	env       *environment.Environment
	k8s       client.Client // a user's client: live, not from a cache
	workloads *workload.Server
	logs      = &logCounter{}
)

var _ = BeforeSuite(func(ctx SpecContext) {
	env = suite.Start(ctx, environment.Options{CRDPaths: []string{"../../../config/crd/bases"}, CountRequests: true})
	suite.SetLogger(logr.New(countingSink{LogSink: suite.Logger().GetSink(), counter: logs}))
	k8s = manager.User(env, "kinds-test")
	var err error
	workloads, err = workload.Start(workload.Options{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(workloads.Close)
})
