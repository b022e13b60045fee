// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"bytes"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Keys of the Secret. Those of the serving certificate are what every TLS Secret has.
const (
	authorityCertKey = "ca.crt"
	authorityKeyKey  = "ca.key"
	servingCertKey   = corev1.TLSCertKey
	servingKeyKey    = corev1.TLSPrivateKeyKey
)

// content is what the Secret holds. It is never changed in place.
type content struct {
	// authorities are those that clients trust, newest first.
	authorities []*x509.Certificate
	// signer is the key of the first authority; nil if there is none that could sign.
	signer crypto.Signer
	// serving is nil if there is none that could be served.
	serving *tls.Certificate
	// retiring are fingerprints of authorities that nobody should trust any longer.
	retiring []string
}

// parse reads the data of a Secret. An error says why no new certificate can be signed with it; a serving certificate that
// can't be used is left out.
func parse(data map[string][]byte) (content, error) {
	authority, err := tls.X509KeyPair(data[authorityCertKey], data[authorityKeyKey])
	if err != nil {
		return content{}, fmt.Errorf("%s and %s: %w", authorityCertKey, authorityKeyKey, err)
	}
	signer, ok := authority.PrivateKey.(crypto.Signer)
	if !ok {
		return content{}, fmt.Errorf("%s: a key of type %T can't sign", authorityKeyKey, authority.PrivateKey)
	}
	read := content{signer: signer}
	for i, der := range authority.Certificate {
		certificate, err := x509.ParseCertificate(der)
		if err != nil {
			return content{}, fmt.Errorf("%s, certificate %d: %w", authorityCertKey, i, err)
		}
		if !certificate.IsCA || certificate.KeyUsage&x509.KeyUsageCertSign == 0 {
			return content{}, fmt.Errorf("%s, certificate %d: expected a certificate authority, which may sign others, found one of %q", authorityCertKey, i, certificate.Subject)
		}
		read.authorities = append(read.authorities, certificate)
	}
	if serving, err := tls.X509KeyPair(data[servingCertKey], data[servingKeyKey]); err == nil {
		read.serving = &serving
	}
	return read, nil
}

// data is what parse reads.
func (c content) data() (map[string][]byte, error) {
	authorityKey, err := encodeKey(c.signer)
	if err != nil {
		return nil, err
	}
	data := map[string][]byte{authorityCertKey: c.bundle(), authorityKeyKey: authorityKey}
	if c.serving == nil {
		return data, nil
	}
	if data[servingKeyKey], err = encodeKey(c.serving.PrivateKey); err != nil {
		return nil, err
	}
	for _, der := range c.serving.Certificate {
		data[servingCertKey] = append(data[servingCertKey], encodeCertificate(der)...)
	}
	return data, nil
}

// bundle is what clients are told to trust.
func (c content) bundle() []byte {
	var bundle bytes.Buffer
	for _, authority := range c.authorities {
		bundle.Write(encodeCertificate(authority.Raw))
	}
	return bundle.Bytes()
}

// known is what has to be known to everybody, clients and servers, before the next step.
func (c content) known() []byte {
	if c.serving == nil {
		return nil
	}
	known := slices.Clone(c.serving.Leaf.Raw)
	for _, authority := range c.authorities {
		known = append(known, authority.Raw...)
	}
	return known
}

func encodeCertificate(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func encodeKey(key crypto.PrivateKey) ([]byte, error) {
	if key == nil {
		return nil, errors.New("there is no key to encode")
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}
