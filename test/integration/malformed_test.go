// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// set returns a change of an object that puts the value at the path, whatever was there.
func set(value any, path ...string) func(*unstructured.Unstructured) {
	return func(u *unstructured.Unstructured) {
		GinkgoHelper()
		Expect(unstructured.SetNestedField(u.Object, value, path...)).To(Succeed())
	}
}

var list = func(items ...any) []any { return items }

type object = map[string]any

// Each entry breaks the contract in one way on an otherwise complete InfraMachine. The Machine must say path,
// expectation, finding and contract version, must not take anything from the object, and must go on once it is mended.
var _ = DescribeTable("A malformed InfraMachine",
	func(ctx SpecContext, p provider, breakIt func(*unstructured.Unstructured), message string) {
		f := newFixture(ctx, p)
		good := p.infraMachine(f.namespace, "m").WithProvisioned(true).WithProviderID("sim:///m")
		create(ctx, good.With(breakIt).Build(), f.machine("m"))
		f.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) {
			g.Expect(m.Status.Conditions).To(haveCondition("InfrastructureReady", metav1.ConditionUnknown, "ContractViolated", p.infra.Kind+": "+message))
			g.Expect(m.Status.Conditions).To(haveCondition("Ready", BeElementOf(metav1.ConditionUnknown, metav1.ConditionFalse), BeElementOf("ReadyUnknown", "NotReady"), ContainSubstring(message)))
			g.Expect(m.Spec.ProviderID).To(BeEmpty())
			g.Expect(m.Status.Initialization.InfrastructureProvisioned).To(BeNil())
		})
		mended := good.Build()
		mergePatch(ctx, mended, object{"spec": nil, "status": nil})
		setStatus(ctx, mended, nil)
		report(ctx, mended)
		f.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) {
			g.Expect(m.Spec.ProviderID).To(Equal("sim:///m"))
			g.Expect(m.Status.Conditions).To(haveCondition("InfrastructureReady", metav1.ConditionTrue, "Ready", ""))
		})
	},
	Entry("provisioned is a string, v1beta1", oldProvider, set("true", "status", "ready"),
		`.status.ready: expected boolean, found string "true" (contract version v1beta1)`),
	Entry("provisioned is a string, v1beta2", newProvider, set("true", "status", "initialization", "provisioned"),
		`.status.initialization.provisioned: expected boolean, found string "true" (contract version v1beta2)`),
	Entry("a parent is no object", newProvider, set("done", "status", "initialization"),
		`.status.initialization: expected object, found string "done" (contract version v1beta2)`),
	Entry("the provider ID is a number", newProvider, set(int64(42), "spec", "providerID"),
		`.spec.providerID: expected string, found number 42 (contract version v1beta2)`),
	Entry("addresses are an object", newProvider, set(object{"internal": "10.0.0.1"}, "status", "addresses"),
		`.status.addresses: expected list of objects, found object (contract version v1beta2)`),
	Entry("an address is a string", newProvider, set(list("10.0.0.1"), "status", "addresses"),
		`.status.addresses[0]: expected object, found string "10.0.0.1" (contract version v1beta2)`),
	Entry("the type of an address is a number", newProvider, set(list(object{"type": "InternalIP", "address": "10.0.0.1"}, object{"type": int64(1), "address": "10.0.0.2"}), "status", "addresses"),
		`.status.addresses[1].type: expected string, found number 1 (contract version v1beta2)`),
	Entry("the failure domain is an object", oldProvider, set(object{"zone": "a"}, "status", "failureDomain"),
		`.status.failureDomain: expected string, found object (contract version v1beta1)`),
	Entry("the legacy failure domain is a list", newProvider, set(list("a"), "spec", "failureDomain"),
		`.spec.failureDomain: expected string, found list (contract version v1beta2)`),
	Entry("interruptible is a string", newProvider, set("no", "status", "interruptible"),
		`.status.interruptible: expected boolean, found string "no" (contract version v1beta2)`),
	Entry("the failure reason is an object", newProvider, set(object{"code": int64(1)}, "status", "failureReason"),
		`.status.failureReason: expected string, found object (contract version v1beta2)`),
	Entry("two fields at once", newProvider, func(u *unstructured.Unstructured) {
		set("true", "status", "initialization", "provisioned")(u)
		set(true, "spec", "providerID")(u)
	}, `.spec.providerID: expected string, found boolean true (contract version v1beta2); .status.initialization.provisioned: expected boolean, found string "true" (contract version v1beta2)`),
)

