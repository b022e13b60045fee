// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package crdcheck

// Code names a kind of violation. Codes are stable.
type Code string

// The codes.
const (
	// Malformed: this is no CRD, or one without what is needed to check it.
	Malformed Code = "malformed"
	// NoContractLabel: no label declares a known contract version.
	NoContractLabel Code = "no-contract-label"
	// VersionMissing: the label names an API version that the CRD doesn't have.
	VersionMissing Code = "version-missing"
	// VersionNotServed: the label names an API version that is not served.
	VersionNotServed Code = "version-not-served"
	// FieldMissing: the schema lacks a required field.
	FieldMissing Code = "field-missing"
	// FieldType: the schema has a field with another type.
	FieldType Code = "field-type"
	// NoStatusSubresource: the API version has no status subresource.
	NoStatusSubresource Code = "no-status-subresource"
	// Scope: the CRD is cluster-scoped where it should be namespaced, or the reverse.
	Scope Code = "scope"
	// CRDName: the name of the CRD is not the plural by which readers look for it.
	CRDName Code = "crd-name"
)

// Finding is one violation of a contract by a CRD.
type Finding struct {
	Code Code
	// ContractVersion and APIVersion say where it is; they are empty if it concerns the CRD as a whole.
	ContractVersion, APIVersion string
	// Path is the field of the object it is about, without leading dot, if it is about one.
	Path string
	// Message says what is wrong and what to do.
	Message string
}

// String is the code and the message.
func (f Finding) String() string { return string(f.Code) + ": " + f.Message }
