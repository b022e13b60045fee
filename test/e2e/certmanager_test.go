// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// certManagerModule depends on the release of cert-manager, and holds a program that runs it.
const certManagerModule = "test/e2e/certmanager"

// The manager has no right here that has to do with certificates: it reads them from files.
var _ = Describe("Machinist with cert-manager", Ordered, func() {
	var (
		machinist *installation
		blue      *fleet
		namespace string
	)
	const machine = "blue-control-plane-0"

	BeforeAll(func(ctx SpecContext) {
		installCertManager(ctx)
		installProviders(ctx)
		machinist = deploy(ctx, "overlays/cert-manager")
		namespace = newNamespace(ctx)
		sim := startSimulator(ctx, false)
		eventuallyRefused(ctx, metav1.NamespaceDefault) // as soon as cert-manager has told the API server whom to trust
		blue = createFleet(ctx, sim, namespace, "blue", simMachine, 1)
	}, NodeTimeout(buildTimeout))

	It("warns, and converts", func(ctx SpecContext) {
		expectWarned(ctx)
		blue.eventuallyRunning(ctx, 1)
		expectConverted(ctx, blue.key(machine))
	}, NodeTimeout(2*eventuallyTimeout))

	It("answers while its certificate is renewed", func(ctx SpecContext) {
		if target.audit == "" {
			Skip("which certificate a pod shows can't be seen from here")
		}
		key := types.NamespacedName{Namespace: system, Name: certificateName}
		secret := &corev1.Secret{}
		Expect(k8s.Get(ctx, key, secret)).To(Succeed())
		before := secret.Data[corev1.TLSCertKey]
		l := startLoad(blue, machine)
		eventuallyAsked := func(while string) {
			GinkgoHelper()
			since := l.requests.Load()
			Eventually(l.requests.Load).WithContext(ctx).Should(BeNumerically(">", since+minLoad), while)
		}
		Eventually(func(g Gomega) {
			g.Expect(k8s.Get(ctx, key, secret)).To(Succeed())
			if bytes.Equal(secret.Data[corev1.TLSCertKey], before) {
				renew(ctx, g, "machinist-serving-cert")
			}
			g.Expect(secret.Data[corev1.TLSCertKey]).NotTo(Equal(before))
			known := HaveField("ClientConfig.CABundle", ContainSubstring(string(secret.Data["ca.crt"])))
			validating := &admissionregistrationv1.ValidatingWebhookConfiguration{}
			g.Expect(k8s.Get(ctx, types.NamespacedName{Name: "machinist-validating-webhook-configuration"}, validating)).To(Succeed())
			g.Expect(validating.Webhooks).To(HaveEach(known))
			mutating := &admissionregistrationv1.MutatingWebhookConfiguration{}
			g.Expect(k8s.Get(ctx, types.NamespacedName{Name: "machinist-mutating-webhook-configuration"}, mutating)).To(Succeed())
			g.Expect(mutating.Webhooks).To(HaveEach(known))
		}).WithContext(ctx).Should(Succeed())
		eventuallyAsked("the API server knows of it, and the pods don't")
		for _, pod := range pods(ctx) {
			eventuallyServed(ctx, &pod, key, before)
		}
		eventuallyAsked("all of them show the new one")
		l.expectNoFailure()
	}, NodeTimeout(2*eventuallyTimeout))

	It("has asked for nothing that its roles don't allow, also to delete Machines", func(ctx SpecContext) {
		blue.delete(ctx)
		Expect(restarts(ctx)).To(BeZero(), describePods(ctx))
		machinist.expectNothingForbidden()
	}, NodeTimeout(2*eventuallyTimeout))

	It("leaves nothing when it is undeployed", func(ctx SpecContext) {
		machinist.undeployLeaving(ctx, "Namespace "+namespace)
	}, NodeTimeout(deployTimeout))
})

