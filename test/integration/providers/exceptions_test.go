// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"context"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// exception names what a rule does not fit: definition, contract version ("" stands for any), object.
type exception struct{ definition, contract, object string }

// exceptions are what Machines must say in cases that are worth words of their own: objects that break the contract, and
// those at which a reader easily goes wrong.
var exceptions = map[exception]shown{
	// A required field of another type. Nothing is taken from the object.
	{"harvester/crd_harvestermachine_2023-11.yaml", v1beta1, "harvester/object_harvestermachine_ready-string.yaml"}: {
		Ready: condition{Status: "Unknown", Reason: "ContractViolated",
			Message: `HarvesterMachine: .status.ready: expected boolean, found string "true" (contract version v1beta1)`},
		DeprecatedReady: deprecatedCondition{Status: "False", Severity: "Info", Reason: "WaitingForInfrastructure"},
		Phase:           "Provisioning",
	},
	// An optional field of another type.
	{"openstack/crd_openstackmachine_pr-failuredomains.yaml", v1beta1, "openstack/object_openstackmachine_failuredomain-object.yaml"}: {
		Ready: condition{Status: "Unknown", Reason: "ContractViolated",
			Message: `OpenStackMachine: .status.failureDomain: expected string, found object (contract version v1beta1)`},
		DeprecatedReady: deprecatedCondition{Status: "False", Severity: "Info", Reason: "WaitingForInfrastructure"},
		Phase:           "Provisioning",
	},
	// Contract v1beta2 declared before the provider follows it: its own condition is fine, and the machine never arrives.
	{"kubevirt/crd_kubevirtmachine_pr-label-first.yaml", v1beta2, "kubevirt/object_kubevirtmachine_ready-only.yaml"}: {
		Ready: condition{Status: "False", Reason: "NotReady",
			Message: "KubevirtMachine: Provisioned is not at .status.initialization.provisioned, where contract version v1beta2 has it, but at .status.ready, where contract version v1beta1 has it"},
		DeprecatedReady: deprecatedCondition{Status: "True"},
		Phase:           "Provisioning",
	},
	// Contract v1beta1 still declared after the provider has left it.
	{"proxmox/crd_proxmoxmachine.yaml", v1beta1, "proxmox/object_proxmoxmachine_v1alpha2.yaml"}: {
		Ready: condition{Status: "False", Reason: "NotReady",
			Message: "ProxmoxMachine: Provisioned is not at .status.ready, where contract version v1beta1 has it, but at .status.initialization.provisioned, where contract version v1beta2 has it"},
		DeprecatedReady: deprecatedCondition{Status: "True", Reason: "Ready"},
		Phase:           "Provisioning",
	},
	// No label; and with one, the provider ID in the half of the object where nobody looks for it.
	{"hypervisor/crd_hypervisormachine.yaml", "", "hypervisor/object_hypervisormachine.yaml"}: {
		Ready: condition{Status: "Unknown", Reason: "ContractVersionUnknown",
			Message: "HypervisorMachine: CustomResourceDefinition hypervisormachines.infrastructure.cluster.x-k8s.io: no contract version is declared: " +
				"the labels cluster.x-k8s.io/v1beta2 and cluster.x-k8s.io/v1beta1 are missing or empty; " +
				`set the label of the contract version that the CRD implements to the API versions that implement it, joined by "_"`},
		Phase: "Provisioning",
	},
	{"hypervisor/crd_hypervisormachine.yaml", v1beta1, "hypervisor/object_hypervisormachine.yaml"}: {
		Ready: condition{Status: "False", Reason: "NotReady",
			Message: "HypervisorMachine: it is provisioned but does not report spec.providerID yet"},
		DeprecatedReady: deprecatedCondition{Status: "True"},
		Phase:           "Provisioning",
	},
	// Bootstrap data that is said to be there while the conditions say no: it is taken, and the conditions are shown.
	{"k3s/crd_kthreesconfig.yaml", v1beta1, "k3s/object_kthreesconfig_ready-but-conditions-false.yaml"}: {
		Done: true, DataSecretName: "k3-test-2-control-plane-pl7ln",
		Ready:           condition{Status: "False", Reason: "WaitingForControlPlaneAvailable"},
		DeprecatedReady: deprecatedCondition{Status: "True"},
		Phase:           "Provisioning",
	},
	// Failed before its Machine has seen it provisioned: nothing but the failure is shown.
	{"aws/crd_awsmachine.yaml", v1beta1, "aws/object_awsmachine_spot-terminated.yaml"}: {
		Ready:           condition{Status: "False", Reason: "InstanceTerminated"},
		DeprecatedReady: deprecatedCondition{Status: "False", Severity: "Error", Reason: "InstanceTerminated"},
		FailureReason:   "UpdateError",
		FailureMessage: "Failure detected from referenced resource infrastructure.cluster.x-k8s.io/v1beta2, Kind=AWSMachine " +
			`with name "prod-eu-1-spot-vv8fd-k2xtw": EC2 instance state "terminated" is unexpected`,
		Phase: "Provisioning",
	},
	// Addresses that the API of Machine refuses are left out one by one; the first of them is named.
	{"opennebula/crd_onemachine.yaml", v1beta1, "opennebula/object_onemachine_addresses.yaml"}: {
		Done: true, ProviderID: "one://37", Addresses: []string{"InternalIP 10.0.0.37", "Hostname one-37"},
		Ready: condition{Status: "Unknown", Reason: "ContractViolated",
			Message: `ONEMachine: .status.addresses[1].type: expected one of [Hostname ExternalIP InternalIP ExternalDNS InternalDNS], found "FloatingIP" (contract version v1beta1)`},
		DeprecatedReady: deprecatedCondition{Status: "True"},
		Phase:           "Provisioned",
	},
	// A condition that the API of Machine refuses. The API server does not check it where it has converted it.
	{"cluster-api-v1.14/crd_kubeadmconfig.yaml", v1beta2, "cluster-api-v1.14/object_kubeadmconfig_reason.yaml"}: {
		Ready:           condition{Status: "Unknown", Reason: "InvalidConditionReported", Message: invalidReason},
		DeprecatedReady: deprecatedCondition{Status: "False", Reason: "data secret failed", Message: "no token"},
		Phase:           "Pending",
	},
	{"cluster-api-v1.14/crd_kubeadmconfig.yaml", v1beta1, "cluster-api-v1.14/object_kubeadmconfig_reason.yaml"}: {
		Ready:           condition{Status: "Unknown", Reason: "InvalidConditionReported", Message: invalidReason},
		DeprecatedReady: deprecatedCondition{Status: "False", Severity: "Warning", Reason: "data secret failed", Message: "no token"},
		Phase:           "Pending",
	},
}

