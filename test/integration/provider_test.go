// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/apis/contract"
	"github.com/machinist-dev/machinist/generated/facadetest"
	"github.com/machinist-dev/machinist/test/simulator"
)

// provider is a pair of kinds whose CRDs declare one contract version, and whose objects may hold anything.
type provider struct {
	contract  contract.Version
	infra     schema.GroupKind
	bootstrap schema.GroupKind
}

func newProviderOf(version contract.Version, infraGroup, bootstrapGroup, prefix string) provider {
	return provider{
		contract:  version,
		infra:     schema.GroupKind{Group: infraGroup, Kind: prefix + "Machine"},
		bootstrap: schema.GroupKind{Group: bootstrapGroup, Kind: prefix + "Config"},
	}
}

func (p provider) crds() []*apiextensionsv1.CustomResourceDefinition {
	return []*apiextensionsv1.CustomResourceDefinition{
		simulator.InfraMachineCRD(simulator.CRDOptions{GroupKind: p.infra, Contracts: []contract.Version{p.contract}, AnyContent: true}),
		simulator.BootstrapConfigCRD(simulator.CRDOptions{GroupKind: p.bootstrap, Contracts: []contract.Version{p.contract}, AnyContent: true}),
	}
}

func (p provider) apiVersion() string {
	if p.contract == contract.V1Beta1 {
		return simulator.OldAPIVersion
	}
	return simulator.NewAPIVersion
}

func (p provider) infraMachine(namespace, name string) facadetest.InfraMachineBuilder {
	return facadetest.NewInfraMachine(p.contract).WithGroupVersionKind(p.infra.WithVersion(p.apiVersion())).WithNamespace(namespace).WithName(name)
}

func (p provider) bootstrapConfig(namespace, name string) facadetest.BootstrapConfigBuilder {
	return facadetest.NewBootstrapConfig(p.contract).WithGroupVersionKind(p.bootstrap.WithVersion(p.apiVersion())).WithNamespace(namespace).WithName(name)
}

func (p provider) infraRef(name string) clusterv1.ContractVersionedObjectReference {
	return clusterv1.ContractVersionedObjectReference{APIGroup: p.infra.Group, Kind: p.infra.Kind, Name: name}
}

func (p provider) bootstrapRef(name string) clusterv1.ContractVersionedObjectReference {
	return clusterv1.ContractVersionedObjectReference{APIGroup: p.bootstrap.Group, Kind: p.bootstrap.Kind, Name: name}
}