// installCertManager sees to it that cert-manager runs until the end of the container that it is called in: the cluster's, if
// it has one, or else one in a process of its own, as the providers are in this one.
func installCertManager(ctx context.Context) {
	GinkgoHelper()
	crd := types.NamespacedName{Name: "certificates.cert-manager.io"}
	err := k8s.Get(ctx, crd, &apiextensionsv1.CustomResourceDefinition{})
	if err == nil {
		return
	}
	Expect(err).To(Satisfy(apierrors.IsNotFound))
	const module = "github.com/cert-manager/cert-manager"
	binary := filepath.Join(GinkgoT().TempDir(), "cert-manager")
	// Built as the manager is, so that much of it has been built already.
	run(ctx, []string{"CGO_ENABLED=0"}, "go", "-C", certManagerModule, "build", "-trimpath", "-o", binary, ".")
	folder := run(ctx, nil, "go", "-C", certManagerModule, "list", "-m", "-f", "{{.Dir}}", module)
	installDefinitions(envtest.CRDInstallOptions{Paths: []string{filepath.Join(folder, "deploy", "crds")}, ErrorIfPathMissing: true})

	command := exec.CommandContext(context.WithoutCancel(ctx), binary) // it ends with the container, not with the node
	command.Env = append(os.Environ(), "KUBECONFIG="+target.kubeconfig)
	command.Stdout, command.Stderr = GinkgoWriter, GinkgoWriter
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C in a terminal is for the suite
	input, err := command.StdinPipe()                         // ends with this process, however that ends, and the program with it
	Expect(err).NotTo(HaveOccurred())
	Expect(command.Start()).To(Succeed())
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	DeferCleanup(func(ctx SpecContext) {
		Expect(ended).NotTo(Receive(), "it has ended by itself")
		Expect(input.Close()).To(Succeed())
		Eventually(ended).WithContext(ctx).Should(Receive(BeNil()))
	})
}

// renew asks cert-manager for a new certificate, in the way in which its command line tool does, unless it is at it. An attempt
// can fail: cert-manager's controllers may see a key or a request of the one before.
func renew(ctx context.Context, g Gomega, name string) {
	GinkgoHelper()
	certificate := &unstructured.Unstructured{}
	certificate.SetAPIVersion("cert-manager.io/v1")
	certificate.SetKind("Certificate")
	g.Expect(k8s.Get(ctx, types.NamespacedName{Namespace: system, Name: name}, certificate)).To(Succeed())
	conditions, _, err := unstructured.NestedSlice(certificate.Object, "status", "conditions")
	g.Expect(err).NotTo(HaveOccurred())
	isIssuing := func(condition any) bool { return condition.(map[string]any)["type"] == "Issuing" }
	if i := slices.IndexFunc(conditions, isIssuing); i >= 0 && conditions[i].(map[string]any)["status"] == "True" {
		return
	}
	conditions = append(slices.DeleteFunc(conditions, isIssuing), map[string]any{
		"type": "Issuing", "status": "True", "reason": "ManuallyTriggered", "message": "the end-to-end test wants a new one",
		"lastTransitionTime": metav1.Now().UTC().Format(time.RFC3339),
	})
	g.Expect(unstructured.SetNestedSlice(certificate.Object, conditions, "status", "conditions")).To(Succeed())
	g.Expect(k8s.Status().Update(ctx, certificate)).To(Succeed())
}

// eventuallyServed waits until the webhooks of a pod show the certificate that is in the Secret, and not the one before. Which
// one that is may change meanwhile: cert-manager at times makes two where it was asked for one.
func eventuallyServed(ctx context.Context, pod *corev1.Pod, secret types.NamespacedName, before []byte) {
	GinkgoHelper()
	attempt := 0
	Eventually(func(g Gomega) {
		// kubelet looks at a pod's Secrets about once a minute, and when the pod changes.
		attempt++
		touch := fmt.Appendf(nil, `{"metadata":{"annotations":{"e2e.machinist.dev/renewed":"%d"}}}`, attempt)
		g.Expect(k8s.Patch(ctx, pod, client.RawPatch(types.MergePatchType, touch))).To(Succeed())
		now := &corev1.Secret{}
		g.Expect(k8s.Get(ctx, secret, now)).To(Succeed())
		served, err := servedBy(ctx, pod)
		g.Expect(err).NotTo(HaveOccurred())
		shown := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: served}))
		g.Expect(shown).NotTo(Equal(string(before)))
		g.Expect(shown).To(Equal(string(now.Data[corev1.TLSCertKey])))
	}).WithContext(ctx).WithPolling(2*time.Second).Should(Succeed(), pod.Name)
}
