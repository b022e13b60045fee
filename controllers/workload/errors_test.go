// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestStableText(t *testing.T) {
	g := NewWithT(t)
	for text, stable := range map[string]string{
		"read tcp 10.0.0.5:43210->10.1.1.1:6443: connection reset by peer":                                         "read tcp 10.1.1.1:6443: connection reset by peer",
		"x509: certificate has expired or is not yet valid: current time 2026-11-30T07:00:00Z is after 2026-01-01": "x509: certificate has expired or is not yet valid is after 2026-01-01",
		"dial tcp 10.1.1.1:6443: connect: connection refused":                                                      "dial tcp 10.1.1.1:6443: connect: connection refused",
	} {
		g.Expect(StableText(errors.New(text))).To(Equal(stable))
	}
}

// secrets answers every request for a Secret with the error.
type secrets struct {
	client.Reader
	err error
}

func (s secrets) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return s.err
}

// TestNoKubeconfig: only that there is no Secret means that nobody can reach the workload cluster.
func TestNoKubeconfig(t *testing.T) {
	g := NewWithT(t)
	asked := func(answer error) error {
		clusters := NewClusters(Options{Secrets: secrets{err: answer}})
		_, _, err := (&connection{clusters: clusters, cluster: types.NamespacedName{Namespace: "ns", Name: "blue"}}).readKubeconfig(t.Context())
		return fmt.Errorf("%w: %w", ErrNotConnected, stable(err))
	}
	missing := apierrors.NewNotFound(corev1.Resource("secrets"), "blue-kubeconfig")
	g.Expect(asked(missing)).To(MatchError(ErrNoKubeconfig))
	g.Expect(asked(missing)).To(MatchError(ErrNotConnected))
	g.Expect(asked(missing)).To(MatchError("connection to the workload cluster is down: reading the kubeconfig Secret ns/blue-kubeconfig: " + missing.Error()))
	g.Expect(asked(errors.New("no answer"))).NotTo(MatchError(ErrNoKubeconfig))
}
