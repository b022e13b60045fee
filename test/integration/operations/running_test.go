// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"fmt"

	"github.com/onsi/gomega/gcustom"
	gomegatypes "github.com/onsi/gomega/types"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

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
