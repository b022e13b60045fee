// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"errors"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/builder"
	"github.com/machinist-dev/machinist/webhooks/machine"
	"github.com/machinist-dev/machinist/webhooks/meter"
)

func TestMachineWebhooks(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Webhooks of Machine")
}

// change is something done to a Machine.
type change = func(*clusterv1.Machine)

// valid is a Machine that breaks no rule, as the defaulter leaves it.
var valid = builder.Machine("default", "m").WithVersion("v1.37.2").
	With(func(m *clusterv1.Machine) { m.Spec.Deletion.NodeDeletionTimeoutSeconds = new(int32(10)) })

// strict judges by all rules; the feature of the taints is on, as most rules about them are the same without it.
var strict = &machine.Validator{Options: machine.Options{MachineTaintPropagation: true, Meter: meter.New()}}

// deleting is a change that makes the Machine one that is being deleted.
func deleting(m *clusterv1.Machine) {
	m.DeletionTimestamp, m.Finalizers = new(metav1.Now()), []string{clusterv1.MachineFinalizer}
}

func label(key, value string) change {
	return func(m *clusterv1.Machine) { metav1.SetMetaDataLabel(&m.ObjectMeta, key, value) }
}

func skip(rules string) change {
	return func(m *clusterv1.Machine) {
		metav1.SetMetaDataAnnotation(&m.ObjectMeta, clusterv1.SkipReferenceValidationAnnotation, rules)
	}
}

func taints(keys ...string) change {
	return func(m *clusterv1.Machine) {
		m.Spec.Taints = nil
		for _, key := range keys {
			m.Spec.Taints = append(m.Spec.Taints, clusterv1.MachineTaint{
				Key: key, Effect: "NoSchedule", Propagation: clusterv1.MachineTaintPropagationAlways,
			})
		}
	}
}

func gates(types ...string) change {
	return func(m *clusterv1.Machine) {
		m.Spec.ReadinessGates = nil
		for _, conditionType := range types {
			m.Spec.ReadinessGates = append(m.Spec.ReadinessGates, clusterv1.MachineReadinessGate{ConditionType: conditionType})
		}
	}
}

func noBootstrap(m *clusterv1.Machine) { m.Spec.Bootstrap = clusterv1.Bootstrap{} }

func version(v string) change { return func(m *clusterv1.Machine) { m.Spec.Version = v } }

// causes returns what an Invalid is about, each as "field: text"; none if there is no error.
func causes(err error) []string {
	GinkgoHelper()
	if err == nil {
		return nil
	}
	status, ok := errors.AsType[*apierrors.StatusError](err)
	Expect(ok).To(BeTrue(), "an error that the API server can pass on, not %T", err)
	Expect(status.Status().Code).To(BeEquivalentTo(422))
	Expect(status.Status().Reason).To(Equal(metav1.StatusReasonInvalid))
	Expect(status.Status().Details).To(And(HaveField("Group", "cluster.x-k8s.io"), HaveField("Kind", "Machine"), HaveField("Name", "m")))
	var all []string
	for _, cause := range status.Status().Details.Causes {
		all = append(all, cause.Field+": "+cause.Message)
	}
	return all
}
