// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import "github.com/machinist-dev/machinist/apis/contract/accessor"

// LabelPrefix, followed by a contract version, is the label of a CRD that declares the contract version.
const LabelPrefix = "cluster.x-k8s.io/"

// Version is a contract version: a generation of the contract.
//
// +contract:versions=v1beta2;v1beta1
// +contract:labelPrefix=cluster.x-k8s.io/
type Version string

const (
	// V1Beta2 is the current contract version.
	V1Beta2 Version = "v1beta2"
	// V1Beta1 is the contract version before. Providers that follow only this one are still supported.
	V1Beta1 Version = "v1beta1"
)

// versions are the supported contract versions, newest first.
var versions = []string{string(V1Beta2), string(V1Beta1)}

// Versions returns the supported contract versions, newest first.
func Versions() []Version {
	list := make([]Version, len(versions))
	for i, version := range versions {
		list[i] = Version(version)
	}
	return list
}

// Resolution says how to read the objects of a CRD.
type Resolution struct {
	// ContractVersion decides which paths hold the contract fields.
	ContractVersion Version
	// APIVersion is the version, without group, at which to get the objects.
	APIVersion string
}

// Resolve chooses contract version and API version from the labels of a CRD: the newest supported contract version
// with a label that is not empty, and the highest API version in that label, in Kubernetes version order. API versions
// in a label are joined by an underscore.
//
// The error is an *accessor.NoContractError, which names the labels that were tried; add the name of the CRD.
// It is not checked that the CRD has the API version or serves it.
func Resolve(labels map[string]string) (Resolution, error) {
	contractVersion, apiVersion, err := accessor.Resolve(LabelPrefix, versions, labels)
	if err != nil {
		return Resolution{}, err
	}
	return Resolution{ContractVersion: Version(contractVersion), APIVersion: apiVersion}, nil
}

// ContractVersionOf returns the newest supported contract version under which the labels of a CRD list the API
// version. It is for objects whose API version is given, such as templates.
func ContractVersionOf(labels map[string]string, apiVersion string) (Version, bool) {
	contractVersion, found := accessor.ContractVersionOf(LabelPrefix, versions, labels, apiVersion)
	return Version(contractVersion), found
}

// CRDName returns the name that a CRD must have to be found from a reference, which has only group and kind.
func CRDName(group, kind string) string {
	return accessor.CRDName(group, kind)
}
