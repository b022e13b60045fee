// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/machinist-dev/machinist/apis/cluster/v1beta1"
	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/apis/contract"
	"github.com/machinist-dev/machinist/test/environment/suite"
	"github.com/machinist-dev/machinist/test/simulator"
)

// place is a namespace, with an API group of provider objects that nobody else uses.
type place struct{ namespace, group string }

func newPlace(ctx context.Context) place {
	GinkgoHelper()
	namespace := suite.Namespace(ctx, env)
	return place{namespace: namespace, group: namespace + ".example.com"}
}

func (p place) kind(name string) schema.GroupKind {
	return schema.GroupKind{Group: p.group, Kind: name}
}

// install makes a kind of the group known, for the contracts given, and waits until the manager has seen it: its cache is
// behind by moments, and the API server keeps what was converted meanwhile.
func (p place) install(ctx context.Context, name string, contracts ...contract.Version) {
	GinkgoHelper()
	if contracts == nil {
		contracts = []contract.Version{}
	}
	suite.InstallCRDs(env, simulator.InfraMachineCRD(simulator.CRDOptions{GroupKind: p.kind(name), Contracts: contracts}))
	if len(contracts) == 0 {
		return
	}
	version := simulator.OldAPIVersion
	if slices.Contains(contracts, contract.V1Beta2) {
		version = simulator.NewAPIVersion
	}
	probe := p.newMachine("probe", name)
	Expect(newUser.Create(ctx, probe)).To(Succeed())
	Eventually(p.version(ctx, "probe")).WithContext(ctx).Should(Equal(p.group + "/" + version))
	Expect(newUser.Delete(ctx, probe)).To(Succeed())
}

func (p place) uninstall(ctx context.Context, name string) {
	GinkgoHelper()
	crd := simulator.InfraMachineCRD(simulator.CRDOptions{GroupKind: p.kind(name)})
	Expect(newUser.Delete(ctx, crd)).To(Succeed())
	gone := func() bool { return apierrors.IsNotFound(newUser.Get(ctx, client.ObjectKeyFromObject(crd), crd)) }
	// The API server looks every 5 s whether all objects of the kind are gone.
	Eventually(gone).WithContext(ctx).WithTimeout(suite.CollectionTimeout).Should(BeTrue())
}

func (p place) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: p.namespace, Name: name}
}

// oldMachine is a Machine as a client of v1beta1 writes it.
func (p place) oldMachine(name, kind string) *clusterv1beta1.Machine {
	return &clusterv1beta1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name},
		Spec: clusterv1beta1.MachineSpec{
			ClusterName:       "sim",
			Bootstrap:         clusterv1beta1.Bootstrap{DataSecretName: new("bootstrap-data")},
			InfrastructureRef: corev1.ObjectReference{APIVersion: p.group + "/v0", Kind: kind, Name: name, Namespace: "elsewhere"},
		},
	}
}

// newMachine is the same of a client of v1beta2.
func (p place) newMachine(name, kind string) *clusterv1.Machine {
	return &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name},
		Spec: clusterv1.MachineSpec{
			ClusterName:       "sim",
			Bootstrap:         clusterv1.Bootstrap{DataSecretName: new("bootstrap-data")},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: p.group, Kind: kind, Name: name},
		},
	}
}

func (p place) readOld(ctx context.Context, name string) *clusterv1beta1.Machine {
	GinkgoHelper()
	machine := &clusterv1beta1.Machine{}
	Expect(oldUser.Get(ctx, p.key(name), machine)).To(Succeed())
	return machine
}

func (p place) readNew(ctx context.Context, name string) *clusterv1.Machine {
	GinkgoHelper()
	machine := &clusterv1.Machine{}
	Expect(newUser.Get(ctx, p.key(name), machine)).To(Succeed())
	return machine
}

// version returns a function that tells in which version v1beta1 shows the reference of a Machine.
func (p place) version(ctx context.Context, name string) func() (string, error) {
	return func() (string, error) {
		machine := &clusterv1beta1.Machine{}
		err := oldUser.Get(ctx, p.key(name), machine)
		return machine.Spec.InfrastructureRef.APIVersion, err
	}
}

// listed returns a function that tells the same of all Machines in the namespace, by name.
func (p place) listed(ctx context.Context) func() (map[string]string, error) {
	return func() (map[string]string, error) {
		list := &clusterv1beta1.MachineList{}
		err := oldUser.List(ctx, list, client.InNamespace(p.namespace))
		versions := map[string]string{}
		for _, machine := range list.Items {
			versions[machine.Name] = machine.Spec.InfrastructureRef.APIVersion
		}
		return versions, err
	}
}
