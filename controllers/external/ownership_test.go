// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// owner returns an owner reference of Cluster API's group.
func owner(kind, name, uid string, controller bool) metav1.OwnerReference {
	ref := metav1.OwnerReference{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: kind, Name: name, UID: types.UID(uid)}
	if controller {
		ref.Controller, ref.BlockOwnerDeletion = new(true), new(true)
	}
	return ref
}

// at returns the reference at another API version.
func at(apiVersion string, ref metav1.OwnerReference) metav1.OwnerReference {
	ref.APIVersion = apiVersion
	return ref
}

var _ = Describe("The owner references of a provider object", func() {
	machine := func() metav1.OwnerReference { return owner("Machine", "m", "u", true) }
	backup := func() metav1.OwnerReference { return at("backup.example.org/v1", owner("Backup", "b", "x", false)) }
	compute := func(have ...metav1.OwnerReference) ([]metav1.OwnerReference, bool, error) {
		object := &unstructured.Unstructured{Object: map[string]any{}}
		object.SetNamespace("ns")
		object.SetName("o")
		object.SetOwnerReferences(have)
		return ownerReferencesFor(Kind{Role: InfraMachine, GroupKind: schema.GroupKind{Kind: "TestMachine"}}, object, Ownership{
			Machine: &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m", UID: "u"}},
		})
	}

	DescribeTable("are completed", func(want []metav1.OwnerReference, changed bool, have ...metav1.OwnerReference) {
		refs, differ, err := compute(have...)
		Expect(err).NotTo(HaveOccurred())
		Expect(refs).To(Equal(want))
		Expect(differ).To(Equal(changed))
	},
		Entry("if there are none", []metav1.OwnerReference{machine()}, true),
		Entry("and then are left alone", []metav1.OwnerReference{machine()}, false, machine()),
		Entry("after those of others, which stay, in their order", []metav1.OwnerReference{backup(), machine()}, true, backup()),
		Entry("in place", []metav1.OwnerReference{machine(), backup()}, false, machine(), backup()),
		Entry("if the UID is that of a time before a restore", []metav1.OwnerReference{machine()}, true, owner("Machine", "m", "before", true)),
		Entry("if the API version is an older one", []metav1.OwnerReference{machine()}, true, at("cluster.x-k8s.io/v1beta1", machine())),
		Entry("if the Machine is there, but not as the controller", []metav1.OwnerReference{machine()}, true, owner("Machine", "m", "u", false)),
		Entry("if the Machine is there twice", []metav1.OwnerReference{machine()}, true, machine(), owner("Machine", "m", "before", false)),
		Entry("instead of those of a MachineSet, also at another API version", []metav1.OwnerReference{machine()}, true,
			at("cluster.x-k8s.io/v1alpha4", owner("MachineSet", "s", "s", true))),
		Entry("beside those of a kind of that name in another group", []metav1.OwnerReference{at("example.org/v1", owner("MachineSet", "s", "s", false)), machine()}, true,
			at("example.org/v1", owner("MachineSet", "s", "s", false))),
	)

	It("are not taken from another controller", func() {
		_, _, err := compute(backup(), owner("Machine", "other", "o", true))
		Expect(err).To(MatchError("TestMachine ns/o is already controlled by Machine other: reference another object, or delete that owner"))
	})

	It("are not rewritten if one can't be understood", func() {
		_, _, err := compute(at("a/b/c", owner("Backup", "b", "x", false)))
		Expect(err).To(MatchError(ContainSubstring(`apiVersion "a/b/c" is not <group>/<version>`)))
	})

	It("are the same whoever asked to block the deletion of the owner", func() {
		unblocked := machine()
		unblocked.BlockOwnerDeletion = nil
		_, changed, err := compute(unblocked)
		Expect(err).NotTo(HaveOccurred())
		Expect(changed).To(BeFalse())
	})
})
