// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package accessor_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/machinist-dev/machinist/apis/contract/accessor"
)

// anyValue generates JSON values, biased towards keys and strings that mean something to the kind of these tests.
func anyValue(depth int) *rapid.Generator[any] {
	scalars := rapid.OneOf(
		rapid.Just[any](nil),
		rapid.Just[any](""), rapid.Just[any]("A"), rapid.Just[any]("2026-08-03T09:14:41Z"), rapid.Just[any]("5s"),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.Int64(), func(i int64) any { return i }),
		rapid.Map(rapid.Float64Range(-10, 10), func(f float64) any { return f }),
	)
	if depth == 0 {
		return scalars
	}
	return rapid.OneOf(
		scalars,
		rapid.Map(rapid.SliceOfN(rapid.Deferred(func() *rapid.Generator[any] { return anyValue(depth - 1) }), 0, 3),
			func(list []any) any { return list }),
		rapid.Map(anyObject(depth-1), func(object map[string]any) any { return object }),
	)
}

func anyObject(depth int) *rapid.Generator[map[string]any] {
	return rapid.MapOfN(rapid.SampledFrom(interestingKeys), rapid.Deferred(func() *rapid.Generator[any] { return anyValue(depth) }), 0, 6)
}

var interestingKeys = func() []string {
	keys := []string{"apiVersion", "kind", "foreign", "ownerReferences", "deletionTimestamp", "uid", "resourceVersion", "finalizers"}
	for _, path := range thing.Paths() {
		keys = append(keys, path...)
	}
	for _, member := range endpointMembers {
		keys = append(keys, member.Key)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}()

// anyThing generates an object with values at contract paths: usable ones, others, and parents that are no objects.
func anyThing() *rapid.Generator[*unstructured.Unstructured] {
	return rapid.Custom(func(t *rapid.T) *unstructured.Unstructured {
		object := anyObject(3).Draw(t, "object")
		for _, path := range rapid.SliceOfN(rapid.SampledFrom(thing.Paths()), 0, 8).Draw(t, "paths") {
			// A parent that is no object is left as it is.
			_ = unstructured.SetNestedField(object, anyValue(2).Draw(t, path.String()), path...)
		}
		return &unstructured.Unstructured{Object: object}
	})
}

// readAll returns what all getters return, and the error text.
func readAll(t *rapid.T, obj *unstructured.Unstructured, version string) []string {
	var r accessor.Reader
	if err := r.Open(thing, obj, version); err != nil {
		t.Fatalf("Open: %v", err)
	}
	var all []string
	for field := range thingSpec.Fields {
		v, found := get(&r, field)
		all = append(all, fmt.Sprintf("%s: %v %t", thingSpec.Fields[field].Name, v, found))
	}
	return append(all, fmt.Sprint(r.Err()), fmt.Sprint(thing.Findings(obj, version)))
}

func TestPruningIsInvisible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		obj := anyThing().Draw(t, "thing")
		pruned := obj.DeepCopy()
		thing.Prune(pruned)
		for _, version := range thingSpec.Versions {
			if diff := cmp.Diff(readAll(t, obj, version), readAll(t, pruned, version)); diff != "" {
				t.Errorf("version %s reads differently, -object +pruned:\n%s", version, diff)
			}
		}
		if !thing.Equal(obj, pruned) || !thing.Equal(pruned, obj) {
			t.Error("not contract-equal to its pruned self")
		}
		again := pruned.DeepCopy()
		thing.Prune(again)
		if diff := cmp.Diff(pruned.Object, again.Object); diff != "" {
			t.Errorf("pruning is not idempotent, -once +twice:\n%s", diff)
		}
	})
}

// If two objects are contract-equal, nobody who reads by the contract can tell them apart: a trigger is never missed.
func TestContractEqualObjectsReadTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := anyThing().Draw(t, "a")
		b := a.DeepCopy()
		path := rapid.SampledFrom(thing.Paths()).Draw(t, "path")
		_ = unstructured.SetNestedField(b.Object, anyValue(2).Draw(t, "value"), path...)
		if thing.Equal(a, b) != thing.Equal(b, a) {
			t.Error("equality is not symmetric")
		}
		if !thing.Equal(a, b) {
			return
		}
		for _, version := range thingSpec.Versions {
			if diff := cmp.Diff(readAll(t, a, version), readAll(t, b, version)); diff != "" {
				t.Errorf("version %s reads differently, -a +b:\n%s", version, diff)
			}
		}
	})
}

// A change that is not operative is one of informational fields.
func TestOperativelyEqualObjectsReadTheSameButForInformation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := anyThing().Draw(t, "a")
		b := a.DeepCopy()
		path := rapid.SampledFrom(thing.Paths()).Draw(t, "path")
		_ = unstructured.SetNestedField(b.Object, anyValue(2).Draw(t, "value"), path...)
		if thing.Equal(a, b) && !thing.OperativelyEqual(a, b) {
			t.Error("contract-equal, but not operatively equal")
		}
		if !thing.OperativelyEqual(a, b) {
			return
		}
		for _, version := range thingSpec.Versions {
			readA, readB := readAll(t, a, version), readAll(t, b, version)
			for i, field := range thingSpec.Fields {
				if !field.Informational && readA[i] != readB[i] {
					t.Errorf("version %s reads %s, and %s", version, readA[i], readB[i])
				}
			}
		}
	})
}

// Reading never writes.
func TestReadingLeavesTheObjectAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		obj := anyThing().Draw(t, "thing")
		before := obj.DeepCopy()
		readAll(t, obj, "v2")
		thing.Equal(obj, before)
		if diff := cmp.Diff(before.Object, obj.Object); diff != "" {
			t.Errorf("-before +after:\n%s", diff)
		}
	})
}
