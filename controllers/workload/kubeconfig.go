// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// kubeconfigKey is where the Secret has the kubeconfig.
const kubeconfigKey = "value"

// digest tells one kubeconfig from another without keeping credentials.
type digest [sha256.Size]byte

// Never listed and never watched: who may get a Secret has to know its name.
//
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get

// readKubeconfig reads the Secret <cluster>-kubeconfig, and remembers the digest of what it has found.
func (c *connection) readKubeconfig(ctx context.Context) (types.NamespacedName, []byte, error) {
	secret := &corev1.Secret{}
	key := types.NamespacedName{Namespace: c.cluster.Namespace, Name: c.cluster.Name + "-kubeconfig"}
	if err := c.clusters.options.Secrets.Get(ctx, key, secret); err != nil {
		wrapped := fmt.Errorf("reading the kubeconfig Secret %s: %w", key, err)
		if apierrors.IsNotFound(err) {
			wrapped = noKubeconfigError{wrapped}
		}
		return key, nil, wrapped
	}
	data, ok := secret.Data[kubeconfigKey]
	if !ok {
		return key, nil, fmt.Errorf("kubeconfig Secret %s: missing key %q in secret data", key, kubeconfigKey)
	}
	c.kubeconfig = sha256.Sum256(data)
	return key, data, nil
}

// kubeconfigChanged reports whether the Secret holds another kubeconfig than the session was made with. It is asked when a
// probe has failed: a cluster that got another address or another CA is then found without waiting for more failures. As
// long as the probes succeed nobody asks, as the Secret says nothing that is needed.
func (c *connection) kubeconfigChanged(ctx context.Context, timeout time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	before := c.kubeconfig
	_, _, err := c.readKubeconfig(ctx)
	return err == nil && c.kubeconfig != before
}
