// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"
	"hash/fnv"

	"k8s.io/apimachinery/pkg/util/validation"
)

// leaseName is that of the Lease by which replicas choose their leader. Managers with different watch filters have nothing to
// do with each other and must not wait for each other, so each filter has a Lease of its own.
func (o *Options) leaseName() string {
	if o.WatchFilter == "" {
		return leaderElectionID
	}
	name := leaderElectionID + "-" + o.WatchFilter
	if len(validation.IsDNS1123Subdomain(name)) > 0 { // a label may have letters that a name may not
		hash := fnv.New64a()
		_, _ = hash.Write([]byte(o.WatchFilter)) // a hash takes everything
		name = fmt.Sprintf("%s-%016x", leaderElectionID, hash.Sum64())
	}
	return name
}