const invalidReason = "failed to convert status.conditions from KubeadmConfig to []metav1.Condition: reason for the Ready condition must match " +
	`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$ and have at most 1024 characters, found "data secret failed"`

// refused are objects that only fit another of the definitions of their kind, with what the API server says about them.
var refused = map[exception]string{
	{"harvester/crd_harvestermachine.yaml", "", "harvester/object_harvestermachine_ready-string.yaml"}:            "spec.sshKeyPair",
	{"harvester/crd_harvestermachine_helm-chart.yaml", "", "harvester/object_harvestermachine_ready-string.yaml"}: "spec.sshKeyPair",
	{"kubevirt/crd_kubevirtmachine.yaml", "", "kubevirt/object_kubevirtmachine_ready-only.yaml"}:                  "status.conditions[0].reason",
	{"talos/crd_talosconfig_pr-2026-02.yaml", "", "talos/object_talosconfig_v1alpha3.yaml"}:                       "status.conditions[0].reason",
}

// unconvertible are objects that only the provider's webhook can make fit the API version at which they are read. The API
// server would refuse every write to them, so there is nothing to see.
var unconvertible = []exception{
	{"cluster-api/crd_kubeadmconfig.yaml", v1beta2, "cluster-api/object_kubeadmconfig_large-controlplane_v1beta1.yaml"},
	{"cluster-api/crd_kubeadmconfig.yaml", v1beta1, "cluster-api/object_kubeadmconfig_waiting.yaml"},
	{"cluster-api/crd_kubeadmconfig.yaml", v1beta1, "cluster-api/object_kubeadmconfig_worker_v1beta2.yaml"},
}

// contractPaths are all places that the contract knows, without those in metadata.
var contractPaths = []string{
	"spec.providerID", "spec.failureDomain",
	"status.ready", "status.initialization", "status.dataSecretName", "status.addresses", "status.failureDomain", "status.interruptible",
	"status.failureReason", "status.failureMessage", "status.conditions", "status.v1beta2", "status.deprecated",
}

// expectFaithful checks that what the Machine has to show is what is in the file: that the API server has taken the
// object as it is written, as far as the schema goes, if it is read at the API version at which it is written.
func (t *trial) expectFaithful(ctx context.Context, s *subject) {
	if s.object.GroupVersionKind().Version != t.apiVersion {
		return
	}
	written, read := &lookup{object: s.object.Object}, &lookup{object: t.get(ctx, s).Object}
	for _, path := range contractPaths {
		if !t.knows(path) {
			continue
		}
		want, _ := written.at(path)
		got, _ := read.at(path)
		if want == nil {
			t.Expect(got).To(BeNil(), "%s: %s", s.name, path)
		} else {
			t.Expect(got).To(Equal(want), "%s: %s", s.name, path)
		}
	}
}

// sequels go on with objects of one definition in a way of their own.
var sequels = map[string]func(context.Context, *trial, map[string]*unstructured.Unstructured){
	"aws/crd_awsmachine.yaml": loseMachine,
}

// loseMachine shows a machine that was provisioned and is then taken away: what it reports is shown all the same, and
// what the Machine is identified by stays.
func loseMachine(ctx context.Context, t *trial, objects map[string]*unstructured.Unstructured) {
	const running, terminated = "aws/object_awsmachine_running.yaml", "aws/object_awsmachine_spot-terminated.yaml"
	object := objects[running].DeepCopy()
	object.SetName("lost")
	object.SetOwnerReferences(nil)
	s := t.add(ctx, running+", then terminated", object)
	t.expect(ctx, s)
	t.Expect(s.setStatus(ctx, objects[terminated].Object["status"])).To(Succeed())
	t.expectShown(ctx, s, shown{
		Done: true, ProviderID: "aws:///eu-central-1b/i-0c9f1d5f6a7b8e901",
		Ready:           condition{Status: "False", Reason: "InstanceTerminated", Since: "2026-06-13T02:41:09Z"},
		DeprecatedReady: deprecatedCondition{Status: "False", Severity: "Error", Reason: "InstanceTerminated"},
		FailureReason:   "UpdateError",
		FailureMessage: "Failure detected from referenced resource infrastructure.cluster.x-k8s.io/v1beta2, Kind=AWSMachine " +
			`with name "lost": EC2 instance state "terminated" is unexpected`,
		Phase: "Provisioned",
	})
	s.before = t.untouchable(ctx, s)
}
