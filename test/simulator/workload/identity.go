// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// identity is what a cluster shows in the TLS handshake, and the CA by which clients check it.
type identity struct {
	caPEM     []byte
	tlsConfig *tls.Config
}

// certificateLifetime is longer than any test and starts before now, for clocks that differ.
const certificateLifetime = 10 * 365 * 24 * time.Hour

// serverName tells the clusters on one port apart during the TLS handshake, when the URL's path is not known yet.
func serverName(key types.NamespacedName) string {
	return key.Name + "." + key.Namespace + ".workload.test"
}

func newIdentity(serverName string) (*identity, error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("CA key: %w", err)
	}
	ca := certificate(serverName + " CA")
	ca.IsCA, ca.BasicConstraintsValid, ca.KeyUsage = true, true, x509.KeyUsageCertSign
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	if err != nil {
		return nil, fmt.Errorf("CA certificate: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("server key: %w", err)
	}
	server := certificate(serverName)
	server.DNSNames = []string{serverName, "localhost"}
	server.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	server.KeyUsage = x509.KeyUsageDigitalSignature
	server.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	serverDER, err := x509.CreateCertificate(rand.Reader, server, ca, key.Public(), caKey)
	if err != nil {
		return nil, fmt.Errorf("server certificate: %w", err)
	}
	return &identity{
		caPEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER}),
		tlsConfig: &tls.Config{
			Certificates: []tls.Certificate{{Certificate: [][]byte{serverDER}, PrivateKey: key}},
			MinVersion:   tls.VersionTLS13,
			NextProtos:   []string{"h2", "http/1.1"},
		},
	}, nil
}

func certificate(commonName string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: commonName},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(certificateLifetime),
	}
}
