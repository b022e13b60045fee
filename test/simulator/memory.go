// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// memory is what the simulator knows about one object and can't read from the cache: what it wrote a moment ago, and when
// its delays end. Everything in it can be lost without harm but delays, which then start again.
type memory struct {
	uid types.UID
	// finalizer says that the finalizer was added, which the cache may not show yet.
	finalizer bool
	// due says when each delay that has begun ends.
	due map[string]time.Time
	// provisionedAt is zero until the object is provisioned.
	provisionedAt time.Time
	// since is when the present state began, for the condition's transition time.
	state string
	since time.Time
	// written is a hash of the status that was written last.
	written uint64
	// joined says that the Node was created, so that nobody who deletes it sees it come back.
	joined bool
}

// remaining starts a delay when it is asked for the first time, and returns what is left of it.
func (m *memory) remaining(name string, delay time.Duration) time.Duration {
	now := time.Now()
	if _, begun := m.due[name]; !begun {
		if m.due == nil {
			m.due = map[string]time.Time{}
		}
		m.due[name] = now.Add(delay)
	}
	return m.due[name].Sub(now)
}

// enter returns when the object entered the state that it is in now.
func (m *memory) enter(state string) time.Time {
	if m.state != state {
		m.state, m.since = state, time.Now()
	}
	return m.since
}

// memories holds the memory of each object of one kind. An object is worked on by one worker at a time, so a memory needs
// no lock of its own.
type memories struct {
	mu    sync.Mutex
	byKey map[types.NamespacedName]*memory
}

// of returns the memory of an object, an empty one if another object had the name before.
func (m *memories) of(key types.NamespacedName, uid types.UID) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.byKey[key]
	if known == nil || known.uid != uid {
		known = &memory{uid: uid}
		if m.byKey == nil {
			m.byKey = map[types.NamespacedName]*memory{}
		}
		m.byKey[key] = known
	}
	return known
}

func (m *memories) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.byKey, key)
}
