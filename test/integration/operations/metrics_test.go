// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gcustom"
	gomegatypes "github.com/onsi/gomega/types"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// reconciles is the number of those that the managers of this process have finished.
func reconciles() int {
	GinkgoHelper()
	families, err := metrics.Registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	total := 0
	for _, family := range families {
		if family.GetName() != "controller_runtime_reconcile_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "controller" && label.GetValue() == "machine" {
					total += int(metric.GetCounter().GetValue())
				}
			}
		}
	}
	return total
}

// beRunning matches a Machine that has arrived.
func beRunning() gomegatypes.GomegaMatcher {
	return gcustom.MakeMatcher(func(m clusterv1.Machine) (bool, error) {
		if m.Status.Phase != "Running" || !apimeta.IsStatusConditionTrue(m.Status.Conditions, clusterv1.MachineReadyCondition) {
			return false, nil
		}
		if m.Status.ObservedGeneration > m.Generation {
			return false, fmt.Errorf("observed generation %d of %d", m.Status.ObservedGeneration, m.Generation)
		}
		return true, nil
	}).WithTemplate("Expected\n{{.FormattedActual}}\n{{.To}} be Running and Ready")
}
