// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/machinist-dev/machinist/controllers/external"
)

// goneObjects remembers, of Machines that are being deleted, which of their objects the API server has said to be gone, so
// that it is asked once. It counts only as long as the cache has no such object either.
//
// Its zero value is ready to use; it is safe for concurrent use.
type goneObjects struct {
	mu   sync.Mutex
	byID map[types.UID][]external.Kind
}

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
