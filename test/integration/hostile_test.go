// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/apis/contract"
)

var _ = It("Conditions of another writer survive, however often both write", func(ctx SpecContext) {
	const rounds = 20
	f := newFixture(ctx, newProvider)
	create(ctx, f.infraMachine(f.namespace, "m").WithProvisioned(true).WithProviderID("sim:///0").Build(), f.machine("m"))
	f.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) { g.Expect(m.Spec.ProviderID).To(Equal("sim:///0")) })
	for round := range rounds {
		// A change of spec and of status for the manager to write, at the same time as ours.
		report(ctx, f.infraMachine(f.namespace, "m").WithProvisioned(true).WithProviderID(fmt.Sprintf("sim:///%d", round)).
			WithConditions([]contract.Condition{{Type: "Ready", Status: "True", Reason: "Ready", Message: fmt.Sprint("round ", round)}}).Build())
		status := metav1.ConditionTrue
		if round%2 == 1 {
			status = metav1.ConditionFalse
		}
		mine := fmt.Sprint("health check ", round)
		setForeignConditions(ctx, f.namespace, status, mine)
		f.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) {
			g.Expect(m.Spec.ProviderID).To(Equal(fmt.Sprintf("sim:///%d", round)))
			g.Expect(m.Status.Conditions).To(haveCondition("InfrastructureReady", metav1.ConditionTrue, "Ready", fmt.Sprint("round ", round)))
			g.Expect(m.Status.Conditions).To(haveCondition("HealthCheckSucceeded", status, "Checked", mine))
			g.Expect(m.GetV1Beta1Conditions()).To(ContainElement(And(HaveField("Type", BeEquivalentTo("HealthCheckSucceeded")), HaveField("Message", mine))))
		})
	}
})

// setForeignConditions writes one condition of each style as another controller does: with the version that it has read.
func setForeignConditions(ctx context.Context, namespace string, status metav1.ConditionStatus, message string) {
	GinkgoHelper()
	Expect(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		m := &clusterv1.Machine{}
		if err := k8s.Get(ctx, types.NamespacedName{Namespace: namespace, Name: "m"}, m); err != nil {
			return err
		}
		base := m.DeepCopy()
		kept := []metav1.Condition{{Type: "HealthCheckSucceeded", Status: status, Reason: "Checked", Message: message, LastTransitionTime: metav1.Now()}}
		for _, c := range m.Status.Conditions {
			if c.Type != "HealthCheckSucceeded" {
				kept = append(kept, c)
			}
		}
		m.Status.Conditions = kept
		deprecated := clusterv1.Conditions{{Type: "HealthCheckSucceeded", Status: "False", Severity: "Info", Reason: "Checked", Message: message, LastTransitionTime: metav1.Now()}}
		for _, c := range m.GetV1Beta1Conditions() {
			if c.Type != "HealthCheckSucceeded" {
				deprecated = append(deprecated, c)
			}
		}
		m.SetV1Beta1Conditions(deprecated)
		return k8s.Status().Patch(ctx, m, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
	})).To(Succeed())
}
