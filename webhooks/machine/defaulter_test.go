// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/webhooks/machine"
)

var _ = DescribeTable("A Machine is completed:",
	func(ctx SpecContext, given, want change) {
		m := valid.With(given).Build()
		Expect(machine.Defaulter{}.Default(ctx, m)).To(Succeed())
		Expect(m).To(Equal(valid.With(want).Build()))

		By("doing the same while it is being deleted")
		m = valid.With(given).With(deleting).Build()
		timestamp := m.DeletionTimestamp
		Expect(machine.Defaulter{}.Default(ctx, m)).To(Succeed())
		expected := valid.With(want).With(deleting).Build()
		expected.DeletionTimestamp = timestamp
		Expect(m).To(Equal(expected))
	},
	Entry("M1: no labels", func(m *clusterv1.Machine) { m.Labels = nil }, label(clusterv1.ClusterNameLabel, "cluster")),
	Entry("M1: the label of another Cluster", label(clusterv1.ClusterNameLabel, "other"), label(clusterv1.ClusterNameLabel, "cluster")),
	Entry("M1: other labels stay",
		func(m *clusterv1.Machine) { m.Labels = map[string]string{"a": "b"} }, label("a", "b")),
	Entry("M1: a name that can't be a label makes none",
		func(m *clusterv1.Machine) { m.Spec.ClusterName, m.Labels = "-", map[string]string{"a": "b"} },
		func(m *clusterv1.Machine) { m.Spec.ClusterName, m.Labels = "-", map[string]string{"a": "b"} }),
	Entry("M2: a version without v", version("1.37.2"), version("v1.37.2")),
	Entry("M2: a version with v", version("v1.37.2"), version("v1.37.2")),
	Entry("M2: no version", version(""), version("")),
	Entry("M2: whatever it is", version("latest"), version("vlatest")),
	Entry("M2: the longest with room for the v", version(strings.Repeat("1", 255)), version("v"+strings.Repeat("1", 255))),
	Entry("M2: one without room", version(strings.Repeat("1", 256)), version(strings.Repeat("1", 256))),
	Entry("M3: no timeout",
		func(m *clusterv1.Machine) { m.Spec.Deletion = clusterv1.MachineDeletionSpec{} }, func(*clusterv1.Machine) {}),
	Entry("M3: a timeout of 0",
		func(m *clusterv1.Machine) { m.Spec.Deletion.NodeDeletionTimeoutSeconds = new(int32(0)) },
		func(m *clusterv1.Machine) { m.Spec.Deletion.NodeDeletionTimeoutSeconds = new(int32(0)) }),
	Entry("M3: other timeouts stay",
		func(m *clusterv1.Machine) {
			m.Spec.Deletion = clusterv1.MachineDeletionSpec{NodeDrainTimeoutSeconds: new(int32(5))}
		},
		func(m *clusterv1.Machine) { m.Spec.Deletion.NodeDrainTimeoutSeconds = new(int32(5)) }),
	Entry("nothing else",
		func(m *clusterv1.Machine) {
			m.OwnerReferences = []metav1.OwnerReference{{Kind: "MachineSet", Name: "s"}}
		},
		func(m *clusterv1.Machine) {
			m.OwnerReferences = []metav1.OwnerReference{{Kind: "MachineSet", Name: "s"}}
		}),
)
