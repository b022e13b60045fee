// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/builder"
	"github.com/machinist-dev/machinist/test/scale/report"
)

func TestPopulate(t *testing.T) {
	for name, c := range map[string]struct {
		machines     int
		controlPlane map[string]int
		members      map[string]int
	}{
		"one each":            {2, map[string]int{"a": 1, "b": 1}, map[string]int{"a": 1, "b": 1}},
		"an odd number":       {7, map[string]int{"a": 1, "b": 1}, map[string]int{"a": 4, "b": 3}},
		"large control plane": {21, map[string]int{"a": 3, "b": 3}, map[string]int{"a": 11, "b": 10}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			clusters := []*clusterv1.Cluster{builder.Cluster("scale", "a").Build(), builder.Cluster("scale", "b").Build()}
			members := populate(clusters, report.Settings{Machines: c.machines, PayloadSize: 500})
			controlPlane, all := map[string]int{}, map[string]int{}
			names := map[client.ObjectKey]bool{}
			for _, m := range members {
				all[m.cluster.Name]++
				names[m.key] = true
				g.Expect(m.objects).To(HaveLen(3))
				machine := m.objects[2].(*clusterv1.Machine)
				g.Expect(machine.OwnerReferences).To(HaveLen(1))
				if _, found := machine.Labels[clusterv1.MachineControlPlaneLabel]; found {
					controlPlane[m.cluster.Name]++
				}
			}
			g.Expect(all).To(Equal(c.members))
			g.Expect(controlPlane).To(Equal(c.controlPlane))
			g.Expect(names).To(HaveLen(c.machines))
			g.Expect(members[0].key.Name).To(ContainSubstring("control-plane"), "nothing else can start before it")
			g.Expect([]string{members[0].cluster.Name, members[1].cluster.Name}).To(ConsistOf("a", "b"), "Clusters take turns")
		})
	}
}

func TestOptionsSayWhatIsWrong(t *testing.T) {
	g := NewWithT(t)
	err := run(t.Context(), strings.Fields("--machines=5 --clusters=10 --payload=1 --rate=-1 --window=1ms"))
	g.Expect(err).To(MatchError(And(
		ContainSubstring("--machines"), ContainSubstring("--payload"), ContainSubstring("--rate"), ContainSubstring("--window"),
	)))
}
