// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package loadbalancer is an example of a contract that has nothing to do with machines: any load balancer provider may
// bring its own CRD, as long as the objects keep the promises below. It has three contract versions and a field of each
// type that facade-gen supports. The packages facade and facadetest beside it, and contract.md, are generated.
package loadbalancer
