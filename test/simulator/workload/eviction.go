// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

var evictionKind = policy("Eviction")

// evict serves the eviction subresource of Pods: a deletion that the PodDisruptionBudgets of the namespace have to allow.
func (r *resource) evict(c *Cluster, w http.ResponseWriter, req *http.Request) error {
	eviction, err := decodeEviction(req)
	if err != nil {
		return err
	}
	key := pathKey(req)
	if sent := keyOf(eviction); sent.Name != key.Name || sent.Namespace != "" && sent.Namespace != key.Namespace {
		return apierrors.NewBadRequest(fmt.Sprintf("the eviction is of %s, the request is for %s", sent, key))
	}
	options := metav1.DeleteOptions{}
	if eviction.DeleteOptions != nil {
		options = *eviction.DeleteOptions
	}
	if err := refuseDryRun(slices.Concat(options.DryRun, req.URL.Query()["dryRun"])); err != nil {
		return err
	}
	pod := &corev1.Pod{}
	if err := c.Get(key, pod); err != nil {
		return err
	}
	if !budgetDoesNotMatter(pod) {
		if err := c.useBudget(pod); err != nil {
			return err
		}
	}
	if _, err := c.store.delete(r, key, options.Preconditions); err != nil {
		return err
	}
	enc := negotiate(req)
	success := &metav1.Status{Status: metav1.StatusSuccess, Code: http.StatusCreated}
	body, err := enc.wrap(schema.GroupVersionKind{Version: "v1", Kind: "Status"}, success)
	if err != nil {
		return err
	}
	return writeBody(w, http.StatusCreated, enc.contentType(), body)
}

func decodeEviction(req *http.Request) (*policyv1.Eviction, error) {
	body, err := readBody(req)
	if err != nil {
		return nil, err
	}
	decoded, gvk, err := scheme.Codecs.UniversalDeserializer().Decode(body, &evictionKind, nil)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("decode an Eviction: %v", err))
	}
	eviction, ok := decoded.(*policyv1.Eviction)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("expected a %s, the request's body is a %s", evictionKind, gvk))
	}
	return eviction, nil
}

// budgetDoesNotMatter is true for Pods that serve nobody: their end disrupts nothing.
func budgetDoesNotMatter(pod *corev1.Pod) bool {
	switch pod.Status.Phase {
	case corev1.PodPending, corev1.PodSucceeded, corev1.PodFailed:
		return true
	default:
		return pod.DeletionTimestamp != nil
	}
}
