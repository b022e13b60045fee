// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/machinist-dev/machinist/webhooks/certificates"
)

// unhurried is a timing that leaves the API server two seconds to hear of a bundle.
var unhurried = certificates.Timing{Interval: 200 * time.Millisecond, Propagation: 2 * time.Second}

// retire asks as kubectl annotate does.
func (w *world) retire(ctx context.Context, request string) {
	GinkgoHelper()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{certificates.RetireAnnotation: request}}})
	Expect(err).NotTo(HaveOccurred())
	Expect(k8s.Patch(ctx, &corev1.Secret{ObjectMeta: w.metadata(secretName)}, client.RawPatch(types.MergePatchType, patch))).To(Succeed())
}

// rationed has replicas need the spec's leave for each write of the Secret, once there is one.
func (w *world) rationed() *ration {
	writes := newRation("/secrets/" + secretName)
	w.config = rest.CopyConfig(w.config)
	w.config.Wrap(writes.wrap)
	return writes
}

// retiring checks that the authority is to be retired, and that it and its successor are trusted.
func (w *world) retiring(ctx context.Context, g Gomega, old *x509.Certificate) {
	secret := w.secret(ctx, g)
	g.Expect(secret.Annotations).To(HaveKeyWithValue(certificates.RetireAnnotation, plainFingerprint(old)), "not the new one")
	g.Expect(certificatesIn(g, secret.Data["ca.crt"])).To(HaveExactElements(Not(Satisfy(old.Equal)), Satisfy(old.Equal)))
	g.Expect(w.bundles(ctx, g)).To(HaveEach(Equal(secret.Data["ca.crt"])))
}

// plainFingerprint is what is in the annotation.
func plainFingerprint(certificate *x509.Certificate) string {
	return strings.ToLower(strings.ReplaceAll(opensslFingerprint(certificate), ":", ""))
}

// opensslFingerprint is what openssl x509 -fingerprint -sha256 prints.
func opensslFingerprint(certificate *x509.Certificate) string {
	return strings.ReplaceAll(fmt.Sprintf("% X", sha256.Sum256(certificate.Raw)), " ", ":")
}

// succeeded checks that the replicas show what an authority has signed that is not the given one.
func (w *world) succeeded(ctx context.Context, g Gomega, old *x509.Certificate, replicas ...*replica) {
	serving := w.serving(ctx, g)
	g.Expect(serving.CheckSignatureFrom(old)).NotTo(Succeed())
	for _, r := range replicas {
		r.serves(ctx, g, serving.Raw)
	}
}

// eventuallyRetired waits until nobody trusts the authority, and the request is gone.
func (w *world) eventuallyRetired(ctx context.Context, old *x509.Certificate) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		secret := w.secret(ctx, g)
		g.Expect(secret.Annotations).NotTo(HaveKey(certificates.RetireAnnotation))
		for _, bundle := range append(w.bundles(ctx, g), secret.Data["ca.crt"]) {
			g.Expect(certificatesIn(g, bundle)).To(And(HaveLen(1), Not(ContainElement(Satisfy(old.Equal)))))
		}
	}).WithContext(ctx).Should(Succeed())
}

// versions of all objects that Keepers write.
func (w *world) versions(ctx context.Context) []string {
	GinkgoHelper()
	g := NewWithT(GinkgoT())
	crd := &apiextensionsv1.CustomResourceDefinition{}
	g.Expect(k8s.Get(ctx, types.NamespacedName{Name: w.crd()}, crd)).To(Succeed())
	return []string{w.secret(ctx, g).ResourceVersion, w.configuration(ctx, g).ResourceVersion, crd.ResourceVersion}
}

// impersonate has the API server call somebody who has what was in the Secret.
func (w *world) impersonate(ctx context.Context, stolen *corev1.Secret) {
	GinkgoHelper()
	certificate, err := tls.X509KeyPair(stolen.Data[corev1.TLSCertKey], stolen.Data[corev1.TLSPrivateKeyKey])
	Expect(err).NotTo(HaveOccurred())
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	impostor := &http.Server{
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS13}, Handler: http.HandlerFunc(convert),
		ReadHeaderTimeout: time.Second, ErrorLog: log.New(io.Discard, "", 0),
	}
	go func() { _ = impostor.ServeTLS(listener, "", "") }()
	DeferCleanup(impostor.Close)
	w.balancer.add(listener.Addr().String())
}

