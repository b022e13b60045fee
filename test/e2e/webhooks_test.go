// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"crypto/tls"
	"errors"
	"net"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/machinist-dev/machinist/test/builder"
)

// webhookPort is the one of the manager's pods.
const webhookPort = "9443"

// eventuallyRefused waits until a Machine that can't work is refused in a namespace: the API server reaches ready pods by their
// Service a moment later.
func eventuallyRefused(ctx context.Context, namespace string) {
	GinkgoHelper()
	machine := builder.Machine(namespace, "refused").WithVersion("one.two").Build()
	Eventually(func() error { return k8s.Create(ctx, machine.DeepCopy(), client.DryRunAll) }).WithContext(ctx).
		Should(MatchError(ContainSubstring("must be a valid semantic version")))
	Expect(k8s.Create(ctx, machine, client.DryRunAll)).To(Satisfy(apierrors.IsInvalid))
}

// expectWarned makes sure that a reference to a kind that does not exist gets a warning, and is allowed.
func expectWarned(ctx context.Context) {
	GinkgoHelper()
	unknown := metalMachine
	unknown.Kind = "AbsentMachine"
	machine := builder.Machine(metav1.NamespaceDefault, "warned").WithInfrastructureRef(unknown, "warned").Build()
	target.warnings.take()
	Expect(k8s.Create(ctx, machine, client.DryRunAll)).To(Succeed())
	Expect(target.warnings.take()).To(ContainElement(HavePrefix("spec.infrastructureRef")))
}

// expectConverted makes sure that a Machine that is Running can be read as v1beta1.
func expectConverted(ctx context.Context, key types.NamespacedName) {
	GinkgoHelper()
	machine := &unstructured.Unstructured{}
	machine.SetAPIVersion("cluster.x-k8s.io/v1beta1")
	machine.SetKind("Machine")
	Eventually(func() error { return k8s.Get(ctx, key, machine) }).WithContext(ctx).Should(Succeed(), "as soon as the API server knows the authority")
	ready, found, err := unstructured.NestedBool(machine.Object, "status", "infrastructureReady")
	Expect([]any{ready, found, err}).To(Equal([]any{true, true, nil}), "the flag is only in v1beta1")
}

// servedBy returns the certificate that the webhooks of a pod show. Pods can be reached from here on a cluster of ours only.
func servedBy(ctx context.Context, pod *corev1.Pod) ([]byte, error) {
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} // it is only looked at
	connection, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(pod.Status.PodIP, webhookPort))
	if err != nil {
		return nil, err
	}
	defer func() { _ = connection.Close() }() // nothing is sent
	secure, ok := connection.(*tls.Conn)
	if !ok {
		return nil, errors.New("the connection is not TLS")
	}
	return secure.ConnectionState().PeerCertificates[0].Raw, nil
}
