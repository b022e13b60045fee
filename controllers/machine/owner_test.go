// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

var _ = Describe("isStandAlone", func() {
	owner := func(apiVersion, kind string, controller *bool) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: "owner", UID: "uid", Controller: controller}
	}
	const core = "cluster.x-k8s.io/v1beta2"

	DescribeTable("by owner references", func(standAlone bool, owners ...metav1.OwnerReference) {
		Expect(isStandAlone(&clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{OwnerReferences: owners}})).To(Equal(standAlone))
	},
		Entry("none", true),
		Entry("a controller of ours", false, owner(core, "MachineSet", new(true))),
		Entry("any controller", false, owner("example.com/v1", "Fleet", new(true))),
		Entry("an owner that isn't the controller", true, owner("example.com/v1", "Fleet", new(false))),
		Entry("an owner that doesn't say whether it is", true, owner(core, "MachineSet", nil)),
		Entry("the Cluster", false, owner(core, "Cluster", nil)),
		Entry("the Cluster, in an older API version", false, owner("cluster.x-k8s.io/v1alpha3", "Cluster", nil)),
		Entry("the Cluster, in an API version that doesn't exist yet", false, owner("cluster.x-k8s.io/v3", "Cluster", nil)),
		Entry("a Cluster of another group", true, owner("fleet.example.com/v1", "Cluster", nil)),
		Entry("a Cluster of no group", true, owner("v1", "Cluster", nil)),
		Entry("a Cluster whose API version can't be parsed", true, owner("a/b/c", "Cluster", nil)),
		Entry("the Cluster behind another owner", false, owner("example.com/v1", "Fleet", nil), owner(core, "Cluster", nil)),
	)

	DescribeTable("by labels, also with an empty value", func(label string, standAlone bool) {
		for _, value := range []string{"", "some"} {
			Expect(isStandAlone(&clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{label: value}}})).To(Equal(standAlone))
		}
	},
		Entry("a MachineSet will adopt it", "cluster.x-k8s.io/set-name", false),
		Entry("a MachinePool will adopt it", "cluster.x-k8s.io/pool-name", false),
		Entry("a control plane will adopt it", "cluster.x-k8s.io/control-plane-name", false),
		Entry("part of a control plane, of which nobody is known", "cluster.x-k8s.io/control-plane", true),
		Entry("its MachineDeployment is no owner of Machines", "cluster.x-k8s.io/deployment-name", true),
		Entry("its Cluster", "cluster.x-k8s.io/cluster-name", true),
	)
})
