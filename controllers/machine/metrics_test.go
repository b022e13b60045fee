// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"errors"
	"fmt"
	"maps"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

var _ = Describe("Metrics of Machines", func() {
	It("count Machines by phase, also where there are none, and by the first thing that they wait for", func() {
		machines := listOf{
			conditioned("Running", allTrue),
			conditioned("Running", allTrue, falseFor("NodeHealthy", "NodeNotHealthy"), falseFor("Available", "NotReady")),
			conditioned("Pending", allTrue, falseFor("BootstrapConfigReady", "NotReady"), falseFor("InfrastructureReady", "ObjectDoesNotExist")),
			conditioned("Provisioning", allTrue, falseFor("InfrastructureReady", "CustomResourceDefinitionMissing")),
			conditioned("Provisioning", allTrue, falseFor("InfrastructureReady", "KindNotSynced")),
			conditioned("Provisioning", allTrue, falseFor("InfrastructureReady", "QuotaExceeded")),
			conditioned("Provisioning", allTrue, falseFor("InfrastructureReady", "NoMoreTea")),
			conditioned("Deleting", allTrue, falseFor("NodeReady", "NodeDeleted"), trueFor("Deleting", "WaitingForInfrastructureDeletion")),
			conditioned("Running", allTrue, trueFor("Paused", "Paused")),
			conditioned(""),
			conditioned("Napping", allTrue),
		}
		Expect(collect(&Metrics{Reader: machines})).To(Equal(map[string]float64{
			"machinist_machines{Pending}":                                                     1,
			"machinist_machines{Provisioning}":                                                4,
			"machinist_machines{Provisioned}":                                                 0,
			"machinist_machines{Running}":                                                     3,
			"machinist_machines{Updating}":                                                    0,
			"machinist_machines{Deleting}":                                                    1,
			"machinist_machines{Unknown}":                                                     2,
			"machinist_machines_waiting{NodeHealthy,NodeNotHealthy}":                          1,
			"machinist_machines_waiting{BootstrapConfigReady,NotReady}":                       1,
			"machinist_machines_waiting{InfrastructureReady,CustomResourceDefinitionMissing}": 1,
			"machinist_machines_waiting{InfrastructureReady,KindNotSynced}":                   1,
			"machinist_machines_waiting{InfrastructureReady,ReportedByProvider}":              2,
			"machinist_machines_waiting{Deleting,WaitingForInfrastructureDeletion}":           1,
			"machinist_machines_waiting{Paused,Paused}":                                       1,
			"machinist_machines_waiting{BootstrapConfigReady,NotYetReported}":                 1,
		}))
	})

	It("are none while the cache is not filled", func() {
		Expect(collect(&Metrics{Reader: listOf(nil)})).To(BeEmpty())
	})

	It("describe what they collect", func() {
		Expect(prometheus.NewPedanticRegistry().Register(&Metrics{})).To(Succeed())
	})
})

// listOf is a cache with these Machines; it isn't filled if they are nil.
type listOf []clusterv1.Machine

func (l listOf) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("nobody should ask")
}

func (l listOf) List(ctx context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if l == nil {
		<-ctx.Done()
		return ctx.Err()
	}
	list.(*clusterv1.MachineList).Items = l
	return nil
}

var allTrue = func(conditions map[string]metav1.Condition) {
	for _, conditionType := range []string{"BootstrapConfigReady", "InfrastructureReady", "NodeReady", "NodeHealthy", "Available"} {
		trueFor(conditionType, "Ready")(conditions)
	}
}

func trueFor(conditionType, reason string) func(map[string]metav1.Condition) {
	return func(conditions map[string]metav1.Condition) {
		conditions[conditionType] = metav1.Condition{Type: conditionType, Status: metav1.ConditionTrue, Reason: reason}
	}
}

func falseFor(conditionType, reason string) func(map[string]metav1.Condition) {
	return func(conditions map[string]metav1.Condition) {
		conditions[conditionType] = metav1.Condition{Type: conditionType, Status: metav1.ConditionFalse, Reason: reason}
	}
}

func conditioned(phase string, changes ...func(map[string]metav1.Condition)) clusterv1.Machine {
	conditions := map[string]metav1.Condition{}
	for _, change := range changes {
		change(conditions)
	}
	machine := clusterv1.Machine{Status: clusterv1.MachineStatus{Phase: phase}}
	for condition := range maps.Values(conditions) {
		machine.Status.Conditions = append(machine.Status.Conditions, condition)
	}
	return machine
}

// collect returns the values by name and labels.
func collect(collector prometheus.Collector) map[string]float64 {
	GinkgoHelper()
	registry := prometheus.NewPedanticRegistry()
	Expect(registry.Register(collector)).To(Succeed())
	families, err := registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	values := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			labels := ""
			for _, label := range metric.GetLabel() {
				labels += "," + label.GetValue()
			}
			values[fmt.Sprintf("%s{%s}", family.GetName(), labels[1:])] = metric.GetGauge().GetValue()
		}
	}
	return values
}
