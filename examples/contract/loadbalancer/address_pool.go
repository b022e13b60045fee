// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package loadbalancer

// AddressPool is where load balancers get their addresses from. Its CRD may have any scope.
//
// +contract:kind
type AddressPool struct {
	// Free is the number of addresses that are left.
	// +contract:path=status.free
	// +contract:writer=provider
	Free int64
}
