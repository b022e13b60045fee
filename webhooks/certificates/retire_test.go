// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
)

// second is a content with two authorities, of which the newer one has signed.
func second(t *testing.T) content {
	t.Helper()
	c := first(t)
	c.signer = nil
	for range 2 {
		var err error
		c, _, err = testPolicy.next(c, start, true)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
	}
	return c
}

func TestWhatIsAskedToBeRetired(t *testing.T) {
	c := second(t)
	newer, older := fingerprint(c.authorities[0]), fingerprint(c.authorities[1])
	var colons []string
	for i := 0; i < len(older); i += 2 {
		colons = append(colons, strings.ToUpper(older[i:i+2]))
	}
	for request, retiring := range map[string][]string{
		AllAuthorities:               {newer, older},
		older:                        {older},
		older + ", " + newer:         {older, newer},
		strings.Join(colons, ":"):    {older},
		" " + older + " ":            {older},
		"none":                       nil,
		"":                           nil,
		older + "," + older[:62]:     nil,
		AllAuthorities + "," + older: nil,
	} {
		t.Run(request, func(t *testing.T) {
			g := NewWithT(t)
			asked, err := c.asked(map[string]string{RetireAnnotation: request})
			g.Expect(asked.retiring).To(Equal(retiring))
			if retiring == nil {
				g.Expect(err).To(MatchError(ContainSubstring("which are " + newer + "," + older + "; found")))
			} else {
				g.Expect(err).NotTo(HaveOccurred())
			}
			secret := &corev1.Secret{}
			secret.Annotations = map[string]string{RetireAnnotation: request, RefusedAnnotation: "an earlier one"}
			annotate(secret, asked.retiring, err)
			g.Expect(annotate(secret, asked.retiring, nil)).To(BeFalse(), "once is enough")
			g.Expect(secret.Annotations).To(HaveLen(1), "a request, or why there is none")
		})
	}
}

func TestNothingIsLeftToRetireWithoutAuthorities(t *testing.T) {
	for _, request := range []string{AllAuthorities, fingerprint(first(t).authorities[0]), "none"} {
		t.Run(request, func(t *testing.T) {
			g := NewWithT(t)
			secret := &corev1.Secret{}
			secret.Annotations = map[string]string{RetireAnnotation: request, RefusedAnnotation: "an earlier one"}
			asked, err := content{}.asked(secret.Annotations)
			g.Expect(err).NotTo(HaveOccurred())
			following, changes, err := testPolicy.step(asked, trust{}, start, time.Second)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(changes).To(Equal([]string{newAuthority, newServing}))
			g.Expect(annotate(secret, following.retiring, nil)).To(BeTrue())
			g.Expect(secret.Annotations).To(BeEmpty())
		})
	}
}

// FuzzAsked feeds what anybody with the right to write the Secret could ask.
func FuzzAsked(f *testing.F) {
	c, _, err := testPolicy.next(content{}, start, false)
	if err != nil {
		f.Fatal(err)
	}
	for _, request := range []string{AllAuthorities, "", fingerprint(c.authorities[0]), ",\x00,", strings.Repeat("\U0010ffff", 1000)} {
		f.Add(request)
	}
	f.Fuzz(func(t *testing.T, request string) {
		asked, err := c.asked(map[string]string{RetireAnnotation: request})
		if err != nil {
			if len(asked.retiring) > 0 || len(err.Error()) > 2000 {
				t.Fatalf("refused, but %v is retired, or more is said than an annotation can take: %d bytes", asked.retiring, len(err.Error()))
			}
			return
		}
		if len(asked.retiring) == 0 || slices.ContainsFunc(asked.retiring, func(retiring string) bool { return retiring != fingerprint(c.authorities[0]) }) {
			t.Fatalf("%q has retired %v", request, asked.retiring)
		}
	})
}

// TestWhenAnAuthorityIsRetired begins with two authorities, which are known to all clients since then.
func TestWhenAnAuthorityIsRetired(t *testing.T) {
	const propagation = time.Second
	c := second(t)
	newer, older := c.authorities[0], c.authorities[1]
	for name, test := range map[string]struct {
		retiring []string
		known    time.Duration
		changes  []string
		left     int
		remain   []string
	}{
		"the older one, too early":          {[]string{fingerprint(older)}, 2*propagation - 1, nil, 2, []string{fingerprint(older)}},
		"the older one":                     {[]string{fingerprint(older)}, 2 * propagation, []string{retirement}, 1, nil},
		"the newer one: it has a successor": {[]string{fingerprint(newer)}, 2 * propagation, []string{newAuthority}, 3, []string{fingerprint(newer)}},
		"one that is there no longer":       {[]string{"x", fingerprint(newer)}, 2 * propagation, []string{newAuthority}, 3, []string{fingerprint(newer)}},
		"nobody":                            {nil, 100 * propagation, nil, 2, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			present := c
			present.retiring = test.retiring
			var known trust
			known.held(present, true, start)
			following, changes, err := testPolicy.step(present, known, start.Add(test.known), propagation)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(changes).To(Equal(test.changes))
			g.Expect(following.authorities).To(HaveLen(test.left))
			g.Expect(following.retiring).To(Equal(test.remain))
			g.Expect(following.serving).To(BeIdenticalTo(present.serving))
		})
	}
}

func TestServersHaveToHearOfACertificateBeforeOthersAreRetired(t *testing.T) {
	g := NewWithT(t)
	c := second(t)
	var known trust
	known.held(c, false, start)
	renewed := c
	renewed.serving, _ = testPolicy.issueServing(c, start)
	g.Expect(known.lasts(c, start.Add(time.Minute), time.Minute)).To(BeTrue())
	g.Expect(known.lasts(renewed, start.Add(time.Minute), time.Minute)).To(BeFalse())
	known.held(renewed, false, start.Add(time.Minute))
	g.Expect(known.lasts(renewed, start.Add(time.Minute), time.Minute)).To(BeFalse())
}

func TestMetricOfAuthoritiesToRetire(t *testing.T) {
	g := NewWithT(t)
	k := &Keeper{serving: second(t)}
	k.serving.retiring = fingerprints(k.serving.authorities)
	registry := prometheus.NewPedanticRegistry()
	g.Expect(registry.Register(k)).To(Succeed())
	families, err := registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(families).To(ContainElement(And(
		HaveField("GetName()", "machinist_webhook_retiring_authorities"),
		HaveField("GetMetric()", HaveExactElements(HaveField("GetGauge().GetValue()", 2.0))),
	)))
}
