// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// lifetime of all certificates: longer than any cluster is kept.
const lifetime = 365 * 24 * time.Hour

// Files of the folder pki.
const (
	caFile             = "ca.crt"
	apiServerName      = "kube-apiserver"
	kubeletClientName  = "kubelet-client"
	serviceAccountFile = "service-account.key"
)

// administrators is the group that may do everything.
const administrators = "system:masters"

// users have a kubeconfig each, under the name of the file. Kubernetes gives them their permissions by these names.
var users = map[string]pkix.Name{
	"kubeconfig":                          {CommonName: "machinist-cluster-admin", Organization: []string{administrators}},
	"config/kube-controller-manager.yaml": {CommonName: "system:kube-controller-manager"},
	"config/kube-scheduler.yaml":          {CommonName: "system:kube-scheduler"},
	"config/kube-proxy-user.yaml":         {CommonName: "system:kube-proxy"},
	"config/kubelet-user.yaml":            {CommonName: "system:node:" + nodeName, Organization: []string{"system:nodes"}},
}

// writeCredentials makes the keys and certificates of the cluster and a kubeconfig for everybody in it.
func writeCredentials(f folder) error {
	ca, err := newAuthority()
	if err != nil {
		return fmt.Errorf("making the cluster's certificate authority: %w", err)
	}
	if err := f.write(ca.pem, "pki", caFile); err != nil {
		return err
	}
	serving := &x509.Certificate{
		Subject:     pkix.Name{CommonName: apiServerName},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{
			"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
		},
		IPAddresses: []net.IP{net.ParseIP("127.0.0.1"), net.ParseIP(nodeIP), net.ParseIP(apiServiceIP)},
	}
	client := &x509.Certificate{
		Subject:     pkix.Name{CommonName: apiServerName, Organization: []string{administrators}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	for name, template := range map[string]*x509.Certificate{apiServerName: serving, kubeletClientName: client} {
		issued, err := ca.issue(template)
		if err != nil {
			return fmt.Errorf("issuing the certificate %s: %w", name, err)
		}
		if err := f.write(issued.certificate, "pki", name+".crt"); err != nil {
			return err
		}
		if err := f.write(issued.key, "pki", name+".key"); err != nil {
			return err
		}
	}
	_, key, err := newKey()
	if err != nil {
		return fmt.Errorf("making the key of service accounts: %w", err)
	}
	if err := f.write(key, "pki", serviceAccountFile); err != nil {
		return err
	}
	for file, subject := range users {
		content, err := ca.kubeconfig(subject)
		if err != nil {
			return fmt.Errorf("making the kubeconfig of %s: %w", subject.CommonName, err)
		}
		if err := f.write(content, file); err != nil {
			return err
		}
	}
	return nil
}

// authority issues certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

// credential is a certificate with its key, both PEM.
type credential struct{ certificate, key []byte }

func newAuthority() (authority, error) {
	key, _, err := newKey()
	if err != nil {
		return authority{}, err
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "machinist-cluster"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(lifetime),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return authority{}, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return authority{}, err
	}
	return authority{certificate, key, encodeCertificate(der)}, nil
}

// issue completes the template and signs it, for a new key.
func (a authority) issue(template *x509.Certificate) (credential, error) {
	key, keyPEM, err := newKey()
	if err != nil {
		return credential{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return credential{}, err
	}
	template.SerialNumber = serial
	template.NotBefore = a.certificate.NotBefore
	template.NotAfter = a.certificate.NotAfter
	template.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return credential{}, err
	}
	return credential{encodeCertificate(der), keyPEM}, nil
}

func newKey() (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	return key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

func encodeCertificate(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// kubeconfig returns a kubeconfig (JSON, which is YAML) of a user with a new certificate.
func (a authority) kubeconfig(subject pkix.Name) ([]byte, error) {
	issued, err := a.issue(&x509.Certificate{Subject: subject, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	if err != nil {
		return nil, err
	}
	const name = "machinist"
	type object = map[string]any
	return json.MarshalIndent(object{
		"apiVersion": "v1",
		"kind":       "Config",
		"clusters":   []object{{"name": name, "cluster": object{"server": apiServer, "certificate-authority-data": a.pem}}},
		"users": []object{{"name": name, "user": object{
			"client-certificate-data": issued.certificate, "client-key-data": issued.key,
		}}},
		"contexts":        []object{{"name": name, "context": object{"cluster": name, "user": name}}},
		"current-context": name,
	}, "", "  ")
}
