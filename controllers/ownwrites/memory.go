// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package ownwrites

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// Memory remembers what a controller wrote to each object until the cache has caught up. T is the form in which an
// object is kept. Its zero value is ready to use; it is safe for concurrent use.
//
// What it holds is bounded: an object takes memory from Begin to End, and then until the cache has its last write.
type Memory[T any] struct {
	mu    sync.Mutex
	byUID map[types.UID]*entry[T]
}

// entry is what is remembered of one object.
type entry[T any] struct {
	// writers is how many are between Begin and End.
	writers int
	// held are the changes that reached the cache in between and were not known to be ours then.
	held []step
	// gone says that the object went in between.
	gone bool
	// latest is the object as our last write left it, at version; version is empty if the cache has it, or something newer.
	latest  T
	version string
	// seen is the version that reached the cache last; empty if none has since Begin.
	seen string
	// own are the changes that our writes have made and the cache may not have told of yet.
	own []step
}

// step is a change of an object's resourceVersion.
type step struct{ from, to string }

// Begin says that the object may be written to from now on. The event of a write often comes before the answer that tells
// which version it has made, so until End events are held instead of being taken for somebody else's.
func (m *Memory[T]) Begin(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byUID == nil {
		m.byUID = map[types.UID]*entry[T]{}
	}
	e := m.byUID[uid]
	if e == nil {
		e = &entry[T]{}
		m.byUID[uid] = e
	}
	e.writers++
}

// End ends what Begin has begun. It reports whether a change was held that is not ours: then whoever would have been woken
// by it must be woken now.
func (m *Memory[T]) End(uid types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.byUID[uid]
	if e == nil {
		return false
	}
	if e.writers--; e.writers > 0 {
		return false // the last one looks
	}
	foreign := slices.ContainsFunc(e.held, func(s step) bool { return !slices.Contains(e.own, s) })
	e.held, e.seen = nil, ""
	m.dropIfDone(uid, e)
	return foreign
}

// Record remembers a write that has succeeded, between Begin and End. from is the resourceVersion before it, empty if
// others have written in between, so that the way to version is not ours alone. The object must not be changed after the
// call.
func (m *Memory[T]) Record(uid types.UID, from, version string, object T) {
	if from == version {
		return // the API server found nothing to change
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.byUID[uid]
	if e == nil || e.gone {
		return
	}
	if from != "" {
		e.own = append(e.own, step{from, version})
	}
	if e.seen != "" && !Older(e.seen, version) {
		e.drop()
		return
	}
	e.latest, e.version = object, version
}

// Newest returns the object as our last write left it, and true, if the cache, which has the given version, is behind that.
func (m *Memory[T]) Newest(uid types.UID, cached string) (T, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.byUID[uid]
	if e == nil || e.version == "" {
		var none T
		return none, false
	}
	if !Older(cached, e.version) {
		e.drop() // its event may still be on its way to the handlers, so what is ours is kept until then
		return e.latest, false
	}
	return e.latest, true
}

// Changed is told of each update that reaches the cache. It reports whether nobody has to be woken: the change is a write of
// ours and nothing else, or it is held until End.
func (m *Memory[T]) Changed(uid types.UID, from, to string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.byUID[uid]
	if e == nil {
		return false
	}
	change := step{from, to}
	ours := slices.Contains(e.own, change)
	if e.version != "" && !Older(to, e.version) {
		e.drop()
	}
	if e.writers > 0 {
		e.seen = to
		if !ours {
			e.held = append(e.held, change)
		}
		return true
	}
	m.dropIfDone(uid, e)
	return ours
}

// Forget drops what is remembered about an object that is gone.
func (m *Memory[T]) Forget(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.byUID[uid]; e != nil {
		m.forget(uid, e)
	}
}

// forget leaves a mark for those who are writing to the object, so that what they record is not kept for ever.
func (m *Memory[T]) forget(uid types.UID, e *entry[T]) {
	e.gone = true
	e.drop()
	m.dropIfDone(uid, e)
}

// Clear forgets all objects, as when the cache they are in is given up.
func (m *Memory[T]) Clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for uid, e := range m.byUID {
		m.forget(uid, e)
	}
}

// Len returns the number of objects that something is remembered about.
func (m *Memory[T]) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.byUID)
}

func (e *entry[T]) drop() {
	var none T
	e.latest, e.version = none, ""
}

// dropIfDone forgets an object that nobody is writing to, once the cache has all that was written.
func (m *Memory[T]) dropIfDone(uid types.UID, e *entry[T]) {
	if e.writers == 0 && e.version == "" {
		delete(m.byUID, uid)
	}
}

// Older reports whether version a comes before b. Resource versions of one resource can be compared since Kubernetes 1.35;
// where a server's can't, the cache is taken to be right.
func Older(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}
