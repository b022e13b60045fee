// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// pass is what one look at a Node has found.
type pass struct {
	// message says what is left; empty if nothing is.
	message string
	// err is why the look failed; nil if it did not.
	err error
	// next is when the next look is due.
	next time.Time
}

func (p pass) done() bool { return p.err == nil && p.message == "" }

// nodePasses remembers, of Machines that are being deleted, the last look of each step at their Node. Whatever else wakes
// such a Machine must not cause another one before it is due: each is a list of Pods, and an eviction of all that are
// still there.
//
// Its zero value is ready to use; it is safe for concurrent use.
type nodePasses struct {
	mu   sync.Mutex
	byID map[types.UID]map[*nodeStep]pass
}

// last returns the last look, unless the next is due.
func (p *nodePasses) last(machine types.UID, step *nodeStep, now time.Time) (pass, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	seen, ok := p.byID[machine][step]
	return seen, ok && now.Before(seen.next)
}

func (p *nodePasses) add(machine types.UID, step *nodeStep, seen pass) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byID == nil {
		p.byID = map[types.UID]map[*nodeStep]pass{}
	}
	if p.byID[machine] == nil {
		p.byID[machine] = map[*nodeStep]pass{}
	}
	p.byID[machine][step] = seen
}

// forget drops what is remembered of a Machine that is gone.
func (p *nodePasses) forget(machine types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.byID, machine)
}
