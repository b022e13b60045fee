// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/machinist-dev/machinist/controllers/workload"
)

// noTimeLeft is the failure of the Pods that it was not yet the turn of when the time was up.
var noTimeLeft = fmt.Sprintf("eviction timeout of %s reached, eviction will be retried", evictionTimeout)

// namespaceTerminating: such a Namespace takes no new objects, which an eviction is. Somebody else deletes the Pod.
const namespaceTerminating = "Cannot evict pod from terminating namespace: unable to create eviction (kube-controller-manager should set deletionTimestamp)"

// evict tries each Pod once. It returns those that are going now, and the others by the text of what is in the way. Pods
// that have gone already are in neither.
func (d *Drainer) evict(ctx context.Context, pods []judged, gracePeriod time.Duration) (evicted []string, failed map[string][]string) {
	ctx, cancel := context.WithTimeout(ctx, evictionTimeout)
	defer cancel()
	failed = map[string][]string{}
	for _, pod := range pods {
		err := d.evictOne(ctx, pod.Pod, gracePeriod)
		switch {
		case err == nil:
			log.FromContext(ctx).V(2).Info("Evicted Pod", "pod", klog.KObj(pod.Pod), "order", pod.order, "warning", pod.warning())
			evicted = append(evicted, fullName(pod.Pod))
		case !apierrors.IsNotFound(err):
			text := evictionFailure(err)
			failed[text] = append(failed[text], fullName(pod.Pod))
		}
	}
	return evicted, failed
}

// evictOne asks for the eviction of this very Pod: one that was created again under its name may be on another Node.
func (d *Drainer) evictOne(ctx context.Context, pod *corev1.Pod, gracePeriod time.Duration) error {
	eviction := &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: metav1.NewPreconditionDeleteOptions(string(pod.UID)),
	}
	if gracePeriod > 0 {
		eviction.DeleteOptions.GracePeriodSeconds = new(int64(gracePeriod.Seconds()))
	}
	// The API server tells when to try a refused eviction again, and client-go would obey: up to ten times, ten seconds
	// each, with a worker waiting. Here the next call tries again.
	return d.CoreV1.Post().Namespace(pod.Namespace).Resource("pods").Name(pod.Name).SubResource("eviction").
		MaxRetries(0).Body(eviction).Do(ctx).Error()
}

// evictionFailure is the text by which Pods with the same failure are listed together, and the same each time.
func evictionFailure(err error) string {
	var status apierrors.APIStatus
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return namespaceTerminating
	case apierrors.IsTooManyRequests(err) && errors.As(err, &status):
		return refusalText(status.Status())
	case outOfTime(err):
		return noTimeLeft
	default:
		return workload.StableText(err)
	}
}

// refusalText names the budget, which the message of the status does not.
func refusalText(status metav1.Status) string {
	if status.Details == nil || len(status.Details.Causes) == 0 {
		return status.Message
	}
	causes := make([]string, 0, len(status.Details.Causes))
	for _, cause := range status.Details.Causes {
		causes = append(causes, cause.Message)
	}
	return status.Message + " " + strings.Join(causes, ",")
}

// outOfTime also knows the error of client-go's rate limiter, which refuses at once, with an error of no type, what it
// would have to hold back for longer than there is time.
func outOfTime(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "would exceed context deadline")
}

func fullNames(pods []judged) []string {
	names := make([]string, 0, len(pods))
	for _, pod := range pods {
		names = append(names, fullName(pod.Pod))
	}
	return names
}
