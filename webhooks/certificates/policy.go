// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"slices"
	"time"
)

const (
	// DefaultAuthorityLifetime is how long an authority is valid. Like a serving certificate it is followed by the next one
	// when a third of that is left.
	DefaultAuthorityLifetime = 365 * 24 * time.Hour
	// DefaultServingLifetime is how long a serving certificate is valid.
	DefaultServingLifetime = 90 * 24 * time.Hour

	// clockSkew is by how much a client's clock may be behind ours.
	clockSkew = time.Hour
	// maxAuthorities bounds the bundle, in case somebody empties the Secret again and again: objects have limits.
	maxAuthorities = 5
)

// policy says when something is renewed, and by what.
type policy struct {
	// dnsName is what clients call the server.
	dnsName string
	// authorityLifetime and servingLifetime are from issue to expiry.
	authorityLifetime, servingLifetime time.Duration
}

// What next has done.
const (
	newAuthority = "authority"
	newServing   = "serving certificate"
)

// next returns what should follow the present content, and what is new in it; nothing is if the present content is good.
// trusted says that every client has been told of the present bundle.
//
// A present content without signer can't be used any longer, but what it has of authorities and serving certificate stays
// until the next one is trusted.
func (p policy) next(present content, now time.Time, trusted bool) (following content, changes []string, err error) {
	following = present
	if p.mustRenewAuthority(present, now) {
		authority, key, err := p.issueAuthority(now)
		if err != nil {
			return present, nil, err
		}
		following.authorities, following.signer = []*x509.Certificate{authority}, key
		for _, previous := range present.inUse() {
			if now.Before(previous.NotAfter) && len(following.authorities) < maxAuthorities {
				following.authorities = append(following.authorities, previous)
			}
		}
		following.retiring = slices.DeleteFunc(fingerprints(following.authorities), func(still string) bool { return !slices.Contains(present.retiring, still) })
		changes, trusted = append(changes, newAuthority), false
	}
	if p.mustRenewServing(following, now, trusted) {
		if following.serving, err = p.issueServing(following, now); err != nil {
			return present, nil, err
		}
		changes = append(changes, newServing)
	}
	return following, changes, nil
}

// step returns what should follow the present content, of which is known what trust says: that of next, or of retire if nothing
// has to be renewed before that.
func (p policy) step(present content, known trust, now time.Time, propagation time.Duration) (following content, changes []string, err error) {
	following, changes, err = p.next(present, now, known.lasts(present, now, propagation))
	if err == nil && len(changes) == 0 && len(present.retiring) > 0 && known.lasts(present, now, laggards*propagation) {
		following, changes = present.retire()
	}
	return following, changes, err
}

func (p policy) mustRenewAuthority(c content, now time.Time) bool {
	if c.signer == nil || len(c.authorities) == 0 {
		return true
	}
	newest := c.authorities[0]
	return due(newest, p.authorityLifetime, now) || c.retires(newest)
}

// mustRenewServing compares the serving certificate with the bundle. One that was signed by a previous authority is as good
// as another, until the newest authority is trusted.
func (p policy) mustRenewServing(c content, now time.Time, trusted bool) bool {
	if c.serving == nil {
		return true
	}
	leaf := c.serving.Leaf
	if now.After(leaf.NotAfter) || leaf.VerifyHostname(p.dnsName) != nil {
		return true
	}
	if leaf.CheckSignatureFrom(c.authorities[0]) == nil {
		return due(leaf, p.servingLifetime, now)
	}
	for _, previous := range c.authorities[1:] {
		if now.Before(previous.NotAfter) && leaf.CheckSignatureFrom(previous) == nil {
			return trusted
		}
	}
	return true // nobody trusts it
}

// inUse returns the authorities without the newest, if that hasn't signed yet what is served and so nothing at all.
func (c content) inUse() []*x509.Certificate {
	if len(c.authorities) > 1 && c.serving != nil && c.serving.Leaf.CheckSignatureFrom(c.authorities[0]) != nil {
		return c.authorities[1:]
	}
	return c.authorities
}

// due is true in the last third of a certificate's life.
func due(certificate *x509.Certificate, lifetime time.Duration, now time.Time) bool {
	return now.After(certificate.NotAfter.Add(-lifetime / 3))
}

func (p policy) issueAuthority(now time.Time) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("making the key of an authority: %w", err)
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "machinist-webhooks"},
		NotBefore:             now.Add(-clockSkew),
		NotAfter:              now.Add(p.authorityLifetime),
		KeyUsage:              x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, nil, fmt.Errorf("signing an authority: %w", err)
	}
	authority, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, nil, fmt.Errorf("reading an authority that was just signed: %w", err)
	}
	return authority, key, nil
}

// issueServing signs a certificate, which does not outlive its authority.
func (p policy) issueServing(by content, now time.Time) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making the key of a serving certificate: %w", err)
	}
	authority := by.authorities[0]
	notAfter := now.Add(p.servingLifetime)
	if notAfter.After(authority.NotAfter) {
		notAfter = authority.NotAfter
	}
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "machinist-webhooks"},
		DNSNames:    []string{p.dnsName},
		NotBefore:   now.Add(-clockSkew),
		NotAfter:    notAfter,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, authority, key.Public(), by.signer)
	if err != nil {
		return nil, fmt.Errorf("signing a serving certificate: %w", err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("reading a serving certificate that was just signed: %w", err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, nil
}
