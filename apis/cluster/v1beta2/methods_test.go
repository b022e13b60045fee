// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

var _ = Describe("the methods of the types", func() {
	DescribeTable("a phase of a Machine is read as", func(stored string, expected clusterv1.MachinePhase) {
		status := clusterv1.MachineStatus{Phase: stored}
		Expect(status.GetTypedPhase()).To(Equal(expected))
	},
		Entry("itself if it is known", "Updating", clusterv1.MachinePhaseUpdating),
		Entry("Unknown if it is not set", "", clusterv1.MachinePhaseUnknown),
		Entry("Unknown if it is Unknown", "Unknown", clusterv1.MachinePhaseUnknown),
		Entry("Unknown if it is anything else", "Dreaming", clusterv1.MachinePhaseUnknown),
	)

	DescribeTable("a phase of a Cluster is read as", func(stored string, expected clusterv1.ClusterPhase) {
		status := clusterv1.ClusterStatus{Phase: stored}
		Expect(status.GetTypedPhase()).To(Equal(expected))
	},
		Entry("itself if it is known", "Provisioned", clusterv1.ClusterPhaseProvisioned),
		Entry("Unknown if it is that of a Machine", "Running", clusterv1.ClusterPhaseUnknown),
	)

	It("set a phase that is read again", func() {
		machine, cluster := clusterv1.MachineStatus{}, clusterv1.ClusterStatus{}
		machine.SetTypedPhase(clusterv1.MachinePhaseDeleting)
		cluster.SetTypedPhase(clusterv1.ClusterPhaseDeleting)
		Expect(machine.GetTypedPhase()).To(Equal(clusterv1.MachinePhaseDeleting))
		Expect(cluster.GetTypedPhase()).To(Equal(clusterv1.ClusterPhaseDeleting))
	})

	It("keep the conditions of v1beta1 apart from those of v1beta2", func() {
		for _, object := range []interface {
			GetConditions() []metav1.Condition
			SetConditions([]metav1.Condition)
			GetV1Beta1Conditions() clusterv1.Conditions
			SetV1Beta1Conditions(clusterv1.Conditions)
		}{&clusterv1.Machine{}, &clusterv1.Cluster{}} {
			Expect(object.GetConditions()).To(BeEmpty())
			Expect(object.GetV1Beta1Conditions()).To(BeEmpty())

			object.SetConditions([]metav1.Condition{{Type: "New"}})
			object.SetV1Beta1Conditions(clusterv1.Conditions{{Type: "Old"}})
			object.SetV1Beta1Conditions(append(object.GetV1Beta1Conditions(), clusterv1.Condition{Type: "Older"}))
			Expect(object.GetConditions()).To(ConsistOf(HaveField("Type", "New")))
			Expect(object.GetV1Beta1Conditions()).To(HaveExactElements(
				HaveField("Type", BeEquivalentTo("Old")), HaveField("Type", BeEquivalentTo("Older"))))
		}
	})

	It("know a reference that is set from one that is not", func() {
		var noReference *clusterv1.ContractVersionedObjectReference
		Expect(noReference.IsDefined()).To(BeFalse())
		Expect((&clusterv1.ContractVersionedObjectReference{}).IsDefined()).To(BeFalse())
		Expect((&clusterv1.ContractVersionedObjectReference{Kind: "SimMachine"}).IsDefined()).To(BeTrue())

		var noNode *clusterv1.MachineNodeReference
		Expect(noNode.IsDefined()).To(BeFalse())
		Expect((&clusterv1.MachineNodeReference{}).IsDefined()).To(BeFalse())
		Expect((&clusterv1.MachineNodeReference{Name: "node-0"}).IsDefined()).To(BeTrue())
	})

	It("spell endpoints and networks", func() {
		Expect(clusterv1.APIEndpoint{Host: "fd00::1", Port: 6443}.String()).To(Equal("[fd00::1]:6443"))
		Expect(clusterv1.APIEndpoint{}.IsZero()).To(BeTrue())
		Expect(clusterv1.APIEndpoint{Host: "api.example.com"}.IsZero()).To(BeFalse())
		Expect(clusterv1.APIEndpoint{Host: "api.example.com"}.IsValid()).To(BeFalse())
		Expect(clusterv1.APIEndpoint{Host: "api.example.com", Port: 6443}.IsValid()).To(BeTrue())
		Expect(clusterv1.NetworkRanges{}.String()).To(BeEmpty())
		Expect(clusterv1.NetworkRanges{CIDRBlocks: []string{"10.0.0.0/8", "fd00::/8"}}.String()).To(Equal("10.0.0.0/8,fd00::/8"))
	})

	It("name the group of a resource", func() {
		Expect(clusterv1.Resource("machines").String()).To(Equal("machines.cluster.x-k8s.io"))
	})
})
