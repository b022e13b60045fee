// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package certificates has a real API server call webhooks, by a Service, of several replicas whose certificates are renewed,
// and which come and go. The Service leads to a balancer that does what kube-proxy does.
package certificates

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/machinist-dev/machinist/test/environment"
	"github.com/machinist-dev/machinist/test/environment/suite"
)

func TestCertificates(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Certificates of webhooks")
}

var (
	env *environment.Environment
	k8s client.Client // a user's client: live, not from a cache
)

var _ = BeforeSuite(func(ctx SpecContext) {
	env = suite.Start(ctx, environment.Options{CountRequests: true})
	Expect(apiextensionsv1.AddToScheme(scheme.Scheme)).To(Succeed())
	cfg := env.ConfigFor("certificates-test")
	cfg.QPS = -1
	var err error
	k8s, err = client.New(cfg, client.Options{})
	Expect(err).NotTo(HaveOccurred())
})