var _ = DescribeTable("An InfraMachine with malformed conditions is used, and the Machine says what is wrong with them",
	func(ctx SpecContext, conditions any, message any) {
		f := newFixture(ctx, newProvider)
		create(ctx, f.infraMachine(f.namespace, "m").WithProvisioned(true).WithProviderID("sim:///m").With(set(conditions, "status", "conditions")).Build(), f.machine("m"))
		f.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) {
			g.Expect(m.Status.Conditions).To(haveCondition("InfrastructureReady", metav1.ConditionUnknown, "InvalidConditionReported", message))
			g.Expect(m.Spec.ProviderID).To(Equal("sim:///m"))
		})
	},
	Entry("no list", "Ready", `.status.conditions: expected list of objects, found string "Ready" (contract version v1beta2)`),
	Entry("a status that is a boolean", list(object{"type": "Ready", "status": true}), `.status.conditions[0].status: expected string, found boolean true (contract version v1beta2)`),
	Entry("a time that is none", list(object{"type": "Ready", "status": "True", "lastTransitionTime": "yesterday"}),
		ContainSubstring(`.status.conditions[0].lastTransitionTime: expected`)),
	Entry("a condition without status", list(object{"type": "Ready"}), `.status.conditions[0].status: expected string, found nothing (contract version v1beta2)`),
	Entry("a status that is no status", list(object{"type": "Ready", "status": "Maybe"}), `.status.conditions[0].status: expected one of True, False, Unknown, found string "Maybe" (contract version v1beta2)`),
	Entry("a reason that the Machine's CRD would refuse", list(object{"type": "Ready", "status": "False", "reason": "not a reason"}),
		ContainSubstring(`found "not a reason"`)),
)

var _ = DescribeTable("A malformed BootstrapConfig",
	func(ctx SpecContext, p provider, breakIt func(*unstructured.Unstructured), message string) {
		f := newFixture(ctx, p)
		good := p.bootstrapConfig(f.namespace, "m").WithDataSecretCreated(true).WithDataSecretName("secret")
		create(ctx, good.With(breakIt).Build(), f.machine("m"))
		f.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) {
			g.Expect(m.Status.Conditions).To(haveCondition("BootstrapConfigReady", metav1.ConditionUnknown, "ContractViolated", p.bootstrap.Kind+": "+message))
			g.Expect(m.Spec.Bootstrap.DataSecretName).To(BeNil())
		})
		setStatus(ctx, good.Build(), nil)
		report(ctx, good.Build())
		f.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) {
			g.Expect(m.Spec.Bootstrap.DataSecretName).To(HaveValue(Equal("secret")))
			g.Expect(m.Status.Conditions).To(haveCondition("BootstrapConfigReady", metav1.ConditionTrue, "Ready", ""))
		})
	},
	Entry("created is a string, v1beta1", oldProvider, set("true", "status", "ready"),
		`.status.ready: expected boolean, found string "true" (contract version v1beta1)`),
	Entry("created is a number, v1beta2", newProvider, set(int64(1), "status", "initialization", "dataSecretCreated"),
		`.status.initialization.dataSecretCreated: expected boolean, found number 1 (contract version v1beta2)`),
	Entry("the secret's name is a number", newProvider, set(int64(7), "status", "dataSecretName"),
		`.status.dataSecretName: expected string, found number 7 (contract version v1beta2)`),
	Entry("created without a name", newProvider, func(u *unstructured.Unstructured) {
		unstructured.RemoveNestedField(u.Object, "status", "dataSecretName")
	},
		`.status.dataSecretName: expected a name, as the data secret is reported to be created, found no value (contract version v1beta2)`),
	Entry("created with an empty name", oldProvider, set("", "status", "dataSecretName"),
		`.status.dataSecretName: expected a name, as the data secret is reported to be created, found "" (contract version v1beta1)`),
)

var _ = It("An address that the Machine's CRD would refuse is left out and said, and the rest is used", func(ctx SpecContext) {
	f := newFixture(ctx, newProvider)
	create(ctx, f.infraMachine(f.namespace, "m").WithProvisioned(true).WithProviderID("sim:///m").
		With(set(list(object{"type": "Carrier pigeon", "address": "roof"}, object{"type": "InternalIP", "address": "10.0.0.1"}), "status", "addresses")).Build(), f.machine("m"))
	f.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) {
		g.Expect(m.Status.Addresses).To(ConsistOf(clusterv1.MachineAddress{Type: "InternalIP", Address: "10.0.0.1"}))
		g.Expect(m.Spec.ProviderID).To(Equal("sim:///m"))
		g.Expect(m.Status.Conditions).To(haveCondition("InfrastructureReady", metav1.ConditionUnknown, "ContractViolated",
			`NewMachine: .status.addresses[0].type: expected one of [Hostname ExternalIP InternalIP ExternalDNS InternalDNS], found "Carrier pigeon" (contract version v1beta2)`))
	})
})

var _ = DescribeTable("An object that follows another contract version than its CRD is labelled for is named as that",
	func(ctx SpecContext, p provider, path, other string) {
		f := newFixture(ctx, p)
		infra := p.infraMachine(f.namespace, "m").WithProviderID("sim:///m")
		if p.contract == "v1beta2" {
			infra = infra.With(set(true, "status", "ready"))
		} else {
			infra = infra.With(set(true, "status", "initialization", "provisioned"))
		}
		create(ctx, infra.Build(), f.machine("m"))
		f.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) {
			g.Expect(m.Status.Conditions).To(haveCondition("InfrastructureReady", metav1.ConditionFalse, "NotReady", And(
				HavePrefix(p.infra.Kind+" status.initialization.provisioned is false; "), ContainSubstring(path), ContainSubstring(other), ContainSubstring("contract version "+string(p.contract)))))
		})
	},
	Entry("labelled v1beta2, written for v1beta1", newProvider, ".status.ready", "contract version v1beta1"),
	Entry("labelled v1beta1, written for v1beta2", oldProvider, ".status.initialization.provisioned", "contract version v1beta2"),
)
