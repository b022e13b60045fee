// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"bytes"
	"context"
	"crypto/tls"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/machinist-dev/machinist/webhooks/certificates"
)

// brief is a timing in which an authority is followed after 12 s, and a certificate after 5 s.
var brief = certificates.Timing{
	AuthorityLifetime: 18 * time.Second, ServingLifetime: 8 * time.Second, Interval: 200 * time.Millisecond, Propagation: time.Second,
}

// rotationTimeout is patience with the lifetimes above.
const rotationTimeout = 60 * time.Second

// serves checks that the replica shows the certificate to who connects.
func (r *replica) serves(ctx context.Context, g Gomega, expected []byte) {
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} // it is compared below
	connection, err := dialer.DialContext(ctx, "tcp", r.address)
	g.Expect(err).NotTo(HaveOccurred())
	defer connection.Close() //nolint:errcheck // nothing was sent
	g.Expect(connection.(*tls.Conn).ConnectionState().PeerCertificates[0].Raw).To(Equal(expected))
}

var _ = Describe("Several replicas under load", func() {
	It("renew authority and certificates without a request that fails", func(ctx SpecContext) {
		w := newWorld(ctx, brief)
		replicas := []*replica{w.run(ctx), w.run(ctx), w.run(ctx)}
		first := w.authorities(ctx, NewWithT(GinkgoT()))[0]
		issued := w.serving(ctx, NewWithT(GinkgoT()))
		load := w.startLoad(ctx)

		By("renewing the certificate alone")
		Eventually(func(g Gomega) {
			serving := w.serving(ctx, g)
			g.Expect(serving.Equal(issued)).To(BeFalse())
			g.Expect(serving.CheckSignatureFrom(first)).To(Succeed())
		}).WithContext(ctx).WithTimeout(rotationTimeout).Should(Succeed())

		By("adding a new authority to the old one, which goes on to sign what is served")
		Eventually(func(g Gomega) {
			secret := w.secret(ctx, g)
			authorities, serving := certificatesIn(g, secret.Data["ca.crt"]), certificatesIn(g, secret.Data[corev1.TLSCertKey])[0]
			g.Expect(authorities).To(HaveLen(2))
			g.Expect(authorities[1].Equal(first)).To(BeTrue())
			g.Expect(serving.CheckSignatureFrom(first)).To(Succeed())
		}).WithContext(ctx).WithTimeout(rotationTimeout).Should(Succeed())

		By("signing by the new one when the API server has been told")
		Eventually(func(g Gomega) {
			secret := w.secret(ctx, g)
			authorities, serving := certificatesIn(g, secret.Data["ca.crt"]), certificatesIn(g, secret.Data[corev1.TLSCertKey])[0]
			g.Expect(serving.CheckSignatureFrom(authorities[0])).To(Succeed())
			g.Expect(authorities[1].Equal(first)).To(BeTrue(), "there may be replicas that haven't heard of it")
			g.Expect(w.bundles(ctx, g)).To(HaveEach(Equal(secret.Data["ca.crt"])))
			for _, r := range replicas {
				r.serves(ctx, g, serving.Raw)
			}
		}).WithContext(ctx).WithTimeout(rotationTimeout).Should(Succeed())

		By("working after the end of the old one")
		Eventually(func() bool { return time.Now().After(first.NotAfter.Add(time.Second)) }).WithContext(ctx).WithTimeout(rotationTimeout).Should(BeTrue())
		load.expectNoFailure()
	})

	DescribeTable("start again when somebody loses the Secret, without a request that fails", func(ctx SpecContext, lose func(ctx context.Context, secret *corev1.Secret)) {
		w := newWorld(ctx, calm)
		w.run(ctx)
		w.run(ctx)
		first := w.authorities(ctx, NewWithT(GinkgoT()))[0]
		load := w.startLoad(ctx)
		lose(ctx, w.secret(ctx, NewWithT(GinkgoT())))
		Eventually(func(g Gomega) {
			authorities := w.authorities(ctx, g)
			g.Expect(authorities).To(HaveLen(2))
			g.Expect(authorities[1].Equal(first)).To(BeTrue())
			g.Expect(w.serving(ctx, g).CheckSignatureFrom(authorities[0])).To(Succeed())
		}).WithContext(ctx).Should(Succeed())
		Consistently(func(g Gomega) { g.Expect(w.authorities(ctx, g)).To(HaveLen(2)) }).WithContext(ctx).Should(Succeed())
		load.expectNoFailure()
	},
		Entry("by deleting it", func(ctx context.Context, secret *corev1.Secret) {
			Expect(k8s.Delete(ctx, secret)).To(Succeed())
		}),
		Entry("by emptying it", func(ctx context.Context, secret *corev1.Secret) {
			secret.Data = nil
			Expect(k8s.Update(ctx, secret)).To(Succeed())
		}),
		Entry("by losing a key", func(ctx context.Context, secret *corev1.Secret) {
			delete(secret.Data, "ca.key")
			Expect(k8s.Update(ctx, secret)).To(Succeed())
		}),
		Entry("by nonsense in it", func(ctx context.Context, secret *corev1.Secret) {
			secret.Data["ca.crt"] = bytes.Repeat([]byte("nonsense"), 10)
			Expect(k8s.Update(ctx, secret)).To(Succeed())
		}),
	)

	It("come and go, as in a rolling upgrade, without a request that fails", func(ctx SpecContext) {
		w := newWorld(ctx, calm)
		replicas := []*replica{w.run(ctx), w.run(ctx)}
		load := w.startLoad(ctx)
		for range 4 {
			before := load.admitted.Load()
			replicas = append(replicas, w.run(ctx))
			// What happens to a pod that is deleted, all at about the same time.
			replicas[0].tell()
			w.balancer.remove(replicas[0].address)
			replicas[0].stop()
			replicas = replicas[1:]
			Eventually(load.admitted.Load).WithContext(ctx).Should(BeNumerically(">", before+20))
		}
		load.expectNoFailure()
	})

	It("tell a caller that was made anew, or has forgotten", func(ctx SpecContext) {
		w := newWorld(ctx, calm)
		w.run(ctx)
		g := NewWithT(GinkgoT())
		bundle := w.secret(ctx, g).Data["ca.crt"]
		configuration := w.configuration(ctx, g)
		Expect(k8s.Delete(ctx, configuration)).To(Succeed())
		w.installAdmission(ctx)
		Eventually(func(g Gomega) { g.Expect(w.bundles(ctx, g)).To(HaveEach(Equal(bundle))) }).WithContext(ctx).Should(Succeed())
		configuration = w.configuration(ctx, g)
		configuration.Webhooks[0].ClientConfig.CABundle = nil
		Expect(k8s.Update(ctx, configuration)).To(Succeed())
		Eventually(func(g Gomega) { g.Expect(w.bundles(ctx, g)).To(HaveEach(Equal(bundle))) }).WithContext(ctx).Should(Succeed())
	})

	It("that start at the same time agree on one authority", func(ctx SpecContext) {
		w := newWorld(ctx, calm)
		replicas := []*replica{w.start(ctx), w.start(ctx), w.start(ctx), w.start(ctx)}
		Eventually(func(g Gomega) {
			serving := w.serving(ctx, g)
			for _, r := range replicas {
				g.Expect(r.StartedChecker()(nil)).To(Succeed())
				r.serves(ctx, g, serving.Raw)
			}
		}).WithContext(ctx).Should(Succeed())
		Expect(w.authorities(ctx, NewWithT(GinkgoT()))).To(HaveLen(1))
		Expect(w.secret(ctx, NewWithT(GinkgoT())).ManagedFields).To(ConsistOf(HaveField("Manager", "machinist-webhook-certificates")))

		By("writing nothing more")
		versions := func() []string {
			return []string{w.secret(ctx, NewWithT(GinkgoT())).ResourceVersion, w.configuration(ctx, NewWithT(GinkgoT())).ResourceVersion}
		}
		Consistently(versions).WithContext(ctx).Should(Equal(versions()))
	})
})
