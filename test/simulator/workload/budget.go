// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// severalBudgets is, like the refusals below, in the words of a real API server.
const severalBudgets = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."

// useBudget takes one disruption from the budget of the Pod, if it has one, or answers as a real API server does if there
// is none left.
func (c *Cluster) useBudget(pod *corev1.Pod) error {
	budgets, err := c.budgetsOf(pod)
	if err != nil || len(budgets) == 0 {
		return err
	}
	if len(budgets) > 1 {
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: severalBudgets,
		}}
	}
	var refused error
	err = Update(c, keyOf(budgets[0]), func(budget *policyv1.PodDisruptionBudget) {
		if !ready(pod) && enoughWithout(budget) {
			return
		}
		if refused = refusal(budget); refused == nil {
			budget.Status.DisruptionsAllowed--
		}
	})
	if err != nil {
		return err
	}
	return refused
}

// budgetsOf returns the budgets that select the Pod.
func (c *Cluster) budgetsOf(pod *corev1.Pod) ([]*policyv1.PodDisruptionBudget, error) {
	res, err := resourceOf(&policyv1.PodDisruptionBudget{})
	if err != nil {
		return nil, err
	}
	everything, err := newSelection(res, pod.Namespace, "", "")
	if err != nil {
		return nil, err
	}
	var selecting []*policyv1.PodDisruptionBudget
	records, _, _ := c.store.list(res, everything, types.NamespacedName{}, 0)
	for _, rec := range records {
		budget := &policyv1.PodDisruptionBudget{}
		if err := budget.Unmarshal(rec.raw); err != nil {
			return nil, fmt.Errorf("decode PodDisruptionBudget %s: %w", rec.key, err)
		}
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err == nil && selector.Matches(labels.Set(pod.Labels)) {
			selecting = append(selecting, budget)
		}
	}
	return selecting, nil
}

func ready(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// enoughWithout says whether a Pod that isn't ready may go without the budget's permission.
func enoughWithout(budget *policyv1.PodDisruptionBudget) bool {
	if unhealthy := budget.Spec.UnhealthyPodEvictionPolicy; unhealthy != nil && *unhealthy == policyv1.AlwaysAllow {
		return true
	}
	return budget.Status.DesiredHealthy > 0 && budget.Status.CurrentHealthy >= budget.Status.DesiredHealthy
}

// retryBudgetAfter is the number of seconds after which a client may ask again about a budget that nobody has looked at.
const retryBudgetAfter = 10

// refusal is why the budget allows no disruption, nil if it does. The words are part of the Kubernetes API: clients look
// for them.
func refusal(budget *policyv1.PodDisruptionBudget) error {
	switch status := budget.Status; {
	case status.ObservedGeneration < budget.Generation:
		return tooManyDisruptions(retryBudgetAfter, "The disruption budget %s is still being processed by the server.", budget.Name)
	case status.DisruptionsAllowed > 0:
		return nil
	case status.CurrentHealthy <= status.DesiredHealthy:
		return tooManyDisruptions(0, "The disruption budget %s needs %d healthy pods and has %d currently",
			budget.Name, status.DesiredHealthy, status.CurrentHealthy)
	default:
		return tooManyDisruptions(0, "The disruption budget %s does not allow evicting pods currently", budget.Name)
	}
}

func tooManyDisruptions(retryAfter int, format string, args ...any) error {
	err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", retryAfter)
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes,
		metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: fmt.Sprintf(format, args...)})
	return err
}

// SetBudget makes a PodDisruptionBudget, or changes the one of that name, so that it allows so many evictions of the Pods
// with these labels in its namespace. Each eviction takes one; with 0 left, evictions are refused with a 429.
func (c *Cluster) SetBudget(key types.NamespacedName, podLabels map[string]string, allowed int32) error {
	set := func(budget *policyv1.PodDisruptionBudget) {
		budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: podLabels}
		budget.Status = policyv1.PodDisruptionBudgetStatus{
			ObservedGeneration: budget.Generation,
			DisruptionsAllowed: allowed,
			DesiredHealthy:     1,
			CurrentHealthy:     1 + allowed,
		}
	}
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	set(budget)
	if err := c.Create(budget); !apierrors.IsAlreadyExists(err) {
		return err
	}
	return Update(c, key, set)
}
