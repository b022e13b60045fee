// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/watch"
)

// record is one object at one resource version; it never changes.
type record struct {
	key     types.NamespacedName
	version uint64
	// raw is the object's protobuf message. Objects are kept encoded because thousands of decoded Nodes cost several
	// times the memory and are walked by every garbage collection.
	raw []byte
	attributes
}

// change is one entry of a table's history.
type change struct {
	kind watch.EventType
	// now is the object after the change; for a deletion its last state, with the version of the deletion.
	now *record
	// before is what a watch with a selector needs to tell "appears" from "changes". Nil for a creation.
	before *attributes
}

// attributes is what selectors look at.
type attributes struct {
	labels labels.Set
	fields fields.Set
}

// table holds the objects of one resource in one cluster.
type table struct {
	resource *resource
	objects  map[types.NamespacedName]*record
	// history holds the last changes in order of their version.
	history []change
	// floor is the version up to which changes are forgotten: a watch can resume from floor, not from below.
	floor uint64
	// changed is closed and replaced at every change.
	changed chan struct{}
}

// store holds the objects of one cluster. As in etcd, one counter gives the resource versions of all resources.
type store struct {
	historySize int

	mu      sync.RWMutex
	version uint64
	tables  map[*resource]*table
}

func newStore(historySize int) *store {
	s := &store{historySize: historySize, version: 1, tables: map[*resource]*table{}}
	for _, res := range resources {
		s.tables[res] = &table{
			resource: res,
			objects:  map[types.NamespacedName]*record{},
			floor:    s.version,
			changed:  make(chan struct{}),
		}
	}
	return s
}

// get returns the record of an object, or a NotFound error.
func (s *store) get(res *resource, key types.NamespacedName) (*record, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.tables[res].get(key)
}

func (t *table) get(key types.NamespacedName) (*record, error) {
	rec, found := t.objects[key]
	if !found {
		return nil, apierrors.NewNotFound(t.resource.groupResource(), key.Name)
	}
	return rec, nil
}

// list returns the matching records after the given key, in order of namespace and name, and the current version.
// A limit of 0 means all; more says that the limit cut the list. The zero key starts at the beginning.
func (s *store) list(res *resource, sel selection, after types.NamespacedName, limit int) (records []*record, more bool, version uint64) {
	s.mu.RLock()
	for _, rec := range s.tables[res].objects {
		if compareKeys(rec.key, after) > 0 && sel.matches(rec.key, &rec.attributes) {
			records = append(records, rec)
		}
	}
	version = s.version
	s.mu.RUnlock()

	slices.SortFunc(records, func(a, b *record) int {
		return compareKeys(a.key, b.key)
	})
	if limit > 0 && len(records) > limit {
		return records[:limit], true, version
	}
	return records, false, version
}

func (s *store) currentVersion() uint64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.version
}

func (s *store) count(res *resource) int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.tables[res].objects)
}

// create stores obj under a new version and writes that version, a UID and the creation time into obj.
func (s *store) create(res *resource, obj Object) (*record, error) {
	if obj.GetName() == "" && obj.GetGenerateName() != "" {
		obj.SetName(obj.GetGenerateName() + utilrand.String(5))
	}
	if obj.GetName() == "" {
		return nil, apierrors.NewBadRequest("metadata.name or metadata.generateName is required")
	}
	if res.namespaced == (obj.GetNamespace() == "") {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("metadata.namespace of %s %q is %q, but namespaced is %v for this kind",
			res.Kind, obj.GetName(), obj.GetNamespace(), res.namespaced))
	}
	if obj.GetResourceVersion() != "" {
		return nil, apierrors.NewBadRequest("resourceVersion should not be set on objects to be created")
	}
	obj.SetUID(uuid.NewUUID())
	obj.SetCreationTimestamp(metav1.Now().Rfc3339Copy())
	obj.SetDeletionTimestamp(nil)

	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tables[res]
	if _, found := t.objects[keyOf(obj)]; found {
		return nil, apierrors.NewAlreadyExists(res.groupResource(), obj.GetName())
	}
	rec, err := s.encode(obj, s.version+1, res)
	if err != nil {
		return nil, err
	}
	s.record(t, change{kind: watch.Added, now: rec})
	return rec, nil
}

