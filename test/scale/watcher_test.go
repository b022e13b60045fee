// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

func machineInPhase(name string, phase clusterv1.MachinePhase) *clusterv1.Machine {
	machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	machine.Status.SetTypedPhase(phase)
	return machine
}

func TestMachinesAreCounted(t *testing.T) {
	g := NewWithT(t)
	m := &machines{present: map[types.NamespacedName]bool{}, running: map[types.NamespacedName]time.Time{}}
	a, b := machineInPhase("a", clusterv1.MachinePhasePending), machineInPhase("b", clusterv1.MachinePhaseRunning)
	m.see(a, false)
	m.see(b, false)
	first := m.runningSince(client.ObjectKeyFromObject(b))
	m.see(b, false)
	present, running := m.counts()
	g.Expect([]int{present, running}).To(Equal([]int{2, 1}))
	g.Expect(m.runningSince(client.ObjectKeyFromObject(a))).To(BeZero())
	g.Expect(m.runningSince(client.ObjectKeyFromObject(b))).To(Equal(first), "the first time counts")
	m.see(b, true)
	present, running = m.counts()
	g.Expect([]int{present, running}).To(Equal([]int{1, 1}), "it has been Running")
}

func TestSightings(t *testing.T) {
	g := NewWithT(t)
	var s sightings
	key := types.NamespacedName{Namespace: namespace, Name: "a"}
	at := s.expect(key, func(object client.Object) bool {
		return object.(*clusterv1.Machine).Status.GetTypedPhase() == clusterv1.MachinePhaseRunning
	})
	now := time.Now()
	s.seen(machineInPhase("b", clusterv1.MachinePhaseRunning), now)
	s.seen(machineInPhase("a", clusterv1.MachinePhasePending), now)
	g.Expect(at).NotTo(Receive())
	s.seen(machineInPhase("a", clusterv1.MachinePhaseRunning), now.Add(time.Second))
	s.seen(machineInPhase("a", clusterv1.MachinePhaseRunning), now.Add(time.Minute))
	g.Expect(at).To(Receive(Equal(now.Add(time.Second))), "the first sight counts")
	g.Expect(at).NotTo(Receive())
}
