// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package contract is the provider contract: what the objects behind Machine.spec.infrastructureRef,
// Machine.spec.bootstrap.configRef and Cluster.spec.controlPlaneRef promise to whoever reads them, whichever provider they
// belong to.
//
// A contract kind is a struct, a field of it is a promise. The struct is never filled: facade-gen reads this package as
// source and writes generated/facade from it, the accessors, cache masks, comparisons and CRD checks that all follow
// from the promises. The markers are explained by
//
//	go run ./hack/facadegen/cmd/facade-gen -www
//
// A contract version is a generation of this contract, an API version is a version of a provider's CRD. They are
// unrelated, although both may be called v1beta1. Which one goes with which is declared by labels on the CRD, see
// Resolve.
//
// Next to apimachinery the packages here import the pluralisation library flect, which has no dependencies of its own:
// CRDs are found by a plural that is defined by the rules of that library.
package contract
