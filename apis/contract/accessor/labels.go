// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package accessor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gobuffalo/flect"
	"k8s.io/apimachinery/pkg/version"
)

// APIVersionSeparator separates API versions in the value of a contract label; a label value can't hold a comma.
const APIVersionSeparator = "_"

// Resolve reads off the labels of a CRD under which contract version its objects are read, and at which API version.
// The contract versions are tried in the given order, newest first; the first one whose label is there and not empty
// is taken, and of the API versions in that label the highest in Kubernetes version order.
//
// Both results come from the same labels in one step, because a label change between two reads would mix them.
// Whether the CRD has and serves that API version is not looked at here.
func Resolve(prefix string, versions []string, labels map[string]string) (contractVersion, apiVersion string, err error) {
	for _, contractVersion := range versions {
		if value := labels[prefix+contractVersion]; value != "" {
			candidates := strings.Split(value, APIVersionSeparator)
			return contractVersion, slices.MaxFunc(candidates, version.CompareKubeAwareVersionStrings), nil
		}
	}
	return "", "", &NoContractError{LabelPrefix: prefix, Tried: slices.Clone(versions)}
}

// ContractVersionOf is the reverse of Resolve: the newest contract version whose label lists the API version. Only
// labels of the given contract versions count, not others with the same prefix.
func ContractVersionOf(prefix string, versions []string, labels map[string]string, apiVersion string) (string, bool) {
	for _, contractVersion := range versions {
		value := labels[prefix+contractVersion]
		if value != "" && slices.Contains(strings.Split(value, APIVersionSeparator), apiVersion) {
			return contractVersion, true
		}
	}
	return "", false
}

// NoContractError says that a CRD declares none of the contract versions.
type NoContractError struct {
	LabelPrefix string
	Tried       []string
}

// Error implements error.
func (e *NoContractError) Error() string {
	labels := make([]string, len(e.Tried))
	for i, contractVersion := range e.Tried {
		labels[i] = e.LabelPrefix + contractVersion
	}
	return fmt.Sprintf("no contract version is declared: the labels %s are missing or empty; "+
		"set the label of the contract version that the CRD implements to the API versions that implement it, joined by %q",
		strings.Join(labels, " and "), APIVersionSeparator)
}

// CRDName returns the name of the CRD of a kind, where nothing but group and kind is known: the plural of the kind in
// lower case, by the rules of English in the library flect, and the group. A CRD with another plural isn't found by it.
func CRDName(group, kind string) string {
	return flect.Pluralize(strings.ToLower(kind)) + "." + group
}
