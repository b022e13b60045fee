// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package references

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers/external"
)

// subject is a Machine as it was written.
type subject struct {
	*clusterv1.Machine
	// infrastructureNamespace and configNamespace are what references had in v1beta1; empty if they were not written.
	infrastructureNamespace, configNamespace string
}

// part is a part of a Machine that rules are about.
type part struct {
	path *field.Path
	// value is comparable. A part with the same value as before is not judged.
	value func(subject) any
	// reference returns the reference that the part is; nil for other parts, and if there is none.
	reference func(subject) *reference
}

// reference is where a part leads.
type reference struct {
	role *external.Role
	clusterv1.ContractVersionedObjectReference
}

func (r *reference) kind() external.Kind {
	return external.Kind{Role: r.role, GroupKind: r.GroupKind()}
}

// dataSecretValue tells no name from an empty one.
type dataSecretValue struct {
	set  bool
	name string
}

// bootstrapValue is all of spec.bootstrap.
type bootstrapValue struct {
	config clusterv1.ContractVersionedObjectReference
	data   dataSecretValue
}

var (
	specPath      = field.NewPath("spec")
	bootstrapPath = specPath.Child("bootstrap")

	infrastructure = &part{
		path:  specPath.Child("infrastructureRef"),
		value: func(s subject) any { return s.Spec.InfrastructureRef },
		reference: func(s subject) *reference {
			return referenceTo(external.InfraMachine, s.Spec.InfrastructureRef)
		},
	}
	config = &part{
		path:  bootstrapPath.Child("configRef"),
		value: func(s subject) any { return s.Spec.Bootstrap.ConfigRef },
		reference: func(s subject) *reference {
			return referenceTo(external.BootstrapConfig, s.Spec.Bootstrap.ConfigRef)
		},
	}
	bothReferences = []*part{infrastructure, config}

	// pair has changed if either reference has.
	pair = &part{
		path: config.path,
		value: func(s subject) any {
			return [2]clusterv1.ContractVersionedObjectReference{s.Spec.InfrastructureRef, s.Spec.Bootstrap.ConfigRef}
		},
		reference: noReference,
	}
	dataSecret = &part{
		path:      bootstrapPath.Child("dataSecretName"),
		value:     func(s subject) any { return dataSecretOf(s) },
		reference: noReference,
	}
	bootstrap = &part{
		path:      dataSecret.path,
		value:     func(s subject) any { return bootstrapValue{s.Spec.Bootstrap.ConfigRef, dataSecretOf(s)} },
		reference: noReference,
	}
	providerID = &part{
		path:      specPath.Child("providerID"),
		value:     func(s subject) any { return s.Spec.ProviderID },
		reference: noReference,
	}
	failureDomain = &part{
		path:      specPath.Child("failureDomain"),
		value:     func(s subject) any { return s.Spec.FailureDomain },
		reference: noReference,
	}
	clusterName = &part{
		path:      specPath.Child("clusterName"),
		value:     func(s subject) any { return s.Spec.ClusterName },
		reference: noReference,
	}
	infrastructureNamespace = &part{
		path:      infrastructure.path.Child("namespace"),
		value:     func(s subject) any { return s.infrastructureNamespace },
		reference: noReference,
	}
	configNamespace = &part{
		path:      config.path.Child("namespace"),
		value:     func(s subject) any { return s.configNamespace },
		reference: noReference,
	}
)

func noReference(subject) *reference { return nil }

func referenceTo(role *external.Role, ref clusterv1.ContractVersionedObjectReference) *reference {
	if !ref.IsDefined() {
		return nil
	}
	return &reference{role, ref}
}

func dataSecretOf(s subject) dataSecretValue {
	if name := s.Spec.Bootstrap.DataSecretName; name != nil {
		return dataSecretValue{true, *name}
	}
	return dataSecretValue{}
}

// shown is the value of a field of the part in an error.
func (p *part) shown(s subject, at string) any {
	if ref := p.reference(s); ref != nil {
		switch at {
		case "kind":
			return ref.Kind
		case "apiGroup":
			return ref.APIGroup
		case "name":
			return ref.Name
		}
		return ref.GroupKind().String() + " " + ref.Name
	}
	switch value := p.value(s).(type) {
	case string:
		return value
	case dataSecretValue:
		return value.name
	}
	return field.OmitValueType{}
}
