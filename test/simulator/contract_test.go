// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator_test

import (
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/machinist-dev/machinist/apis/contract"
	"github.com/machinist-dev/machinist/apis/contract/accessor"
	"github.com/machinist-dev/machinist/generated/facade"
	"github.com/machinist-dev/machinist/test/simulator"
)

var (
	// strange is a kind far from Cluster API's groups, with a plural that isn't the kind and an s.
	strange = schema.GroupKind{Group: "hardware.example.org", Kind: "SimFactory"}
	// The CRDs of looseMachine and looseConfig accept anything.
	looseMachine = schema.GroupKind{Group: "loose.example.org", Kind: "SimLooseMachine"}
	looseConfig  = schema.GroupKind{Group: "loose.example.org", Kind: "SimLooseConfig"}
)

var _ = Describe("Contract versions", func() {
	It("are followed as the CRD's labels change", func(ctx SpecContext) {
		install(simulator.InfraMachineCRD(simulator.CRDOptions{GroupKind: strange, Contracts: []contract.Version{contract.V1Beta1}}))
		w := newWorld(ctx, simulator.Options{ControlPlaneInitialized: true, InfraMachines: []schema.GroupKind{strange}})
		w.create(ctx, 0, 1, simulator.Shape{InfraMachine: strange})

		Eventually(w.object(ctx, strange, worker0)).Should(And(
			field(true, "status", "ready"), field(nil, "status", "initialization")))
		obj, err := w.object(ctx, strange, worker0)()
		Expect(err).NotTo(HaveOccurred())
		server, err := facade.WrapInfraMachine(obj, contract.V1Beta1)
		Expect(err).NotTo(HaveOccurred())
		deprecated, _ := server.DeprecatedConditions()
		Expect(deprecated).To(ContainElement(HaveField("Status", "True")))

		By("the provider is upgraded to contract v1beta2")
		crd := &apiextensionsv1.CustomResourceDefinition{}
		Expect(k8sClient.Get(ctx, types.NamespacedName{Name: "simfactories.hardware.example.org"}, crd)).To(Succeed())
		before := crd.DeepCopy()
		crd.Labels = simulator.InfraMachineCRD(simulator.CRDOptions{GroupKind: strange, Contracts: []contract.Version{contract.V1Beta2}}).Labels
		Expect(k8sClient.Patch(ctx, crd, client.MergeFrom(before))).To(Succeed())
		Eventually(w.object(ctx, strange, worker0)).Should(And(
			field(nil, "status", "ready"), field(true, "status", "initialization", "provisioned")))
		obj, err = w.object(ctx, strange, worker0)()
		Expect(err).NotTo(HaveOccurred())
		server, err = facade.WrapInfraMachine(obj, contract.V1Beta2)
		Expect(err).NotTo(HaveOccurred())
		conditions, _ := server.Conditions()
		Expect(conditions).To(ContainElement(And(HaveField("Type", "Ready"), HaveField("Status", "True"))))
	})

	DescribeTable("are what the CRDs declare", func(opts simulator.CRDOptions, labels map[string]string) {
		for _, crd := range []*apiextensionsv1.CustomResourceDefinition{
			simulator.InfraMachineCRD(opts), simulator.BootstrapConfigCRD(opts),
		} {
			Expect(crd.Labels).To(Equal(labels))
		}
	},
		Entry("both by default", simulator.CRDOptions{},
			map[string]string{"cluster.x-k8s.io/v1beta1": "v1alpha1", "cluster.x-k8s.io/v1beta2": "v1beta1"}),
		Entry("one", simulator.CRDOptions{Contracts: []contract.Version{contract.V1Beta1}},
			map[string]string{"cluster.x-k8s.io/v1beta1": "v1alpha1"}),
		Entry("both with one API version", simulator.CRDOptions{OneVersion: true},
			map[string]string{"cluster.x-k8s.io/v1beta1": "v1beta1", "cluster.x-k8s.io/v1beta2": "v1beta1"}),
		Entry("none", simulator.CRDOptions{Contracts: []contract.Version{}}, map[string]string{}),
	)

	DescribeTable("are kept by the CRDs", func(opts simulator.CRDOptions) {
		Expect(facade.CheckInfraMachineCRD(untyped(simulator.InfraMachineCRD(opts)))).To(BeEmpty())
		Expect(facade.CheckBootstrapConfigCRD(untyped(simulator.BootstrapConfigCRD(opts)))).To(BeEmpty())
	},
		Entry("by default", simulator.CRDOptions{}),
		Entry("with one API version", simulator.CRDOptions{OneVersion: true}),
	)
})

