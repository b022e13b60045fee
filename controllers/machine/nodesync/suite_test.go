// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package nodesync

import (
	"strings"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

func TestNodeSync(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "What a Node gets from its Machine")
}

type kv = map[string]string

const (
	role       = "node-role.kubernetes.io/worker"
	managed    = "node.cluster.x-k8s.io/pool"
	restricted = "node-restriction.kubernetes.io/team"
)

// newMachine is one without controller, labels, annotations and taints.
func newMachine(changes ...func(*clusterv1.Machine)) *clusterv1.Machine {
	m := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m"}, Spec: clusterv1.MachineSpec{ClusterName: "c"}}
	for _, change := range changes {
		change(m)
	}
	return m
}

func withLabels(labels kv) func(*clusterv1.Machine) {
	return func(m *clusterv1.Machine) { m.Labels = labels }
}

func withAnnotations(annotations kv) func(*clusterv1.Machine) {
	return func(m *clusterv1.Machine) { m.Annotations = annotations }
}

func controlled(m *clusterv1.Machine) {
	m.OwnerReferences = []metav1.OwnerReference{{Kind: "Other", Name: "o"}, {Kind: "MachineSet", Name: "set", Controller: new(true)}}
}

// always and once are Machine taints written as key=value:effect.
func always(taints ...string) []clusterv1.MachineTaint {
	return machineTaints(clusterv1.MachineTaintPropagationAlways, taints)
}

func once(taints ...string) []clusterv1.MachineTaint {
	return machineTaints(clusterv1.MachineTaintPropagationOnInitialization, taints)
}

func machineTaints(propagation clusterv1.MachineTaintPropagation, texts []string) []clusterv1.MachineTaint {
	var taints []clusterv1.MachineTaint
	for _, t := range nodeTaints(texts...) {
		taints = append(taints, clusterv1.MachineTaint{Key: t.Key, Value: t.Value, Effect: t.Effect, Propagation: propagation})
	}
	return taints
}

func nodeTaints(texts ...string) []corev1.Taint {
	var taints []corev1.Taint
	for _, text := range texts {
		name, effect, _ := strings.Cut(text, ":")
		key, value, _ := strings.Cut(name, "=")
		taints = append(taints, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)})
	}
	return taints
}

// texts is the reverse of nodeTaints.
func texts(taints []corev1.Taint) []string {
	all := make([]string, 0, len(taints))
	for _, t := range taints {
		text := t.Key
		if t.Value != "" {
			text += "=" + t.Value
		}
		all = append(all, text+":"+string(t.Effect))
	}
	return all
}

const (
	uninitialized = "node.cluster.x-k8s.io/uninitialized:NoSchedule"
	outdated      = "node.cluster.x-k8s.io/outdated-revision:PreferNoSchedule"
)

// applied returns the Node as it is after the patch.
func applied(node *corev1.Node, want Want) *corev1.Node {
	GinkgoHelper()
	desired, err := Desired(node, want)
	Expect(err).NotTo(HaveOccurred())
	if desired == nil {
		return node
	}
	return desired
}
