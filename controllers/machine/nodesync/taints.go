// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package nodesync

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// RecordError says that the annotation of a Node that lists our taints can't be read.
type RecordError struct {
	Node  string
	Entry string
}

func (e *RecordError) Error() string {
	return fmt.Sprintf("invalid taint format: %q in annotation %s of Node %s, expected key:effect: correct it, or the Node keeps its taints as they are",
		e.Entry, clusterv1.TaintsFromMachineAnnotation, e.Node)
}

// setTaints sees to the taints of the Machine, takes off the one of Nodes that were never synced, and sets or takes off the
// one of Nodes that a rollout replaces. The last two come last, so that a record that lists them by mistake does no harm.
func setTaints(node *corev1.Node, want Want) error {
	var err error
	if want.propagateTaints {
		err = setMachineTaints(node, want.taints)
	}
	uninitialized, outdated := clusterv1.NodeUninitializedTaint, clusterv1.NodeOutdatedRevisionTaint
	remove(node, taintID(uninitialized.Key, uninitialized.Effect))
	switch {
	case want.OutdatedRevision == nil:
	case *want.OutdatedRevision:
		ensure(node, outdated)
	default:
		remove(node, taintID(outdated.Key, outdated.Effect))
	}
	return err
}

// setMachineTaints keeps those with propagation Always in step with the Machine. The others are set once: when there is no
// record yet. What is OnInitialization now stays on the Node, also if it was Always before.
func setMachineTaints(node *corev1.Node, taints []clusterv1.MachineTaint) error {
	_, initialized := node.Annotations[clusterv1.TaintsFromMachineAnnotation]
	before := listed(node, clusterv1.TaintsFromMachineAnnotation)
	for _, entry := range before {
		if strings.Count(entry, ":") != 1 {
			return &RecordError{Node: node.Name, Entry: entry}
		}
	}
	var always, stays []string
	for _, taint := range taints {
		if isReserved(taint.Key) {
			continue
		}
		id := taintID(taint.Key, taint.Effect)
		stays = append(stays, id)
		if taint.Propagation == clusterv1.MachineTaintPropagationAlways {
			always = append(always, id)
		} else if initialized {
			continue
		}
		ensure(node, corev1.Taint{Key: taint.Key, Value: taint.Value, Effect: taint.Effect})
	}
	for _, id := range before {
		if !slices.Contains(stays, id) {
			remove(node, id)
		}
	}
	setAnnotation(node, clusterv1.TaintsFromMachineAnnotation, list(always))
	return nil
}

// isReserved reports whether the taint has a meaning of its own here. A Machine can't ask for it.
func isReserved(key string) bool {
	return key == clusterv1.NodeUninitializedTaint.Key || key == clusterv1.NodeOutdatedRevisionTaint.Key
}

// taintID is what tells the taints of a Node apart, in the form of our record.
func taintID(key string, effect corev1.TaintEffect) string { return key + ":" + string(effect) }

func find(node *corev1.Node, id string) int {
	return slices.IndexFunc(node.Spec.Taints, func(t corev1.Taint) bool { return taintID(t.Key, t.Effect) == id })
}

func ensure(node *corev1.Node, taint corev1.Taint) {
	if i := find(node, taintID(taint.Key, taint.Effect)); i >= 0 {
		node.Spec.Taints[i].Value = taint.Value
		return
	}
	node.Spec.Taints = append(node.Spec.Taints, taint)
}

func remove(node *corev1.Node, id string) {
	if i := find(node, id); i >= 0 {
		node.Spec.Taints = slices.Delete(node.Spec.Taints, i, i+1)
	}
}
