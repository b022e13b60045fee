// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers/external"
)

// goneObjects remembers, of Machines that are being deleted, which of their objects the API server has said to be gone, so
// that it is asked once. It counts only as long as the cache has no such object either.
//
// It also remembers that a Machine itself is gone until the cache knows. The memory of our own writes can't: the answer to
// the patch that takes the last finalizer off has the version of before.
//
// Its zero value is ready to use; it is safe for concurrent use.
type goneObjects struct {
	mu   sync.Mutex
	byID map[types.UID][]external.Kind
}

// itself stands for the Machine among its objects.
var itself = external.Kind{GroupKind: clusterv1.GroupVersion.WithKind(machineKind).GroupKind()}

func (g *goneObjects) add(machine types.UID, kind external.Kind) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.byID == nil {
		g.byID = map[types.UID][]external.Kind{}
	}
	g.byID[machine] = append(g.byID[machine], kind)
}

func (g *goneObjects) has(machine types.UID, kind external.Kind) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Contains(g.byID[machine], kind)
}

// forget drops what is remembered of a Machine that is gone.
func (g *goneObjects) forget(machine types.UID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.byID, machine)
}
