// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// judged is a Pod with the decision about it.
type judged struct {
	*corev1.Pod
	decision
}

// fullName is how Pods are called in messages and errors.
func fullName(pod *corev1.Pod) string { return pod.Namespace + "/" + pod.Name }

// judge decides about all Pods, and returns them in order of namespace and name. One Pod that nothing can be decided
// about is an error: what the others are waiting for may be just that Pod.
func (s *situation) judge(pods []corev1.Pod) ([]judged, error) {
	all := make([]judged, 0, len(pods))
	problems := map[string][]string{}
	for i := range pods {
		decision, err := s.decide(&pods[i])
		if err != nil {
			problems[err.Error()] = append(problems[err.Error()], fullName(&pods[i]))
			continue
		}
		all = append(all, judged{Pod: &pods[i], decision: decision})
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("failed to get Pods for eviction: %s", problemText(problems))
	}
	slices.SortFunc(all, func(a, b judged) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return all, nil
}

// problemText is the same for the same problems, whatever order the Pods were listed in.
func problemText(problems map[string][]string) string {
	texts := make([]string, 0, len(problems))
	for problem, pods := range problems {
		slices.Sort(pods)
		texts = append(texts, fmt.Sprintf("Pods with error %q: %s", problem, strings.Join(pods, ", ")))
	}
	slices.Sort(texts)
	return strings.Join(texts, "; ")
}

// plan sorts the Pods that a drain is not done with by what is to happen to them. No Pod is in two lists.
type plan struct {
	// evict are to be evicted now, evictLater once everything of a lower order is gone.
	evict, evictLater []judged
	// terminating were evicted, or deleted otherwise, and are still there.
	terminating []judged
	// wait and waitLater are to complete by themselves, now and after everything of a lower order.
	wait, waitLater []judged
}

// newPlan lets only the Pods of the lowest order have their turn. A Pod that is to complete and has finished is done
// with, unlike in Cluster API, which waits until somebody deletes it.
func newPlan(pods []judged) plan {
	pods = slices.DeleteFunc(slices.Clone(pods), done)
	turn := int32(math.MaxInt32)
	for _, pod := range pods {
		turn = min(turn, pod.order)
	}
	var p plan
	for _, pod := range pods {
		list := p.listFor(pod, pod.order == turn)
		*list = append(*list, pod)
	}
	return p
}

func done(pod judged) bool {
	return pod.behavior == skipIt || pod.behavior == waitForIt && finished(pod.Pod)
}

func (p *plan) listFor(pod judged, now bool) *[]judged {
	switch {
	case pod.behavior == waitForIt && now:
		return &p.wait
	case pod.behavior == waitForIt:
		return &p.waitLater
	case pod.DeletionTimestamp != nil:
		return &p.terminating
	case now:
		return &p.evict
	default:
		return &p.evictLater
	}
}
