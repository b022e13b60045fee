// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/machinist-dev/machinist/apis/contract"
)

// The kinds that the simulator provides unless it is told otherwise.
var (
	SimMachine = schema.GroupKind{Group: "infrastructure.cluster.x-k8s.io", Kind: "SimMachine"}
	SimConfig  = schema.GroupKind{Group: "bootstrap.cluster.x-k8s.io", Kind: "SimConfig"}
	// SimControlPlane is only defined here: the simulator runs no control planes.
	SimControlPlane = schema.GroupKind{Group: "controlplane.cluster.x-k8s.io", Kind: "SimControlPlane"}
)

// The API versions of every simulated kind. They have the same schema, so objects need no conversion between them.
const (
	// OldAPIVersion is declared for contract v1beta1.
	OldAPIVersion = "v1alpha1"
	// NewAPIVersion is declared for contract v1beta2, and is the storage version.
	NewAPIVersion = "v1beta1"
)

// apiVersionOf is the API version that the label of each contract names.
var apiVersionOf = map[contract.Version]string{
	contract.V1Beta1: OldAPIVersion,
	contract.V1Beta2: NewAPIVersion,
}

// CRDOptions vary the definition of a simulated kind.
type CRDOptions struct {
	// GroupKind of the definition; any group will do. The zero value means SimMachine, SimConfig or SimControlPlane.
	GroupKind schema.GroupKind
	// Contracts that the definition declares by its labels. Nil means all; empty, but not nil, means none, which makes
	// it a broken provider.
	Contracts []contract.Version
	// AnyContent turns validation of spec and status off, so that objects can break the contract. The faults that put a
	// value of the wrong type into an object need it.
	AnyContent bool
	// OneVersion leaves the old API version out; the new one is declared for all contracts. An API server keeps a watch
	// cache for each version of a kind, so this halves what many objects cost it.
	OneVersion bool
}

// InfraMachineCRD returns the definition of a kind that follows the contract of InfraMachine.
func InfraMachineCRD(opts CRDOptions) *apiextensionsv1.CustomResourceDefinition {
	if opts.GroupKind.Empty() {
		opts.GroupKind = SimMachine
	}
	spec := map[string]apiextensionsv1.JSONSchemaProps{
		"providerID":    text,
		"failureDomain": text,
		"payload":       payloadSchema,
	}
	status := providerStatus(map[string]apiextensionsv1.JSONSchemaProps{
		"initialization": object(map[string]apiextensionsv1.JSONSchemaProps{"provisioned": boolean}),
		"failureDomain":  text,
		"interruptible":  boolean,
		"addresses":      listOf(object(map[string]apiextensionsv1.JSONSchemaProps{"type": text, "address": text})),
	})
	return definition(opts, spec, status,
		column("ProviderID", ".spec.providerID"), column("Provisioned", ".status.initialization.provisioned"))
}

// BootstrapConfigCRD returns the definition of a kind that follows the contract of BootstrapConfig.
func BootstrapConfigCRD(opts CRDOptions) *apiextensionsv1.CustomResourceDefinition {
	if opts.GroupKind.Empty() {
		opts.GroupKind = SimConfig
	}
	spec := map[string]apiextensionsv1.JSONSchemaProps{"payload": payloadSchema}
	status := providerStatus(map[string]apiextensionsv1.JSONSchemaProps{
		"initialization": object(map[string]apiextensionsv1.JSONSchemaProps{"dataSecretCreated": boolean}),
		"dataSecretName": text,
	})
	return definition(opts, spec, status, column("Secret", ".status.dataSecretName"))
}

// ControlPlaneCRD returns the definition of a kind that follows the contract of ControlPlane.
func ControlPlaneCRD(opts CRDOptions) *apiextensionsv1.CustomResourceDefinition {
	if opts.GroupKind.Empty() {
		opts.GroupKind = SimControlPlane
	}
	return definition(opts, map[string]apiextensionsv1.JSONSchemaProps{"replicas": integer},
		map[string]apiextensionsv1.JSONSchemaProps{"externalManagedControlPlane": boolean})
}

