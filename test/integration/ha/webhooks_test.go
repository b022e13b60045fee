// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package ha

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/machinist-dev/machinist/test/environment/suite"
)

var _ = It("All replicas serve webhooks with a certificate that is trusted, the leader and the others", func(ctx SpecContext) {
	w := newWorld(ctx, 0)
	replica := func() (*process, string) {
		address := suite.FreeAddress(ctx)
		return w.manager(ctx, "--webhook-host="+address.Addr().String(), fmt.Sprintf("--webhook-port=%d", address.Port()), "--webhook-cert-rotation",
			"--webhook-service="+w.namespace+"/hooks", "--tls-min-version=VersionTLS13"), address.String()
	}
	leader, first := replica()
	standby, second := replica()
	secret := &corev1.Secret{}
	Expect(k8s.Get(ctx, w.key("hooks-cert"), secret)).To(Succeed())
	roots := x509.NewCertPool()
	Expect(roots.AppendCertsFromPEM(secret.Data["ca.crt"])).To(BeTrue())
	connect := func(ctx context.Context, address string, newest uint16) error {
		dialer := tls.Dialer{Config: &tls.Config{RootCAs: roots, ServerName: "hooks." + w.namespace + ".svc", MaxVersion: newest, MinVersion: tls.VersionTLS12}}
		connection, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return connection.Close()
	}
	for _, address := range []string{first, second} {
		Expect(connect(ctx, address, tls.VersionTLS13)).To(Succeed())
		Expect(connect(ctx, address, tls.VersionTLS12)).To(MatchError(ContainSubstring("protocol version")))
	}

	By("ending without an error")
	Expect(leader.terminate()).To(Succeed())
	Expect(standby.terminate()).To(Succeed())
})
