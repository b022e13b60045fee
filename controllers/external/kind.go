// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/machinist-dev/machinist/generated/facade"
)

// Role is the part that a kind plays in the provider contract. It decides which fields are kept in memory and which
// changes wake the Machines that reference an object.
type Role struct {
	name          string
	prune         func(*unstructured.Unstructured)
	pruneJSON     func(dst, src []byte) (pruned, rest []byte, err error)
	pruneListJSON func(src []byte) (list []byte, items [][]byte, err error)
	contractEqual func(before, after *unstructured.Unstructured) bool
	// operativelyEqual is contractEqual without what only shows something to people.
	operativelyEqual func(before, after *unstructured.Unstructured) bool
}

// The roles that a Machine references, itself or by its Cluster. They are compared by pointer.
var (
	InfraMachine = &Role{
		name:  "InfraMachine",
		prune: facade.PruneInfraMachine, pruneJSON: facade.PruneInfraMachineJSON, pruneListJSON: facade.PruneInfraMachineListJSON,
		contractEqual: facade.InfraMachineContractEqual, operativelyEqual: facade.InfraMachineOperativelyEqual,
	}
	BootstrapConfig = &Role{
		name:  "BootstrapConfig",
		prune: facade.PruneBootstrapConfig, pruneJSON: facade.PruneBootstrapConfigJSON, pruneListJSON: facade.PruneBootstrapConfigListJSON,
		contractEqual: facade.BootstrapConfigContractEqual, operativelyEqual: facade.BootstrapConfigOperativelyEqual,
	}
	ControlPlane = &Role{
		name:  "ControlPlane",
		prune: facade.PruneControlPlane, pruneJSON: facade.PruneControlPlaneJSON, pruneListJSON: facade.PruneControlPlaneListJSON,
		contractEqual: facade.ControlPlaneContractEqual, operativelyEqual: facade.ControlPlaneOperativelyEqual,
	}
)

// roles are all of them.
var roles = []*Role{InfraMachine, BootstrapConfig, ControlPlane}

// String returns the contract's name of the role.
func (r *Role) String() string { return r.name }

// Kind is a group and kind in one role. It is comparable.
type Kind struct {
	Role *Role
	schema.GroupKind
}

// String returns the kind as in "DockerMachine.infrastructure.cluster.x-k8s.io (InfraMachine)".
func (k Kind) String() string {
	return fmt.Sprintf("%s (%s)", k.GroupKind, k.Role)
}
