// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"maps"
	"testing"

	. "github.com/onsi/gomega"
)

func dataOf(tb testing.TB, c content) map[string][]byte {
	tb.Helper()
	data, err := c.data()
	NewWithT(tb).Expect(err).NotTo(HaveOccurred())
	return data
}

func TestContentOfTheSecret(t *testing.T) {
	g := NewWithT(t)
	c := first(t)
	second, _, err := testPolicy.next(content{authorities: c.authorities, serving: c.serving}, start, true)
	g.Expect(err).NotTo(HaveOccurred())
	data := dataOf(t, second)
	read, err := parse(data)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read.authorities).To(HaveLen(2))
	g.Expect(read.serving.Leaf.Equal(c.serving.Leaf)).To(BeTrue())
	g.Expect(dataOf(t, read)).To(Equal(data))

	_, changes, err := testPolicy.next(read, start, false)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(changes).To(BeEmpty(), "what was written is as good as what was made")
}

func TestContentThatCanNotBeUsed(t *testing.T) {
	c := first(t)
	other := first(t)
	for name, change := range map[string]func(data map[string][]byte){
		"nothing":                 func(data map[string][]byte) { clear(data) },
		"no authority":            func(data map[string][]byte) { delete(data, authorityCertKey) },
		"no key of the authority": func(data map[string][]byte) { delete(data, authorityKeyKey) },
		"another authority's key": func(data map[string][]byte) { data[authorityKeyKey] = dataOf(t, other)[authorityKeyKey] },
		"no authority but a server": func(data map[string][]byte) {
			data[authorityCertKey], data[authorityKeyKey] = data[servingCertKey], data[servingKeyKey]
		},
		"an authority that is cut off": func(data map[string][]byte) { data[authorityCertKey] = data[authorityCertKey][:100] },
	} {
		t.Run(name, func(t *testing.T) {
			data := maps.Clone(dataOf(t, c))
			change(data)
			_, err := parse(data)
			NewWithT(t).Expect(err).To(HaveOccurred())
		})
	}
	g := NewWithT(t)
	data := dataOf(t, c)
	delete(data, servingKeyKey)
	read, err := parse(data)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read.serving).To(BeNil(), "a new one can be signed")
}

// FuzzParse feeds what anybody with the right to write the Secret could put into it.
func FuzzParse(f *testing.F) {
	c, _, err := testPolicy.next(content{}, start, false)
	if err != nil {
		f.Fatal(err)
	}
	good := dataOf(f, c)
	f.Add(good[authorityCertKey], good[authorityKeyKey], good[servingCertKey], good[servingKeyKey])
	f.Add(append(good[authorityCertKey], good[authorityCertKey]...), good[authorityKeyKey], good[servingCertKey], good[authorityKeyKey])
	f.Add(good[servingCertKey], good[servingKeyKey], []byte{}, []byte{})
	f.Add([]byte("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"), []byte{}, []byte{}, []byte{})
	f.Fuzz(func(t *testing.T, authorityCert, authorityKey, servingCert, servingKey []byte) {
		read, err := parse(map[string][]byte{
			authorityCertKey: authorityCert, authorityKeyKey: authorityKey, servingCertKey: servingCert, servingKeyKey: servingKey,
		})
		if err != nil {
			return
		}
		following, _, err := testPolicy.next(read, start, false)
		if err != nil {
			t.Skip("an authority that can't sign, as one without the right to", err)
		}
		again, err := parse(dataOf(t, following))
		if err != nil {
			t.Fatalf("what was written can't be read: %v", err)
		}
		if again.serving == nil || len(again.authorities) != len(following.authorities) {
			t.Fatal("what was written is not what was read")
		}
		if _, changes, err := testPolicy.next(again, start, false); err != nil || len(changes) > 0 {
			t.Fatalf("once is not enough: %v, %v", changes, err)
		}
	})
}
