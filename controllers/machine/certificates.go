// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// setCertificatesExpiry says of a control plane Machine when its certificates expire, as its provider does in an annotation
// of the Machine or, if there is none, of the BootstrapConfig. Control plane providers replace Machines in time by it, so a
// date is cleared only if it is known that nobody names one any more.
func setCertificatesExpiry(s *scope) {
	if _, controlPlane := s.machine.Labels[clusterv1.MachineControlPlaneLabel]; !controlPlane {
		return
	}
	expiry, err := certificatesExpiry(s)
	switch {
	case err != nil:
		// Only a change of the annotation can help, and wakes the Machine.
		s.warning("InvalidCertificatesExpiry", "Read", err.Error())
	case expiry != nil:
		s.machine.Status.CertificatesExpiryDate = metav1.NewTime(expiry.UTC().Truncate(time.Second))
	}
}

// certificatesExpiry returns the date, which is zero if there is none, or nil if that can't be known at the moment.
func certificatesExpiry(s *scope) (*time.Time, error) {
	if text, ok := s.machine.Annotations[clusterv1.MachineCertificatesExpiryDateAnnotation]; ok {
		expiry, err := time.Parse(time.RFC3339, text)
		if err != nil || !storable(expiry) {
			return nil, fmt.Errorf("annotation %s of the Machine is %q, expected a time such as 2027-01-31T12:00:00Z",
				clusterv1.MachineCertificatesExpiryDateAnnotation, text)
		}
		return &expiry, nil
	}
	config := &s.bootstrap
	switch {
	case config.expiryErr != nil:
		return nil, fmt.Errorf("%s: %w", s.machine.Spec.Bootstrap.ConfigRef.Kind, config.expiryErr)
	case config.object != nil:
		expiry, _ := config.fields.CertificatesExpiry()
		if !storable(expiry.Time) {
			return nil, fmt.Errorf("%s: the annotation %s names a time that the Machine's status can't hold: %s",
				s.machine.Spec.Bootstrap.ConfigRef.Kind, clusterv1.MachineCertificatesExpiryDateAnnotation, expiry)
		}
		return &expiry.Time, nil
	case config.problem == nil && !config.behind:
		return &time.Time{}, nil
	}
	return nil, nil //nolint:nilnil // "not known" is an ordinary answer here
}

// storable reports whether the API server takes the time, which it stores in UTC with a year of four digits.
func storable(t time.Time) bool {
	year := t.UTC().Year()
	return year >= 1 && year <= 9999
}
