// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

const (
	// RetireAnnotation of the Secret asks for authorities to be retired, as somebody else may have their key: AllAuthorities, or
	// fingerprints (SHA-256, in hexadecimal, with or without colons) of certificates in ca.crt, separated by commas. It is
	// there until they leave the Secret; the targets are told at once.
	RetireAnnotation = "machinist.dev/retire-authorities"
	// AllAuthorities are those that are in the Secret when the request is seen.
	AllAuthorities = "all"
	// RefusedAnnotation of the Secret says why a request was taken off without being met. It is there until the next request.
	RefusedAnnotation = "machinist.dev/retire-authorities-refused"

	// retirement is what retire has done.
	retirement = "retirement"
	// laggards is for how many times the propagation all replicas must have been able to take a certificate of the newest
	// authority before others are retired. One whose connection to the API server has died learns that after 45 s; what it does
	// then takes up to 30 s for what fails and 12 s until it looks again.
	laggards = 2
)

// fingerprint identifies a certificate as openssl does, but for colons and case.
func fingerprint(certificate *x509.Certificate) string {
	return fmt.Sprintf("%x", sha256.Sum256(certificate.Raw))
}

func fingerprints(certificates []*x509.Certificate) []string {
	found := make([]string, len(certificates))
	for i, certificate := range certificates {
		found[i] = fingerprint(certificate)
	}
	return found
}

// asked returns the content with what the annotations of its Secret ask to retire. An error says why that is refused.
// Annotations that ask nothing leave it as it is: a Secret that was deleted in the middle has lost its request. A content
// without authorities meets any request: who starts with an emptied Secret trusts nobody who is named there.
func (c content) asked(annotations map[string]string) (content, error) {
	request, asked := annotations[RetireAnnotation]
	if !asked {
		return c, nil
	}
	c.retiring = nil
	if len(c.authorities) == 0 {
		return c, nil
	}
	trusted := fingerprints(c.authorities)
	if request == AllAuthorities {
		c.retiring = trusted
		return c, nil
	}
	var retiring []string
	for given := range strings.SplitSeq(request, ",") {
		wanted := strings.ToLower(strings.ReplaceAll(strings.TrimSpace(given), ":", ""))
		if !slices.Contains(trusted, wanted) {
			// What was found could be as long as all annotations may be together.
			return c, fmt.Errorf("annotation %s: expected %q, or SHA-256 fingerprints of certificates in %s, which are %s; found %.100q: correct it and ask again",
				RetireAnnotation, AllAuthorities, authorityCertKey, strings.Join(trusted, ","), given)
		}
		retiring = append(retiring, wanted)
	}
	c.retiring = retiring
	return c, nil
}

// retires reports whether the authority is asked to be retired.
func (c content) retires(authority *x509.Certificate) bool {
	return slices.Contains(c.retiring, fingerprint(authority))
}

// retire returns what should follow the present content when everybody has been told of it, and all serve what the newest
// authority has signed.
func (c content) retire() (following content, changes []string) {
	following = c
	following.authorities = slices.DeleteFunc(slices.Clone(c.authorities), c.retires)
	following.retiring = nil
	return following, []string{retirement}
}

// annotate brings the annotations of the Secret in line with what is still to be retired, or with why it isn't, and reports
// whether it had to change something. The request for all becomes one for those that there were, so that it ends.
func annotate(secret *corev1.Secret, retiring []string, refusal error) bool {
	after := maps.Clone(secret.Annotations)
	if after == nil {
		after = map[string]string{}
	}
	if _, asked := after[RetireAnnotation]; asked {
		delete(after, RefusedAnnotation)
		delete(after, RetireAnnotation)
	}
	if len(retiring) > 0 {
		after[RetireAnnotation] = strings.Join(retiring, ",")
	}
	if refusal != nil {
		after[RefusedAnnotation] = refusal.Error()
	}
	changed := !maps.Equal(after, secret.Annotations)
	secret.Annotations = after
	return changed
}
