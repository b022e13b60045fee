// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers/status"
)

var (
	phasesMetric = prometheus.NewDesc("machinist_machines",
		"Machines in each phase.", []string{"phase"}, nil)
	waitingMetric = prometheus.NewDesc("machinist_machines_waiting",
		"Machines that are not available, each counted at the first thing that it waits for: the condition that says so, and its reason.",
		[]string{"condition", "reason"}, nil)
)

// Labels of machinist_machines_waiting that are no reason of a condition.
const (
	// reasonOfProvider stands for all reasons that providers make up: there may be any number of them.
	reasonOfProvider = "ReportedByProvider"
	// reasonNone is that of a Machine whose condition has not been set yet.
	reasonNone = "NotYetReported"
)

// Metrics counts Machines, by phase and by what they wait for, whenever it is collected. Counting reads the cache, and
// copies nothing. It is safe for concurrent use.
type Metrics struct {
	// Reader lists Machines from memory.
	Reader client.Reader
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- phasesMetric
	descriptions <- waitingMetric
}

// waitLabels are those of machinist_machines_waiting.
type waitLabels struct{ condition, reason string }

// Collect implements prometheus.Collector. A phase without Machines is a zero; there is nothing while the cache is not
// filled.
func (m *Metrics) Collect(metrics chan<- prometheus.Metric) {
	// A cache that isn't filled makes a list wait; one that is does not look at the context.
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	machines := &clusterv1.MachineList{}
	if err := m.Reader.List(ctx, machines, client.UnsafeDisableDeepCopy); err != nil {
		return
	}
	phases := map[clusterv1.MachinePhase]int{
		clusterv1.MachinePhasePending: 0, clusterv1.MachinePhaseProvisioning: 0, clusterv1.MachinePhaseProvisioned: 0,
		clusterv1.MachinePhaseRunning: 0, clusterv1.MachinePhaseUpdating: 0, clusterv1.MachinePhaseDeleting: 0, clusterv1.MachinePhaseUnknown: 0,
	}
	waits := map[waitLabels]int{}
	for i := range machines.Items {
		machine := &machines.Items[i]
		phases[machine.Status.GetTypedPhase()]++
		if wait := waitsFor(machine); wait != nil {
			waits[*wait]++
		}
	}
	for phase, count := range phases {
		metrics <- prometheus.MustNewConstMetric(phasesMetric, prometheus.GaugeValue, float64(count), string(phase))
	}
	for wait, count := range waits {
		metrics <- prometheus.MustNewConstMetric(waitingMetric, prometheus.GaugeValue, float64(count), wait.condition, wait.reason)
	}
}

// waitsFor returns the first thing that the Machine waits for, nil if it is available.
func waitsFor(machine *clusterv1.Machine) *waitLabels {
	for _, blocking := range []string{clusterv1.MachineDeletingCondition, clusterv1.PausedCondition} {
		if blocking == clusterv1.PausedCondition && isReserved(machine) {
			continue // paused for others
		}
		if condition := status.Get(machine, blocking); condition != nil && condition.Status == metav1.ConditionTrue {
			return &waitLabels{blocking, condition.Reason}
		}
	}
	for _, needed := range []string{
		clusterv1.MachineBootstrapConfigReadyCondition, clusterv1.MachineInfrastructureReadyCondition,
		clusterv1.MachineNodeReadyCondition, clusterv1.MachineNodeHealthyCondition, clusterv1.MachineAvailableCondition,
	} {
		condition := status.Get(machine, needed)
		if condition == nil {
			return &waitLabels{needed, reasonNone}
		}
		if condition.Status != metav1.ConditionTrue {
			return &waitLabels{needed, boundedReason(condition)}
		}
	}
	return nil
}

// boundedReason returns the reason of a condition if it is one of ours.
func boundedReason(condition *metav1.Condition) string {
	switch condition.Type {
	case clusterv1.MachineBootstrapConfigReadyCondition, clusterv1.MachineInfrastructureReadyCondition:
	default:
		return condition.Reason // ours are the only reasons
	}
	switch condition.Reason {
	case clusterv1.NotReadyReason, clusterv1.ObjectDoesNotExistReason, clusterv1.ObjectDeletedReason, clusterv1.InternalErrorReason:
		return condition.Reason
	}
	if ownReasons[condition.Reason] {
		return condition.Reason
	}
	return reasonOfProvider
}
