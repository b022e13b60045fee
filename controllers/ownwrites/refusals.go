// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package ownwrites

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// RefusedFor is how long a patch that was refused is not tried again while nothing newer is known.
const RefusedFor = 5 * time.Second

// Refusals remembers patches that the API server has refused because it knew a newer version of the object than the cache.
// Until the cache has that version, too, the same patch would be refused again. Its zero value is ready to use; it is safe
// for concurrent use.
//
// What it holds is bounded: an object takes memory from Add until an event of it, or Forget.
type Refusals struct {
	mu    sync.Mutex
	byUID map[types.UID]refusal
}

// refusal is a patch of this version that was refused.
type refusal struct {
	resourceVersion string
	at              time.Time
}

// Add remembers that a patch was refused that was made for the given version of the object.
func (r *Refusals) Add(uid types.UID, resourceVersion string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byUID == nil {
		r.byUID = map[types.UID]refusal{}
	}
	r.byUID[uid] = refusal{resourceVersion: resourceVersion, at: time.Now()}
}

// Again reports whether a patch that is made for the given version would be refused again, as one was less than RefusedFor
// ago.
func (r *Refusals) Again(uid types.UID, resourceVersion string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, ok := r.byUID[uid]
	return ok && last.resourceVersion == resourceVersion && time.Since(last.at) < RefusedFor
}

// Explained is told of each version that reaches the cache. It reports whether that may be the reason why a patch was
// refused, which is forgotten then: whoever sent it must be woken.
func (r *Refusals) Explained(uid types.UID, resourceVersion string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, ok := r.byUID[uid]
	if !ok || resourceVersion == last.resourceVersion || Older(resourceVersion, last.resourceVersion) {
		return false
	}
	delete(r.byUID, uid)
	return true
}

// Forget drops what is remembered about an object, because it is gone or the cache had the newer version already.
func (r *Refusals) Forget(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byUID, uid)
}

// Clear forgets all objects, as when the cache they are in is given up.
func (r *Refusals) Clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.byUID)
}

// Len returns the number of objects of which a patch was refused.
func (r *Refusals) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.byUID)
}
