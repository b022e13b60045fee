// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package nodesync

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// Same reports whether two versions of a Node are alike in all that a Machine has set on it, or takes off it. If they are,
// a Node that was as Desired before still is. Others write to Nodes all the time; of that a Machine need not know.
func Same(before, after *corev1.Node) bool {
	if maps.Equal(before.Labels, after.Labels) && maps.Equal(before.Annotations, after.Annotations) &&
		apiequality.Semantic.DeepEqual(before.Spec.Taints, after.Spec.Taints) {
		return true
	}
	// The records come first: where they are the same, either one tells what else to compare.
	annotations := slices.Concat(bookkeeping, listed(before, clusterv1.AnnotationsFromMachineAnnotation))
	return sameAt(before.Annotations, after.Annotations, annotations) &&
		sameAt(before.Labels, after.Labels, listed(before, clusterv1.LabelsFromMachineAnnotation)) &&
		sameTaints(before, after, append(listed(before, clusterv1.TaintsFromMachineAnnotation),
			taintID(clusterv1.NodeUninitializedTaint.Key, clusterv1.NodeUninitializedTaint.Effect),
			taintID(clusterv1.NodeOutdatedRevisionTaint.Key, clusterv1.NodeOutdatedRevisionTaint.Effect)))
}

func sameAt(a, b map[string]string, keys []string) bool {
	return !slices.ContainsFunc(keys, func(key string) bool {
		valueA, inA := a[key]
		valueB, inB := b[key]
		return inA != inB || valueA != valueB
	})
}

func sameTaints(a, b *corev1.Node, ids []string) bool {
	return !slices.ContainsFunc(ids, func(id string) bool {
		i, j := find(a, id), find(b, id)
		return i < 0 != (j < 0) || i >= 0 && a.Spec.Taints[i].Value != b.Spec.Taints[j].Value
	})
}