var _ = Describe("An authority whose key somebody else may have", func() {
	It("is retired while replicas come and go, without a request that fails", func(ctx SpecContext) {
		w := newWorld(ctx, unhurried)
		inNamespace, inCluster := w.needed()
		w.as(ctx, inNamespace, inCluster)
		Expect(k8s.Create(ctx, &corev1.Secret{ObjectMeta: w.metadata(secretName)})).To(Succeed())
		writes := w.rationed()
		writes.allow()
		replicas := []*replica{w.run(ctx), w.run(ctx)}
		stolen := w.secret(ctx, NewWithT(GinkgoT()))
		old := w.authorities(ctx, NewWithT(GinkgoT()))[0]
		load := w.startLoad(ctx)
		replace := func() {
			replicas = append(replicas, w.run(ctx))
			replicas[0].tell()
			w.balancer.remove(replicas[0].address)
			replicas[0].stop()
			replicas = replicas[1:]
		}
		w.retire(ctx, certificates.AllAuthorities)
		replaceWhile := func(state func(g Gomega)) {
			writes.allow()
			Eventually(state).WithContext(ctx).Should(Succeed())
			replace()
			load.goesOn(ctx) // time for the API server to hear of it, however slow that is now
			state(NewWithT(GinkgoT()))
		}

		By("restarting when the new authority is there, and the old one signs")
		replaceWhile(func(g Gomega) {
			w.retiring(ctx, g, old)
			g.Expect(w.serving(ctx, g).CheckSignatureFrom(old)).To(Succeed())
		})

		By("restarting when the new authority has signed, and the old one is trusted")
		replaceWhile(func(g Gomega) {
			w.retiring(ctx, g, old)
			w.succeeded(ctx, g, old, replicas...)
		})

		By("going on without the old one")
		writes.allow()
		w.eventuallyRetired(ctx, old)
		writes.allow() // but none is needed
		versions := w.versions(ctx)
		Consistently(w.versions).WithContext(ctx).WithArguments(ctx).Should(Equal(versions))
		load.expectNoFailure()
		Expect(w.steps.taken()).To(HaveExactElements("authority serving certificate", "authority", "serving certificate", "retirement"))

		By("refusing somebody who has the old key")
		for _, r := range replicas {
			w.balancer.remove(r.address)
			r.stop()
		}
		w.impersonate(ctx, stolen)
		Eventually(w.admit).WithContext(ctx).Should(MatchError(ContainSubstring("certificate signed by unknown authority")))
		Eventually(w.convert).WithContext(ctx).Should(MatchError(ContainSubstring("certificate signed by unknown authority")))
	})

	It("does not come back by a replica that is late", func(ctx SpecContext) {
		w := newWorld(ctx, unhurried)
		writes := w.rationed()
		prompt := w.run(ctx)
		old := w.authorities(ctx, NewWithT(GinkgoT()))[0]
		load := w.startLoad(ctx)
		w.retire(ctx, opensslFingerprint(old))
		writes.allow()
		Eventually(func(g Gomega) { w.retiring(ctx, g, old) }).WithContext(ctx).Should(Succeed())
		load.goesOn(ctx) // time for the API server to hear of it, however slow that is now
		writes.allow()
		Eventually(func(g Gomega) { w.succeeded(ctx, g, old, prompt) }).WithContext(ctx).Should(Succeed())

		By("holding up one that has read what is trusted, and is about to write that")
		const heldUp = 30 * time.Second // then a look ends, and the next one reads anew
		closed, gate := time.Now(), newGate("/validatingwebhookconfigurations/"+w.namespace)
		gate.close()
		w.config = rest.CopyConfig(w.config)
		w.config.Wrap(gate.wrap)
		late := w.start(ctx)
		Eventually(gate.waiting).WithContext(ctx).Should(BeNumerically(">", 0))
		w.retiring(ctx, NewWithT(GinkgoT()), old)
		writes.allow()
		w.eventuallyRetired(ctx, old)
		versions := w.versions(ctx)
		writes.allow() // but none is needed
		passed := gate.open()
		Expect(time.Since(closed)).To(BeNumerically("<", heldUp), "this machine is too slow for the test: nobody was late")
		Eventually(gate.passed).WithContext(ctx).Should(BeNumerically(">", passed+2))
		Expect(w.versions(ctx)).To(Equal(versions))
		w.callWhenReady(ctx, late)
		load.goesOn(ctx)
		load.expectNoFailure()
	})

	It("is not retired by a request that is wrong, which is told", func(ctx SpecContext) {
		w := newWorld(ctx, calm)
		w.run(ctx)
		w.run(ctx)
		old := w.authorities(ctx, NewWithT(GinkgoT()))[0]
		before := w.secret(ctx, NewWithT(GinkgoT())).Data
		serving := opensslFingerprint(w.serving(ctx, NewWithT(GinkgoT())))
		for request, wrong := range map[string]string{
			"": `""`, "yes": `"yes"`, "all,": `"all"`, opensslFingerprint(old) + ",": `""`, serving: `"` + serving + `"`,
			strings.Repeat("a", 250_000): `"` + strings.Repeat("a", 100) + `"`,
		} {
			w.retire(ctx, request)
			Eventually(func(g Gomega) {
				annotations := w.secret(ctx, g).Annotations
				g.Expect(annotations).NotTo(HaveKey(certificates.RetireAnnotation))
				g.Expect(annotations).To(HaveKeyWithValue(certificates.RefusedAnnotation, And(
					ContainSubstring(plainFingerprint(old)), ContainSubstring("found "+wrong))))
			}).WithContext(ctx).Should(Succeed())
		}
		versions := w.versions(ctx)
		Consistently(w.versions).WithContext(ctx).WithArguments(ctx).Should(Equal(versions))
		Expect(w.secret(ctx, NewWithT(GinkgoT())).Data).To(Equal(before))

		By("asking for the right one")
		w.retire(ctx, opensslFingerprint(old))
		w.eventuallyRetired(ctx, old)
		Expect(w.secret(ctx, NewWithT(GinkgoT())).Annotations).NotTo(HaveKey(certificates.RefusedAnnotation))
	})
})
