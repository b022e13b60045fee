// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package nodesync

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// Desired returns the Node as it must be, nil if it is that already. It differs from the given one, which is not changed,
// in labels, annotations and taints only.
//
// The error says what is wrong with the Node's record of our taints: until somebody mends it, the taints of the Machine are
// not looked after. The Node that is returned with it has everything else.
func Desired(node *corev1.Node, want Want) (*corev1.Node, error) {
	desired := node.DeepCopy()
	err := setTaints(desired, want)
	setLabels(desired, want)
	setAnnotations(desired, want)
	if apiequality.Semantic.DeepEqual(node, desired) {
		return nil, err
	}
	return desired, err
}

func setLabels(node *corev1.Node, want Want) {
	labels := maps.Clone(want.labels)
	if labels == nil {
		labels = map[string]string{}
	}
	before := listed(node, clusterv1.LabelsFromMachineAnnotation)
	value, has := node.Labels[clusterv1.InterruptibleLabel]
	switch {
	case want.Interruptible == nil && has && slices.Contains(before, clusterv1.InterruptibleLabel):
		labels[clusterv1.InterruptibleLabel] = value
	case want.Interruptible != nil && *want.Interruptible:
		labels[clusterv1.InterruptibleLabel] = ""
	}
	node.Labels = replace(node.Labels, before, labels)
	setAnnotation(node, clusterv1.LabelsFromMachineAnnotation, list(slices.Collect(maps.Keys(labels))))
}

func setAnnotations(node *corev1.Node, want Want) {
	before := slices.Concat(listed(node, clusterv1.AnnotationsFromMachineAnnotation), origin)
	// The records themselves are never taken for an annotation of the Machine, even if somebody has listed them.
	before = slices.DeleteFunc(before, func(key string) bool { return slices.Contains(bookkeeping, key) && !slices.Contains(origin, key) })
	node.Annotations = replace(node.Annotations, before, want.annotations)
	keys := slices.DeleteFunc(slices.Collect(maps.Keys(want.annotations)), func(key string) bool { return slices.Contains(origin, key) })
	setAnnotation(node, clusterv1.AnnotationsFromMachineAnnotation, list(keys))
}

// replace takes off what was ours before and sets what is ours now.
func replace(all map[string]string, before []string, now map[string]string) map[string]string {
	if all == nil {
		all = map[string]string{}
	}
	for _, key := range before {
		delete(all, key)
	}
	maps.Copy(all, now)
	return all
}

func setAnnotation(node *corev1.Node, key, value string) {
	if node.Annotations == nil {
		node.Annotations = map[string]string{}
	}
	node.Annotations[key] = value
}

// listed returns the entries of a record.
func listed(node *corev1.Node, annotation string) []string {
	return slices.DeleteFunc(strings.Split(node.Annotations[annotation], ","), func(entry string) bool { return entry == "" })
}

// list is the reverse of listed, in a stable order.
func list(entries []string) string {
	slices.Sort(entries)
	return strings.Join(entries, ",")
}