// update replaces an object by what mutate makes of it. A resource version that mutate leaves in the object and that is
// not the current one is a Conflict. Without a difference nothing is stored, as in a real API server.
func (s *store) update(res *resource, key types.NamespacedName, mutate func(current Object) (Object, error)) (*record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tables[res]
	old, err := t.get(key)
	if err != nil {
		return nil, err
	}
	current, err := res.decode(old)
	if err != nil {
		return nil, err
	}
	obj, err := mutate(current.DeepCopyObject().(Object))
	if err != nil {
		return nil, err
	}
	if err := checkIdentity(res, current, obj); err != nil {
		return nil, err
	}
	keepSystemMetadata(obj, current)
	unchanged, err := s.encode(obj, old.version, res)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(unchanged.raw, old.raw) {
		return old, nil
	}
	if obj.GetDeletionTimestamp() != nil && len(obj.GetFinalizers()) == 0 {
		return s.remove(t, obj, old)
	}
	rec, err := s.encode(obj, s.version+1, res)
	if err != nil {
		return nil, err
	}
	s.record(t, change{kind: watch.Modified, now: rec, before: &old.attributes})
	return rec, nil
}

// delete removes an object, or marks it as deleting while it has finalizers. It returns the object's last state.
func (s *store) delete(res *resource, key types.NamespacedName, preconditions *metav1.Preconditions) (*record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tables[res]
	old, err := t.get(key)
	if err != nil {
		return nil, err
	}
	obj, err := res.decode(old)
	if err != nil {
		return nil, err
	}
	if err := checkPreconditions(res, obj, preconditions); err != nil {
		return nil, err
	}
	if len(obj.GetFinalizers()) == 0 {
		return s.remove(t, obj, old)
	}
	if obj.GetDeletionTimestamp() != nil {
		return old, nil
	}
	obj.SetDeletionTimestamp(new(metav1.NewTime(time.Now()).Rfc3339Copy()))
	rec, err := s.encode(obj, s.version+1, res)
	if err != nil {
		return nil, err
	}
	s.record(t, change{kind: watch.Modified, now: rec, before: &old.attributes})
	return rec, nil
}

func (s *store) remove(t *table, obj Object, old *record) (*record, error) {
	rec, err := s.encode(obj, s.version+1, t.resource)
	if err != nil {
		return nil, err
	}
	s.record(t, change{kind: watch.Deleted, now: rec, before: &old.attributes})
	return rec, nil
}

// record makes a change visible to readers and watches. The caller holds the lock.
func (s *store) record(t *table, c change) {
	s.version = c.now.version
	if c.kind == watch.Deleted {
		delete(t.objects, c.now.key)
	} else {
		t.objects[c.now.key] = c.now
	}
	t.history = append(t.history, c)
	// Forget in batches, so that a change costs no copy of the whole history.
	if len(t.history) >= 2*s.historySize {
		forget := len(t.history) - s.historySize
		t.floor = t.history[forget-1].now.version
		t.history = append(make([]change, 0, 2*s.historySize), t.history[forget:]...)
	}
	t.notify()
}

func (t *table) notify() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// compact forgets the history of all resources and moves the version on, so that no watch can go on from what it saw.
func (s *store) compact() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	for t := range maps.Values(s.tables) {
		t.history, t.floor = nil, s.version
		t.notify()
	}
}

// since returns the changes after the given version, the version up to which they are complete, and a channel that is
// closed at the next change. It fails with Expired (410) if changes after that version are forgotten, or if the version
// is not one that this store has given out.
func (s *store) since(res *resource, version uint64) ([]change, uint64, <-chan struct{}, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	t := s.tables[res]
	if version < t.floor || version > s.version {
		return nil, 0, nil, apierrors.NewResourceExpired(
			fmt.Sprintf("too old resource version: %d (history is from %d to %d)", version, t.floor, s.version))
	}
	first, _ := slices.BinarySearchFunc(t.history, version+1, func(c change, v uint64) int {
		return cmp.Compare(c.now.version, v)
	})
	// A watch reads the slice without the lock; appending never changes the elements that it can see.
	return slices.Clip(t.history[first:]), s.version, t.changed, nil
}

// encode stamps obj with the version and returns it as a record.
func (s *store) encode(obj Object, version uint64, res *resource) (*record, error) {
	obj.SetResourceVersion(strconv.FormatUint(version, 10))
	raw, err := obj.Marshal()
	if err != nil {
		return nil, fmt.Errorf("encode %s %s: %w", res.Kind, keyOf(obj), err)
	}
	rec := &record{key: keyOf(obj), version: version, raw: raw}
	rec.labels = maps.Clone(obj.GetLabels())
	if res.fields != nil {
		rec.fields = res.fields(obj)
	}
	return rec, nil
}

func (r *resource) decode(rec *record) (Object, error) {
	obj := r.newObject()
	if err := obj.Unmarshal(rec.raw); err != nil {
		return nil, fmt.Errorf("decode %s %s: %w", r.Kind, rec.key, err)
	}
	return obj, nil
}

func compareKeys(a, b types.NamespacedName) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

func keyOf(obj Object) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}
