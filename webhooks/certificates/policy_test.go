// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"crypto/tls"
	"crypto/x509"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

var (
	testPolicy = policy{dnsName: "hooks.here.svc", authorityLifetime: 900 * time.Second, servingLifetime: 300 * time.Second}
	start      = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

// first is what a new installation gets.
func first(t *testing.T) content {
	t.Helper()
	c, changes, err := testPolicy.next(content{}, start, false)
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(changes).To(Equal([]string{newAuthority, newServing}))
	return c
}

func TestFirstCertificate(t *testing.T) {
	g := NewWithT(t)
	c := first(t)
	pool := x509.NewCertPool()
	g.Expect(pool.AppendCertsFromPEM(c.bundle())).To(BeTrue())
	_, err := c.serving.Leaf.Verify(x509.VerifyOptions{
		DNSName: testPolicy.dnsName, Roots: pool, CurrentTime: start, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	g.Expect(err).NotTo(HaveOccurred())
	_, err = c.serving.Leaf.Verify(x509.VerifyOptions{Roots: pool, CurrentTime: start.Add(-clockSkew / 2)})
	g.Expect(err).NotTo(HaveOccurred(), "by a client whose clock is behind")
	g.Expect(c.authorities[0].NotAfter).To(Equal(start.Add(testPolicy.authorityLifetime)))
	g.Expect(c.serving.Leaf.NotAfter).To(Equal(start.Add(testPolicy.servingLifetime)))
}

// TestNext begins with the first certificate, of an authority that lives 900 s and itself 300 s.
func TestNext(t *testing.T) {
	without := func(change func(*content)) func(content) content {
		return func(c content) content { change(&c); return c }
	}
	rotated := func(c content) content { // at 700 s: a second authority, and still a certificate of the first
		c.serving, _ = testPolicy.issueServing(c, start.Add(650*time.Second))
		c, _, _ = testPolicy.next(c, start.Add(700*time.Second), true)
		return c
	}
	for name, c := range map[string]struct {
		present     func(content) content
		after       time.Duration
		trusted     bool
		changes     []string
		authorities int
	}{
		"nothing is due": {nil, 199 * time.Second, true, nil, 1},
		"a third of the certificate's life is left":       {nil, 201 * time.Second, false, []string{newServing}, 1},
		"the certificate has expired":                     {nil, 301 * time.Second, false, []string{newServing}, 1},
		"a third of the authority's life is left":         {without(func(c *content) { c.serving, _ = testPolicy.issueServing(*c, start.Add(600*time.Second)) }), 601 * time.Second, true, []string{newAuthority}, 2},
		"the authority has expired":                       {nil, 901 * time.Second, true, []string{newAuthority, newServing}, 1},
		"there is no certificate":                         {without(func(c *content) { c.serving = nil }), time.Second, false, []string{newServing}, 1},
		"there is no key to sign with":                    {without(func(c *content) { c.signer = nil }), time.Second, true, []string{newAuthority}, 2},
		"there is no key to sign with, nor a certificate": {without(func(c *content) { c.signer, c.serving = nil, nil }), time.Second, true, []string{newAuthority, newServing}, 2},
		"the new authority is not trusted yet":            {rotated, 710 * time.Second, false, nil, 2},
		"the new authority is trusted":                    {rotated, 760 * time.Second, true, []string{newServing}, 2},
		"the old authority expires before that":           {rotated, 905 * time.Second, false, []string{newServing}, 2},
		"the second key is lost, too":                     {func(c content) content { c = rotated(c); c.signer = nil; return c }, 710 * time.Second, true, []string{newAuthority}, 2},
		"the certificate is for another name": {without(func(c *content) {
			c.serving, _ = policy{dnsName: "x", servingLifetime: time.Hour}.issueServing(*c, start)
		}), time.Second, true, []string{newServing}, 1},
		"the certificate is of somebody else's authority": {without(func(c *content) { other, _, _ := testPolicy.next(content{}, start, false); c.serving = other.serving }), time.Second, false, []string{newServing}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			present := first(t)
			if c.present != nil {
				present = c.present(present)
			}
			before := present.bundle()
			following, changes, err := testPolicy.next(present, start.Add(c.after), c.trusted)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(changes).To(Equal(c.changes))
			g.Expect(following.authorities).To(HaveLen(c.authorities))
			g.Expect(present.bundle()).To(Equal(before), "the present content is left alone")
			if len(changes) == 0 {
				g.Expect(following).To(Equal(present))
			}
			if slices.Contains(changes, newServing) {
				g.Expect(following.serving.Leaf.CheckSignatureFrom(following.authorities[0])).To(Succeed())
			}
			if slices.Equal(changes, []string{newAuthority}) {
				g.Expect(following.serving).To(BeIdenticalTo(present.serving))
				g.Expect(following.serving.Leaf.CheckSignatureFrom(following.authorities[1])).To(Succeed())
			}
			_, again, err := testPolicy.next(following, start.Add(c.after), false)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(again).To(BeEmpty(), "once is enough")
		})
	}
}

func TestCertificateDoesNotOutliveItsAuthority(t *testing.T) {
	g := NewWithT(t)
	c := first(t)
	serving, err := testPolicy.issueServing(c, start.Add(800*time.Second))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(serving.Leaf.NotAfter).To(Equal(c.authorities[0].NotAfter))
}

func TestBundleIsBounded(t *testing.T) {
	g := NewWithT(t)
	c := first(t)
	for range 3 * maxAuthorities { // each time the content is taken out of the Secret, once the one before is in use
		c.signer = nil
		var err error
		c, _, err = testPolicy.next(c, start, false)
		g.Expect(err).NotTo(HaveOccurred())
		c, _, err = testPolicy.next(c, start, true)
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(c.authorities).To(HaveLen(maxAuthorities))
	g.Expect(c.serving.Leaf.CheckSignatureFrom(c.authorities[0])).To(Succeed())
}

const (
	modelInterval    = 10 * time.Second
	modelPropagation = time.Minute
)

// modelPolicy leaves 200 s from the moment that a certificate is due. Something may go wrong every 150 s, for 30 s.
var modelPolicy = policy{dnsName: "hooks.here.svc", authorityLifetime: 1800 * time.Second, servingLifetime: 600 * time.Second}

// modelReplica is what a Keeper is, without an API server.
type modelReplica struct {
	remembered content
	trust      trust
	serving    *tls.Certificate
}

// written is a bundle that the targets have held since then.
type written struct {
	authorities []*x509.Certificate
	bundle      string
	since       time.Time
}

// model is some replicas, the Secret, and what was written to the targets.
type model struct {
	now      time.Time
	secret   *content      // nil if it is empty
	request  corev1.Secret // its annotations
	leaked   []*x509.Certificate
	replicas []*modelReplica
	targets  []written
	afresh   time.Time // when a replica has started that found nothing in the Secret
	signed   map[[2]string]bool
}

// look is one of a replica, as Keeper does it; tell says whether it gets as far as the targets.
func (m *model) look(t *rapid.T, r *modelReplica, tell bool) {
	present := r.remembered
	present.signer = nil
	if m.secret != nil {
		present = *m.secret
	} else if len(m.targets) > 0 && len(present.authorities) == 0 {
		m.afresh = m.now
	}
	present, refusal := present.asked(m.request.Annotations)
	if refusal != nil {
		t.Fatal(refusal)
	}
	following, changes, err := modelPolicy.step(present, r.trust, m.now, modelPropagation)
	if err != nil {
		t.Fatal(err)
	}
	if annotate(&m.request, following.retiring, nil) || len(changes) > 0 {
		m.secret = &following
	}
	r.remembered, r.serving = following, following.serving
	if !tell {
		r.trust.lost()
		return
	}
	bundle := following.bundle()
	changed := len(m.targets) == 0 || m.targets[len(m.targets)-1].bundle != string(bundle)
	if changed {
		m.targets = append(m.targets, written{following.authorities, string(bundle), m.now})
	}
	r.trust.held(following, changed, m.now)
}

// check fails if an API server that has heard of the targets as late as possible, or at once, would not trust a replica. That
// may be so after a replica had to start afresh, until all have heard of it.
func (m *model) check(t *rapid.T) {
	if m.now.Sub(m.afresh) < modelPropagation {
		return
	}
	for i, r := range m.replicas {
		if r.serving == nil || len(m.targets) == 0 {
			continue // not ready yet
		}
		if m.now.After(r.serving.Leaf.NotAfter) {
			t.Fatalf("replica %d serves a certificate that expired %s ago", i, m.now.Sub(r.serving.Leaf.NotAfter))
		}
		for j, target := range m.targets {
			superseded := j+1 < len(m.targets) && m.now.Sub(m.targets[j+1].since) >= modelPropagation
			if !superseded && !m.trusts(target, r.serving.Leaf) {
				t.Fatalf("replica %d serves a certificate that an API server does not trust which was told %s ago", i, m.now.Sub(target.since))
			}
		}
	}
}

func (m *model) trusts(target written, leaf *x509.Certificate) bool {
	return slices.ContainsFunc(target.authorities, func(authority *x509.Certificate) bool {
		pair := [2]string{string(authority.Raw), string(leaf.Raw)}
		if _, known := m.signed[pair]; !known {
			m.signed[pair] = leaf.CheckSignatureFrom(authority) == nil
		}
		return m.signed[pair] && m.now.Before(authority.NotAfter)
	})
}

// meet is what somebody does to the Secret. Who knows that it has leaked asks to retire all authorities that there are.
func (m *model) meet(event string) {
	switch event {
	case "Secret deleted":
		m.secret, m.request.Annotations = nil, nil
	case "Secret emptied", "Secret emptied, restarts":
		m.secret = nil
	case "Secret leaked":
		m.request.Annotations = map[string]string{RetireAnnotation: AllAuthorities}
		m.leaked = m.targets[len(m.targets)-1].authorities
	}
}

// settle lets the replicas do what they have been asked to, and fails if they don't in ten minutes.
func (m *model) settle(t *rapid.T) {
	for range 60 {
		m.now = m.now.Add(modelInterval)
		for _, r := range m.replicas {
			m.look(t, r, true)
			m.check(t)
		}
		if m.request.Annotations[RetireAnnotation] == "" && !m.trustsLeaked() {
			return
		}
	}
	t.Fatalf("an authority that has leaked is still trusted: %t; of the request is left %v", m.trustsLeaked(), m.request.Annotations)
}

// trustsLeaked reports whether one that has leaked is left in the Secret, or in what the targets hold.
func (m *model) trustsLeaked() bool {
	trusted := slices.Concat(m.secret.authorities, m.targets[len(m.targets)-1].authorities)
	return slices.ContainsFunc(trusted, func(authority *x509.Certificate) bool { return slices.ContainsFunc(m.leaked, authority.Equal) })
}

// However replicas come and go, fail to reach the targets for a while, and lose the Secret or retire what has leaked from it,
// no request is refused, unless one has to start afresh; and in the end only those are trusted that haven't leaked.
func TestNobodyEverMeetsACertificateThatIsNotTrusted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &model{now: start, signed: map[[2]string]bool{}}
		for range rapid.IntRange(1, 3).Draw(t, "replicas") {
			m.replicas = append(m.replicas, &modelReplica{})
		}
		for _, r := range m.replicas {
			m.look(t, r, true)
		}
		event := ""
		for round := range rapid.IntRange(130, 200).Draw(t, "rounds") {
			m.now = m.now.Add(modelInterval)
			since := round % 15
			if since == 0 {
				event = rapid.SampledFrom([]string{
					"", "Secret emptied", "Secret deleted", "Secret leaked", "restarts", "Secret emptied, restarts", "targets out of reach",
				}).Draw(t, "event")
				m.meet(event)
			}
			for _, i := range rapid.Permutation(indexes(len(m.replicas))).Draw(t, "order") {
				if strings.HasSuffix(event, "restarts") && since == 0 && rapid.Bool().Draw(t, "this one") {
					*m.replicas[i] = modelReplica{}
				}
				fails := event == "targets out of reach" && since < 3 && rapid.Bool().Draw(t, "for this one")
				m.look(t, m.replicas[i], !fails)
				m.check(t)
			}
		}
		m.settle(t)
	})
}

func indexes(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}
