// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

var _ = Describe("The owner of a provider object", func() {
	// claim is that of a Machine m. An empty kind is that of a Cluster without a control plane.
	claim := func(labels map[string]string, controlPlaneKind string) Ownership {
		return Ownership{
			Machine: &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m", UID: "u", Labels: labels}},
			Cluster: &clusterv1.Cluster{Spec: clusterv1.ClusterSpec{
				ControlPlaneRef: clusterv1.ContractVersionedObjectReference{APIGroup: "controlplane.example.org", Kind: controlPlaneKind},
			}},
		}
	}
	worker := func() Ownership { return claim(nil, "Sim") }
	ofControlPlane := func(kind string) Ownership {
		return claim(map[string]string{clusterv1.MachineControlPlaneLabel: ""}, kind)
	}
	ofUnknownCluster := func() Ownership {
		o := ofControlPlane("")
		o.Cluster = nil
		return o
	}
	controlPlane := func() metav1.OwnerReference {
		return at("controlplane.example.org/v1", owner("Sim", "another", "c", true))
	}

	DescribeTable("is, to a Machine,", func(to Ownership, ref metav1.OwnerReference, expected Owner) {
		Expect(to.Owner(&ref)).To(Equal(expected))
	},
		Entry("itself", worker(), owner("Machine", "m", "u", true), OwnerItself),
		Entry("itself before a restore", worker(), owner("Machine", "m", "before", true), OwnerItself),
		Entry("itself at another API version", worker(), at("cluster.x-k8s.io/v1beta1", owner("Machine", "m", "u", true)), OwnerItself),
		Entry("another Machine", worker(), owner("Machine", "other", "u", true), OwnerOtherMachine),
		Entry("a Machine of another group", worker(), at("example.org/v1", owner("Machine", "m", "u", true)), OwnerStranger),
		Entry("a MachineSet", worker(), owner("MachineSet", "s", "s", true), OwnerCreator),
		Entry("a MachineSet at another API version", worker(), at("cluster.x-k8s.io/v1alpha4", owner("MachineSet", "s", "s", true)), OwnerCreator),
		Entry("a MachineSet of another group", worker(), at("example.org/v1", owner("MachineSet", "s", "s", true)), OwnerStranger),
		Entry("an object of the core", worker(), at("v1", owner("ConfigMap", "c", "c", true)), OwnerStranger),
		Entry("the control plane, to a worker", worker(), controlPlane(), OwnerStranger),
		Entry("the control plane, by its kind", ofControlPlane("Sim"), controlPlane(), OwnerCreator),
		Entry("a control plane of another kind", ofControlPlane("Other"), controlPlane(), OwnerStranger),
		Entry("a kind of that name in another group", ofControlPlane("Sim"), at("example.org/v1", owner("Sim", "c", "c", true)), OwnerStranger),
		Entry("a control plane that the Cluster doesn't have", ofControlPlane(""), controlPlane(), OwnerStranger),
		Entry("perhaps the control plane, if the Cluster isn't known", ofUnknownCluster(), controlPlane(), OwnerUnknown),
		Entry("a MachineSet, whichever Cluster it is", ofUnknownCluster(), owner("MachineSet", "s", "s", true), OwnerCreator),
	)

	It("is nobody with an unusable API version", func() {
		ref := at("a/b/c", owner("MachineSet", "s", "s", true))
		_, err := worker().Owner(&ref)
		Expect(err).To(MatchError(`owner reference to MachineSet s: apiVersion "a/b/c" is not <group>/<version>`))
	})
})