// providerStatus adds what the status of both kinds has: the fields of both contracts, so that one schema serves both,
// and the parts outside the contract.
func providerStatus(status map[string]apiextensionsv1.JSONSchemaProps) map[string]apiextensionsv1.JSONSchemaProps {
	conditions := map[string]apiextensionsv1.JSONSchemaProps{"conditions": listOf(condition)}
	status["ready"] = boolean
	status["conditions"] = listOf(condition)
	status["v1beta2"] = object(conditions)
	status["deprecated"] = object(map[string]apiextensionsv1.JSONSchemaProps{"v1beta1": object(conditions)})
	status["failureReason"] = text
	status["failureMessage"] = text
	status["heartbeat"] = timestamp
	status["payload"] = payloadSchema
	return status
}

var (
	text      = apiextensionsv1.JSONSchemaProps{Type: "string"}
	boolean   = apiextensionsv1.JSONSchemaProps{Type: "boolean"}
	integer   = apiextensionsv1.JSONSchemaProps{Type: "integer", Format: "int64"}
	timestamp = apiextensionsv1.JSONSchemaProps{Type: "string", Format: "date-time"}
	anyObject = apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}

	// condition has the keys of both styles of conditions.
	condition = object(map[string]apiextensionsv1.JSONSchemaProps{
		"type": text, "status": text, "reason": text, "message": text, "severity": text,
		"lastTransitionTime": timestamp, "observedGeneration": integer,
	})
	payloadSchema = listOf(anyObject)
)

func object(properties map[string]apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
	return apiextensionsv1.JSONSchemaProps{Type: "object", Properties: properties}
}

func listOf(item apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
	return apiextensionsv1.JSONSchemaProps{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &item}}
}

func column(name, path string) apiextensionsv1.CustomResourceColumnDefinition {
	return apiextensionsv1.CustomResourceColumnDefinition{Name: name, Type: "string", JSONPath: path}
}

func definition(opts CRDOptions, spec, status map[string]apiextensionsv1.JSONSchemaProps,
	columns ...apiextensionsv1.CustomResourceColumnDefinition) *apiextensionsv1.CustomResourceDefinition {
	root := object(map[string]apiextensionsv1.JSONSchemaProps{"spec": object(spec), "status": object(status)})
	if opts.AnyContent {
		root = object(map[string]apiextensionsv1.JSONSchemaProps{"spec": anyObject, "status": anyObject})
	}
	columns = append([]apiextensionsv1.CustomResourceColumnDefinition{
		column("Cluster", `.metadata.labels.cluster\.x-k8s\.io/cluster-name`),
	}, columns...)
	columns = append(columns, apiextensionsv1.CustomResourceColumnDefinition{
		Name: "Age", Type: "date", JSONPath: ".metadata.creationTimestamp",
	})
	version := func(name string, storage bool) apiextensionsv1.CustomResourceDefinitionVersion {
		return apiextensionsv1.CustomResourceDefinitionVersion{
			Name: name, Served: true, Storage: storage,
			Schema:                   &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: root.DeepCopy()},
			Subresources:             &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
			AdditionalPrinterColumns: columns,
		}
	}
	name := contract.CRDName(opts.GroupKind.Group, opts.GroupKind.Kind)
	versions := []apiextensionsv1.CustomResourceDefinitionVersion{version(NewAPIVersion, true)}
	if !opts.OneVersion {
		versions = append(versions, version(OldAPIVersion, false))
	}
	plural, _, _ := strings.Cut(name, ".")
	return &apiextensionsv1.CustomResourceDefinition{
		TypeMeta: metav1.TypeMeta{
			APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: "CustomResourceDefinition",
		},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: contractLabels(opts)},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: opts.GroupKind.Group,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Kind: opts.GroupKind.Kind, ListKind: opts.GroupKind.Kind + "List",
				Plural: plural, Singular: strings.ToLower(opts.GroupKind.Kind), Categories: []string{"cluster-api"},
			},
			Scope:    apiextensionsv1.NamespaceScoped,
			Versions: versions,
		},
	}
}

func contractLabels(opts CRDOptions) map[string]string {
	contracts := opts.Contracts
	if contracts == nil {
		contracts = contract.Versions()
	}
	labels := map[string]string{}
	for _, version := range contracts {
		apiVersion := apiVersionOf[version]
		if opts.OneVersion {
			apiVersion = NewAPIVersion
		}
		labels[contract.LabelPrefix+string(version)] = apiVersion
	}
	return labels
}
