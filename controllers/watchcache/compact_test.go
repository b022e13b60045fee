// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package watchcache

import (
	"encoding/json"
	"slices"
	"unsafe"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

func machineWithEverything() *clusterv1.Machine {
	machine := &clusterv1.Machine{
		ObjectMeta: short(),
		Spec: clusterv1.MachineSpec{
			ClusterName: "blue", Version: "v1.37.2", FailureDomain: "a",
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "SimMachine", Name: "m"},
		},
		Status: clusterv1.MachineStatus{
			Phase:      "Running",
			NodeInfo:   &corev1.NodeSystemInfo{KernelVersion: "6.1", OSImage: "linux", Architecture: "amd64"},
			Conditions: []metav1.Condition{{Type: "Ready", Status: "True", Reason: "Ready"}, {Type: "Available", Status: "True", Reason: "Available", Message: "m"}},
		},
	}
	machine.OwnerReferences = []metav1.OwnerReference{{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "MachineSet", Name: "set", UID: "7"}}
	machine.SetV1Beta1Conditions(clusterv1.Conditions{{Type: "Ready", Status: "True", Severity: "Info", Reason: "Ready"}})
	return machine
}

func nodeWithEverything() *corev1.Node {
	return &corev1.Node{ObjectMeta: short(), Status: corev1.NodeStatus{
		NodeInfo:   corev1.NodeSystemInfo{KernelVersion: "6.1", MachineID: "own"},
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "ready"}},
	}}
}

// decoded returns a copy as a decoder makes it: no string is shared, and lists have room for more.
func decoded[T any](of *T) *T {
	GinkgoHelper()
	data, err := json.Marshal(of)
	Expect(err).NotTo(HaveOccurred())
	copied := new(T)
	Expect(json.Unmarshal(data, copied)).To(Succeed())
	return copied
}

// places are where strings are in memory.
func places(strings ...string) []uintptr {
	var all []uintptr
	for _, s := range strings {
		all = append(all, uintptr(unsafe.Pointer(unsafe.StringData(s))))
	}
	return all
}

func wordsOfMachine(m *clusterv1.Machine) []string {
	words := []string{m.Namespace, m.Spec.ClusterName, m.Spec.Version, m.Spec.FailureDomain, m.Spec.InfrastructureRef.APIGroup, m.Spec.InfrastructureRef.Kind,
		m.Status.Phase, m.Status.NodeInfo.KernelVersion, m.Status.NodeInfo.OSImage, m.Status.NodeInfo.Architecture,
		m.OwnerReferences[0].APIVersion, m.OwnerReferences[0].Kind, m.OwnerReferences[0].Name, string(m.OwnerReferences[0].UID), m.Labels["example.org/label"]}
	words = append(words, m.Finalizers...)
	for _, c := range m.Status.Conditions {
		words = append(words, c.Type, string(c.Status), c.Reason)
	}
	for _, c := range m.GetV1Beta1Conditions() {
		words = append(words, string(c.Type), string(c.Status), string(c.Severity), c.Reason)
	}
	for key := range m.Labels {
		words = append(words, key)
	}
	for key := range m.Annotations {
		words = append(words, key)
	}
	return words
}

func wordsOfNode(n *corev1.Node) []string {
	words := []string{n.Status.NodeInfo.KernelVersion, n.Labels["example.org/label"]}
	for _, c := range n.Status.Conditions {
		words = append(words, string(c.Type), string(c.Status), c.Reason, c.Message)
	}
	return words
}

var _ = Describe("Equal words of cached objects", func() {
	It("are one in memory, of Machines", func() {
		first, second := decoded(machineWithEverything()), decoded(machineWithEverything())
		Expect(places(wordsOfMachine(first)...)).NotTo(ContainElements(places(wordsOfMachine(second)...)), "as a decoder makes them")
		for _, machine := range []client.Object{first, second} {
			_, err := transformOf(management, machine)(machine)
			Expect(err).NotTo(HaveOccurred())
		}
		Expect(places(wordsOfMachine(first)...)).To(Equal(places(wordsOfMachine(second)...)))
		Expect(first).To(Equal(decoded(machineWithEverything())), "nothing else has changed")
	})

	It("are one in memory, of Nodes", func() {
		first, second := decoded(nodeWithEverything()), decoded(nodeWithEverything())
		for _, node := range []client.Object{first, second} {
			_, err := transformOf(workload, node)(node)
			Expect(err).NotTo(HaveOccurred())
		}
		Expect(places(wordsOfNode(first)...)).To(Equal(places(wordsOfNode(second)...)))
		Expect(first).To(Equal(decoded(nodeWithEverything())), "nothing else has changed")
	})

	It("stay in lists that have no room for more", func() {
		machine := machineWithEverything()
		machine.Status.Conditions = slices.Grow(machine.Status.Conditions, 20)
		_, err := transformOf(management, machine)(machine)
		Expect(err).NotTo(HaveOccurred())
		Expect(cap(machine.Status.Conditions)).To(BeNumerically("<=", 4))
	})
})
