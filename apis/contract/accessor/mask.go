// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package accessor

import (
	"slices"
	"strings"
)

// mask says which parts of a JSON value matter. The zero mask stands for nothing.
//
// A mask is built for the union of all contract versions, so several descriptions may meet at one path; the widest
// wins.
type mask struct {
	// whole keeps the value as it is. It implies value.
	whole bool
	// value says that something is expected to be here, so that null and {} differ from nothing. Without it the
	// mask is just on the way to something: null and {} are nothing.
	value bool
	// members apply if the value is an object; sorted by key.
	members []maskMember
	// items applies to each object in the value if it is a list.
	items *mask
}

type maskMember struct {
	key  string
	mask *mask
}

// The metadata that readers of an object rely on, next to the labels and annotations that the contract names.
var (
	keptMetadata = []string{
		"name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
		// Whole, because whoever patches these lists replaces them whole.
		"finalizers", "ownerReferences",
	}
	comparedMetadata = []string{"uid", "deletionTimestamp", "ownerReferences"}
)

func newMasks(spec *KindSpec) (kept, compared, acted *mask) {
	kept, compared, acted = &mask{}, &mask{}, &mask{}
	kept.add(Path{"apiVersion"}).expectWhole()
	kept.add(Path{"kind"}).expectWhole()
	for _, key := range keptMetadata {
		kept.add(Path{"metadata", key}).expectWhole()
	}
	for _, key := range comparedMetadata {
		compared.add(Path{"metadata", key}).expectWhole()
		acted.add(Path{"metadata", key}).expectWhole()
	}
	for i := range spec.Fields {
		for version := range spec.Versions {
			for _, path := range spec.Fields[i].paths(version) {
				kept.add(path).expect(&spec.Fields[i].Type)
				compared.add(path).expect(&spec.Fields[i].Type)
				if !spec.Fields[i].Informational {
					acted.add(path).expect(&spec.Fields[i].Type)
				}
			}
		}
	}
	return kept, compared, acted
}

// add returns the mask at the path, made if need be.
func (m *mask) add(path Path) *mask {
	for _, key := range path {
		i, exists := slices.BinarySearchFunc(m.members, key, func(member maskMember, key string) int {
			return strings.Compare(member.key, key)
		})
		if !exists {
			m.members = slices.Insert(m.members, i, maskMember{key, &mask{}})
		}
		m = m.members[i].mask
	}
	return m
}

// expect widens the mask so that it holds all of a type.
func (m *mask) expect(t *Type) {
	m.value = true
	switch t.Kind {
	case Object:
		m.expectMembers(t.Members)
	case ObjectList:
		if m.items == nil {
			m.items = &mask{value: true}
		}
		m.items.expectMembers(t.Members)
	default:
		m.expectWhole()
	}
}

func (m *mask) expectWhole() { m.value, m.whole = true, true }

func (m *mask) expectMembers(members []Member) {
	for i := range members {
		m.add(Path{members[i].Key}).expect(&members[i].Type)
	}
}

// prune returns what the mask keeps of a value, and false if that is nothing. It never writes to the value: what is
// kept whole is shared with the result, all else is built anew, so that the memory of dropped entries is freed.
func (m *mask) prune(v any) (any, bool) {
	switch typed := v.(type) {
	case nil:
		return nil, m.value
	case map[string]any:
		if m.whole || (m.items != nil && len(m.members) == 0) {
			return v, true
		}
		out := m.pruneMembers(typed)
		return out, m.value || len(out) > 0
	case []any:
		if m.whole || m.items == nil {
			return v, true
		}
		return m.pruneItems(typed), true
	default:
		return v, true
	}
}

// pruneMembers stores the keys of the mask, not those of the object: each object comes out of its decoder with key
// strings of its own.
func (m *mask) pruneMembers(object map[string]any) map[string]any {
	out := map[string]any{}
	for i := range m.members {
		member := &m.members[i]
		if v, exists := object[member.key]; exists {
			if kept, keep := member.mask.prune(v); keep {
				out[member.key] = kept
			}
		}
	}
	return out
}

func (m *mask) pruneItems(list []any) []any {
	out := make([]any, len(list))
	for i, item := range list {
		out[i] = item
		if object, isObject := item.(map[string]any); isObject {
			out[i] = m.items.pruneMembers(object)
		}
	}
	return out
}

// equal says whether two values, each of which may be absent, agree in all that the mask stands for.
func (m *mask) equal(a, b any, hasA, hasB bool) bool {
	if !m.value {
		hasA, hasB = hasA && !isNothing(a), hasB && !isNothing(b)
	} else if hasA != hasB {
		return false
	}
	if m.whole {
		return jsonEqual(a, b)
	}
	objectA, isObjectA := a.(map[string]any)
	objectB, isObjectB := b.(map[string]any)
	if (isObjectA || !hasA) && (isObjectB || !hasB) && (m.items == nil || len(m.members) > 0) {
		return m.equalMembers(objectA, objectB)
	}
	listA, isListA := a.([]any)
	listB, isListB := b.([]any)
	if isListA && isListB && m.items != nil {
		return slices.EqualFunc(listA, listB, m.equalItem)
	}
	return hasA == hasB && jsonEqual(a, b)
}

func (m *mask) equalMembers(a, b map[string]any) bool {
	for i := range m.members {
		member := &m.members[i]
		valueA, hasA := a[member.key]
		valueB, hasB := b[member.key]
		if !member.mask.equal(valueA, valueB, hasA, hasB) {
			return false
		}
	}
	return true
}

func (m *mask) equalItem(a, b any) bool {
	objectA, isObjectA := a.(map[string]any)
	objectB, isObjectB := b.(map[string]any)
	if isObjectA && isObjectB {
		return m.items.equalMembers(objectA, objectB)
	}
	return jsonEqual(a, b)
}
