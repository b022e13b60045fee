// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package loadbalancer

// Version is a version of the load balancer contract.
//
// +contract:versions=v1;v1beta1;v1alpha1
// +contract:labelPrefix=contract.loadbalancer.example.com/
type Version string

// The contract versions.
const (
	V1       Version = "v1"
	V1Beta1  Version = "v1beta1"
	V1Alpha1 Version = "v1alpha1"
)
