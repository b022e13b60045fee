// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/apis/contract"
	"github.com/machinist-dev/machinist/controllers/external"
	"github.com/machinist-dev/machinist/generated/facade"
	"github.com/machinist-dev/machinist/generated/facadetest"
	"github.com/machinist-dev/machinist/test/matcher"
)

const (
	expiryAnnotation = "machine.cluster.x-k8s.io/certificates-expiry"
	early, late      = "2027-01-31T12:00:00Z", "2028-01-31T12:00:00Z"
)

func controlPlane(s *scope) {
	metav1.SetMetaDataLabel(&s.machine.ObjectMeta, clusterv1.MachineControlPlaneLabel, "")
}

// configSays is a BootstrapConfig that was read, with that value of the annotation, "" being none.
func configSays(expiry string) fact {
	return func(s *scope) {
		object := facadetest.NewBootstrapConfig(contract.V1Beta2).Build()
		if expiry != "" {
			object.SetAnnotations(map[string]string{expiryAnnotation: expiry})
		}
		fields, err := facade.WrapBootstrapConfig(object, contract.V1Beta2)
		wrong := sortFieldErrors(err)
		Expect(wrong.fields).NotTo(HaveOccurred(), "the object can be used all the same")
		s.bootstrap.object, s.bootstrap.fields, s.bootstrap.expiryErr = &external.Object{}, fields, wrong.expiry
	}
}

func expires(date string) fact {
	return func(s *scope) { s.machine.Status.CertificatesExpiryDate = dateOf(date) }
}

func dateOf(text string) metav1.Time {
	if text == "" {
		return metav1.Time{}
	}
	date, err := time.Parse(time.RFC3339, text)
	Expect(err).NotTo(HaveOccurred())
	return metav1.NewTime(date)
}

var _ = Describe("The date at which certificates expire", func() {
	DescribeTable("is that of the annotation", func(expected string, facts ...fact) {
		s := knowing(facts...)
		setCertificatesExpiry(s)
		Expect(s.machine.Status.CertificatesExpiryDate).To(Equal(dateOf(expected)))
		Expect(s.events).To(BeEmpty())
	},
		Entry("of a worker: none, whatever it says", "", annotated(expiryAnnotation, early), configSays(late)),
		Entry("of a worker that had one: as it is", late, expires(late), annotated(expiryAnnotation, early)),
		Entry("nobody says", "", controlPlane, noConfigRef),
		Entry("the BootstrapConfig does not say", "", controlPlane, configSays("")),
		Entry("the BootstrapConfig says", early, controlPlane, configSays(early)),
		Entry("the Machine says", early, controlPlane, annotated(expiryAnnotation, early), configSays("")),
		Entry("both say: that of the Machine", early, controlPlane, annotated(expiryAnnotation, early), configSays(late)),
		Entry("a later one", late, controlPlane, expires(early), configSays(late)),
		Entry("in another time zone, and finer than a second", early, controlPlane, annotated(expiryAnnotation, "2027-01-31T14:00:00.75+02:00")),
		Entry("nobody says any more", "", controlPlane, expires(early), configSays("")),
		Entry("the BootstrapConfig is gone", "", controlPlane, expires(early), configIs(missing)),
		Entry("the BootstrapConfig can't be read: it may still say so", early, controlPlane, expires(early), configIs(problem(errors.New("forbidden")))),
		Entry("the cache is behind", early, controlPlane, expires(early), func(s *scope) { s.bootstrap.behind = true }),
		Entry("another field of the BootstrapConfig is wrong", late, controlPlane, expires(early), configSays(late), func(s *scope) { s.bootstrap.problem = errFields }),
	)

	DescribeTable("stays, and an event says why, if the annotation is wrong", func(text string, facts ...fact) {
		s := knowing(append([]fact{controlPlane, expires(early)}, facts...)...)
		setCertificatesExpiry(s)
		Expect(s.machine.Status.CertificatesExpiryDate).To(Equal(dateOf(early)))
		Expect(s.events).To(HaveLen(1))
		Expect(s.events[0].reason).To(Equal("InvalidCertificatesExpiry"))
		Expect(s.events[0].note).To(ContainSubstring(text))
	},
		Entry("of the Machine", `is "tomorrow"`, annotated(expiryAnnotation, "tomorrow")),
		Entry("of the Machine, although that of the BootstrapConfig is right", `is ""`, annotated(expiryAnnotation, ""), configSays(late)),
		Entry("of the Machine, before all times", `is "0000-01-01T00:00:00+01:00"`, annotated(expiryAnnotation, "0000-01-01T00:00:00+01:00")),
		Entry("of the BootstrapConfig", "SimConfig: .metadata.annotations", configSays("tomorrow")),
		Entry("of the BootstrapConfig, after all times", "SimConfig: the annotation", configSays("9999-12-31T23:59:59-01:00")),
	)

	It("is one that the API server takes, whatever the annotation", func() {
		rapid.Check(GinkgoT(), func(t *rapid.T) {
			text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?(Z|[+-][01][0-9]:00)`)).Draw(t, "annotation")
			s := knowing(controlPlane, annotated(expiryAnnotation, text))
			s.machine.Status.SetTypedPhase(clusterv1.MachinePhasePending)
			setCertificatesExpiry(s)
			NewWithT(t).Expect(s.machine).To(matcher.HaveValidStatus())
		})
	})
})
