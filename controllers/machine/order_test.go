// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"maps"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers/status"
	"github.com/machinist-dev/machinist/test/matcher"
)

// happening is something about which a Machine learns something wrong first, perhaps, and something right in the end. Nothing
// that is learned of one happening depends on another.
type happening struct{ first, atLast fact }

func provisions(change func(*clusterv1.MachineInitializationStatus), facts ...fact) fact {
	return func(s *scope) {
		change(&s.machine.Status.Initialization)
		for _, f := range facts {
			f(s)
		}
	}
}

// happenings are all that makes a Machine Running.
func happenings() map[string]happening {
	return map[string]happening{
		"infrastructure": {infraIs(reported(no, "Creating", "booting")), provisions(
			func(flags *clusterv1.MachineInitializationStatus) { flags.InfrastructureProvisioned = new(true) }, infraIs(both(reported(yes, "Running", ""), done)), providerID("sim:///1"))},
		"bootstrap": {configIs(problem(errFields)), provisions(
			func(flags *clusterv1.MachineInitializationStatus) { flags.BootstrapDataSecretCreated = new(true) }, configIs(both(reported(yes, "Running", ""), done)), dataSecret)},
		"Node": {nodeIs(nodeReadyIs(corev1.ConditionFalse, "no CNI")), func(s *scope) {
			nodeIs(healthyNode())(s)
			running("v1", "v1")(s)
			nodeRef("n")(s)
		}},
		"Cluster":      {cluster(notProvisioned), cluster(func(c *clusterv1.Cluster) { c.Status.Initialization.InfrastructureProvisioned = new(true) })},
		"health check": {stored(about("HealthCheckSucceeded", no, "UnhealthyNode", "sick")), stored(about("HealthCheckSucceeded", yes, "HealthCheckSucceeded", ""))},
		"rollout":      {rolledOut("v2"), rolledOut("v1")},
		"update":       {annotated(clusterv1.UpdateInProgressAnnotation, ""), func(s *scope) { delete(s.machine.Annotations, clusterv1.UpdateInProgressAnnotation) }},
		"certificates": {annotated(expiryAnnotation, early), func(s *scope) { controlPlane(s); annotated(expiryAnnotation, late)(s) }},
	}
}

// atFirst is the Machine before anything has happened.
func atFirst() *scope { return knowing(infraIs(missing), configIs(missing), cluster(notProvisioned)) }

var _ = Describe("Whatever is learned first", func() {
	It("the status in the end is the same", func() {
		all := happenings()
		expected := atFirst()
		for _, h := range all {
			h.atLast(expected)
		}
		computeStatus(expected, grace)
		Expect(expected.machine.Status.Phase).To(Equal("Running"))
		Expect(status.IsTrue(expected.machine.Status.Conditions, "Available")).To(BeTrue())

		names := slices.Sorted(maps.Keys(all))
		names = append(names, names...)
		rapid.Check(GinkgoT(), func(t *rapid.T) {
			g := NewWithT(t)
			s := atFirst()
			seen := map[string]bool{}
			for _, name := range rapid.Permutation(names).Draw(t, "order") {
				if seen[name] {
					all[name].atLast(s)
				} else if rapid.Bool().Draw(t, "wrong first") {
					all[name].first(s)
				}
				seen[name] = true
				s.now = s.now.Add(time.Duration(rapid.IntRange(0, 2000).Draw(t, "ms")) * time.Millisecond)
				s.node.health.LastSuccess = s.now
				if rapid.Bool().Draw(t, "look") {
					computeStatus(s, grace)
					g.Expect(s.machine).To(matcher.HaveValidStatus())
				}
			}
			computeStatus(s, grace)
			g.Expect(sameFacts(&s.machine.Status, &expected.machine.Status)).To(BeTrue(), "%v, expected %v", s.machine.Status, expected.machine.Status)
		})
	})
})
