// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

func TestStatus(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Status")
}

// now is not a whole second, unlike all times that the API server stores.
var now = time.Date(2026, time.August, 1, 12, 0, 0, 987654321, time.UTC)

// second is now as the API server stores it.
var second = metav1.NewTime(now.Truncate(time.Second))

// ago is a time that the API server has stored.
func ago(d time.Duration) metav1.Time { return metav1.NewTime(second.Add(-d)) }

// deletingSince marks the Machine as being deleted.
func deletingSince(machine *clusterv1.Machine, d time.Duration) *clusterv1.Machine {
	machine.DeletionTimestamp = new(ago(d))
	return machine
}

const (
	isTrue    = metav1.ConditionTrue
	isFalse   = metav1.ConditionFalse
	isUnknown = metav1.ConditionUnknown
)
