// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// situation is what the filters know besides the Pod.
type situation struct {
	now time.Time
	// patience is how long after its deletionTimestamp a Pod is still waited for; 0 is without end. It is set if the
	// kubelet is lost, as nobody else removes a Pod that is being deleted.
	patience time.Duration
	// rules are those that select the Machine, in their order.
	rules []rule
	// namespaces are the labels of each Namespace. Only filled if there are rules.
	namespaces map[string]labels.Set
	// daemonSets are those that exist. Only filled if a Pod on the Node claims to be controlled by one.
	daemonSets map[types.NamespacedName]bool
}

// decision is what shall happen to a Pod.
type decision struct {
	behavior clusterv1.MachineDrainRuleDrainBehavior
	// order is when: Pods of a lower order go first.
	order int32
	// warnings are what somebody may want to know about it, for the log.
	warnings []string
}

func (d decision) warning() string { return strings.Join(d.warnings, ", ") }

// filter has an opinion about a Pod. The zero decision is none.
type filter func(s *situation, pod *corev1.Pod) (decision, error)

// filters are asked in this order; the first that says Skip or WaitCompleted has the last word. A Pod that none of them
// holds is evicted. Order and texts are Cluster API's, and mostly those of kubectl drain before it.
var filters = []filter{
	pastPatience,
	daemonSetPod,
	staticPod,
	localStorage,
	unmanaged,
	drainLabel,
	drainRule,
}

// errNoNamespace: without the labels of its Namespace nobody can tell which rule is for a Pod.
var errNoNamespace = errors.New("Pod Namespace does not exist") //nolint:staticcheck // the wording of Cluster API, which begins with a kind

// decide asks the filters.
func (s *situation) decide(pod *corev1.Pod) (decision, error) {
	result := decision{behavior: evictIt}
	for _, filter := range filters {
		opinion, err := filter(s, pod)
		if err != nil {
			return decision{}, err
		}
		result.warnings = append(result.warnings, opinion.warnings...)
		switch opinion.behavior {
		case "":
		case evictIt:
			result.order = opinion.order
		default:
			result.behavior = opinion.behavior
			return result, nil
		}
	}
	return result, nil
}

// pastPatience skips a Pod that should have been gone for long. Timestamps of the API have whole seconds, so whole
// seconds are compared.
func pastPatience(s *situation, pod *corev1.Pod) (decision, error) {
	if s.patience <= 0 || pod.DeletionTimestamp == nil {
		return decision{}, nil
	}
	if s.now.Unix()-pod.DeletionTimestamp.Unix() > int64(s.patience.Seconds()) {
		return decision{behavior: skipIt}, nil
	}
	return decision{}, nil
}

// daemonSetPod skips what its DaemonSet would start again at once, cordoned or not.
func daemonSetPod(s *situation, pod *corev1.Pod) (decision, error) {
	daemonSet, ok := daemonSetOf(pod)
	switch {
	case !ok || finished(pod):
		return decision{}, nil
	case !s.daemonSets[daemonSet]:
		return decision{warnings: []string{"evicting orphaned DaemonSet-managed Pod"}}, nil
	default:
		return decision{behavior: skipIt, warnings: []string{"ignoring DaemonSet-managed Pod"}}, nil
	}
}

// daemonSetOf returns the DaemonSet that a Pod says it is controlled by.
func daemonSetOf(pod *corev1.Pod) (types.NamespacedName, bool) {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || owner.Kind != "DaemonSet" {
		return types.NamespacedName{}, false
	}
	return types.NamespacedName{Namespace: pod.Namespace, Name: owner.Name}, true
}

// staticPod skips the mirror of a Pod that the kubelet runs from a file: evicting the mirror stops nothing.
func staticPod(_ *situation, pod *corev1.Pod) (decision, error) {
	if _, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		return decision{behavior: skipIt}, nil
	}
	return decision{}, nil
}

func localStorage(_ *situation, pod *corev1.Pod) (decision, error) {
	if finished(pod) {
		return decision{}, nil
	}
	for i := range pod.Spec.Volumes {
		if pod.Spec.Volumes[i].EmptyDir != nil {
			return decision{warnings: []string{"evicting Pod with local storage"}}, nil
		}
	}
	return decision{}, nil
}

func unmanaged(_ *situation, pod *corev1.Pod) (decision, error) {
	if finished(pod) || metav1.GetControllerOfNoCopy(pod) != nil {
		return decision{}, nil
	}
	return decision{warnings: []string{"evicting Pod that has no controller"}}, nil
}

// drainLabel obeys the Pod's own label. Cluster API reads its value without regard to case, and with or without the
// hyphen; any other value means nothing.
func drainLabel(_ *situation, pod *corev1.Pod) (decision, error) {
	value, ok := pod.Labels[clusterv1.PodDrainLabel]
	switch {
	case !ok:
	case strings.EqualFold(value, "skip"):
		return decision{behavior: skipIt}, nil
	case strings.EqualFold(strings.Replace(value, "-", "", 1), "waitcompleted"):
		return decision{behavior: waitForIt}, nil
	}
	return decision{}, nil
}

// drainRule obeys the first MachineDrainRule that selects the Pod.
func drainRule(s *situation, pod *corev1.Pod) (decision, error) {
	if len(s.rules) == 0 {
		return decision{}, nil
	}
	namespace, ok := s.namespaces[pod.Namespace]
	if !ok {
		return decision{}, errNoNamespace
	}
	for i := range s.rules {
		rule := &s.rules[i]
		if !rule.selects(pod.Labels, namespace) {
			continue
		}
		switch rule.behavior {
		case evictIt, skipIt, waitForIt:
			return decision{behavior: rule.behavior, order: rule.order}, nil
		default:
			return decision{}, fmt.Errorf("MachineDrainRule %q has unknown spec.drain.behavior: %q", rule.name, rule.behavior)
		}
	}
	return decision{}, nil
}

func finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}