var _ = Describe("Faults", func() {
	BeforeEach(func() {
		install(
			simulator.InfraMachineCRD(simulator.CRDOptions{GroupKind: looseMachine, AnyContent: true}),
			simulator.BootstrapConfigCRD(simulator.CRDOptions{GroupKind: looseConfig, AnyContent: true}),
		)
	})

	start := func(ctx SpecContext, fault simulator.Fault) *world {
		w := newWorld(ctx, simulator.Options{
			ControlPlaneInitialized: true,
			InfraMachines:           []schema.GroupKind{looseMachine}, BootstrapConfigs: []schema.GroupKind{looseConfig},
		})
		w.create(ctx, 0, 1, simulator.Shape{
			InfraMachine: looseMachine, BootstrapConfig: looseConfig, PayloadSize: -1,
			Annotations: map[string]string{simulator.FaultAnnotation: string(fault)},
		})
		return w
	}
	wrap := func(kind schema.GroupKind, obj *unstructured.Unstructured) error {
		if kind == looseConfig {
			_, err := facade.WrapBootstrapConfig(obj, contract.V1Beta2)
			return err
		}
		_, err := facade.WrapInfraMachine(obj, contract.V1Beta2)
		return err
	}
	wrongType := func(path string) OmegaMatcher {
		return WithTransform(func(err error) []string {
			var wrong accessor.FieldErrors
			Expect(errors.As(err, &wrong)).To(BeTrue(), "%v", err)
			var paths []string
			for _, field := range wrong {
				paths = append(paths, field.Path)
			}
			return paths
		}, ContainElement(HavePrefix("."+path)))
	}

	DescribeTable("break the contract", func(ctx SpecContext, fault simulator.Fault, kind schema.GroupKind, expected OmegaMatcher) {
		w := start(ctx, fault)
		Eventually(func() (error, error) {
			obj, err := w.object(ctx, kind, worker0)()
			return wrap(kind, obj), err
		}).Should(And(HaveOccurred(), expected))
	},
		Entry(string(simulator.ProvisionedString), simulator.ProvisionedString, looseMachine, wrongType("status.initialization.provisioned")),
		Entry(string(simulator.ProviderIDNumber), simulator.ProviderIDNumber, looseMachine, wrongType("spec.providerID")),
		Entry(string(simulator.AddressesObject), simulator.AddressesObject, looseMachine, wrongType("status.addresses")),
		Entry(string(simulator.ConditionStatusMissing), simulator.ConditionStatusMissing, looseMachine, wrongType("status.conditions")),
		Entry(string(simulator.DataSecretNameNumber), simulator.DataSecretNameNumber, looseConfig, wrongType("status.dataSecretName")),
	)

	DescribeTable("are visible in the object", func(ctx SpecContext, fault simulator.Fault, kind schema.GroupKind, expected OmegaMatcher) {
		w := start(ctx, fault)
		Eventually(w.object(ctx, kind, worker0)).Should(expected)
	},
		Entry(string(simulator.ProviderIDMissing), simulator.ProviderIDMissing, looseMachine, And(
			field(true, "status", "initialization", "provisioned"), field(nil, "spec", "providerID"))),
		Entry(string(simulator.DataSecretNameMissing), simulator.DataSecretNameMissing, looseConfig, And(
			field(true, "status", "initialization", "dataSecretCreated"), field(nil, "status", "dataSecretName"))),
		Entry(string(simulator.DataSecretNameEmpty), simulator.DataSecretNameEmpty, looseConfig, field("", "status", "dataSecretName")),
		Entry(string(simulator.Fails), simulator.Fails, looseConfig, And(
			field("CreateError", "status", "failureReason"), field(nil, "status", "dataSecretName"))),
	)

	It("can keep a server from becoming a Node", func(ctx SpecContext) {
		w := start(ctx, simulator.NeverJoins)
		Eventually(w.object(ctx, looseMachine, worker0)).Should(field(true, "status", "ready"))
		cluster, found := w.simulator.Workload().Cluster(w.key("blue"))
		Expect(found).To(BeTrue())
		Expect(cluster.Count(&corev1.Node{})).To(BeZero())
	})
})

func untyped(crd *apiextensionsv1.CustomResourceDefinition) *unstructured.Unstructured {
	GinkgoHelper()
	obj := &unstructured.Unstructured{}
	Expect(objects.Convert(crd, obj, nil)).To(Succeed())
	return obj
}
