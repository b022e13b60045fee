// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// What has changed decides how soon a Machine is told.
func TestConcern(t *testing.T) {
	set := func(value any, path ...string) func(*unstructured.Unstructured) {
		return func(object *unstructured.Unstructured) {
			if err := unstructured.SetNestedField(object.Object, value, path...); err != nil {
				panic(err)
			}
		}
	}
	conditions := []any{map[string]any{"type": "Ready", "status": "False", "reason": "Booting"}}
	for name, test := range map[string]struct {
		change   func(*unstructured.Unstructured)
		expected urgency
	}{
		"a field of the provider's own":     {set("x", "status", "instanceState"), never},
		"the resourceVersion":               {set("2", "metadata", "resourceVersion"), never},
		"conditions":                        {set(conditions, "status", "conditions"), late},
		"conditions of the contract before": {set(conditions, "status", "v1beta2", "conditions"), late},
		"deprecated conditions":             {set(conditions, "status", "deprecated", "v1beta1", "conditions"), late},
		"provisioned":                       {set(true, "status", "initialization", "provisioned"), atOnce},
		"providerID":                        {set("sim://m", "spec", "providerID"), atOnce},
		"a failure":                         {set("NoMoney", "status", "failureReason"), atOnce},
		"deletion":                          {set("2026-01-01T00:00:00Z", "metadata", "deletionTimestamp"), atOnce},
		"owners":                            {set([]any{}, "metadata", "ownerReferences"), atOnce},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			before := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "example.org/v1", "kind": "TestMachine",
				"metadata": map[string]any{"name": "m", "namespace": "ns", "resourceVersion": "1"},
			}}
			after := before.DeepCopy()
			test.change(after)
			a, err := pack(InfraMachine, before)
			g.Expect(err).NotTo(HaveOccurred())
			b, err := pack(InfraMachine, after)
			g.Expect(err).NotTo(HaveOccurred())
			w := &kindWatch{kind: Kind{Role: InfraMachine}}
			g.Expect(w.concern(a, b)).To(Equal(test.expected))
		})
	}
}

// patients are the referrers that can wait.
type patients struct {
	Referrers
	names map[string]bool
}

func (p patients) Patient(_ context.Context, request reconcile.Request) bool {
	return p.names[request.Name]
}

func TestInformationWaitsForThosePatient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		request := func(name string) reconcile.Request {
			return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: name}}
		}
		queue := priorityqueue.New[reconcile.Request]("test")
		defer queue.ShutDown()
		tracker := &Tracker{ctx: t.Context(), queue: queue, referrers: patients{names: map[string]bool{"patient": true, "woken": true}}}
		start := time.Now()
		tracker.inform([]reconcile.Request{request("patient"), request("woken"), request("impatient")})
		tracker.enqueue([]reconcile.Request{request("woken")})
		after := map[string]time.Duration{}
		priorities := map[string]int{}
		for range 3 {
			next, priority, _ := queue.GetWithPriority()
			after[next.Name], priorities[next.Name] = time.Since(start), priority
			queue.Done(next)
		}
		g.Expect(after).To(Equal(map[string]time.Duration{"impatient": 0, "woken": 0, "patient": patience}))
		g.Expect(priorities["patient"]).To(BeNumerically("<", 0), "others come first")
		g.Expect(priorities["woken"]).To(BeZero(), "it has more to do than to be informed")
	})
}
