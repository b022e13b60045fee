// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// maxConditions is the number of conditions that the Machine's CRD allows. Ours take ten of them. One more, and the API
// server refuses the whole status.
const maxConditions = 32

// MakeRoom takes conditions of the given types off the Machine, the first ones first, until there are no more than its CRD
// allows, and returns what it took. What others have written is never taken, so there may be too many all the same.
func MakeRoom(machine *clusterv1.Machine, types ...string) []string {
	var taken []string
	for _, conditionType := range types {
		if len(machine.Status.Conditions) <= maxConditions {
			break
		}
		ofType := func(c metav1.Condition) bool { return c.Type == conditionType }
		if slices.ContainsFunc(machine.Status.Conditions, ofType) {
			machine.Status.Conditions = slices.DeleteFunc(machine.Status.Conditions, ofType)
			taken = append(taken, conditionType)
		}
	}
	return taken
}
