// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package accessor

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Value is a value that may be absent.
type Value[T any] struct {
	value   T
	present bool
}

// Get returns the value and whether there is one.
func (v Value[T]) Get() (T, bool) { return v.value, v.present }

// Or returns the value, or the given default if there is none.
func (v Value[T]) Or(def T) T {
	if v.present {
		return v.value
	}
	return def
}

// Reader takes the contract fields out of one object under one contract version and collects what is wrong with
// them. Each method takes the index of a field in KindSpec.Fields, whose type must be the one the method is for.
// A Reader is for one goroutine.
type Reader struct {
	kind    *Kind
	version int
	// places are those of the version, by field.
	places [][]place
	root   map[string]any
	errs   FieldErrors

	// seen are the objects met so far, by their index in Kind.objects; nil if there is none. Map lookups are nearly all
	// that reading costs. An object with a higher index than fits is looked up each time.
	seen  [maxSeen]map[string]any
	known [maxSeen]bool
}

const maxSeen = 12

// Open starts reading an object. The error is an *UnknownVersionError, or FieldErrors if there is no object; with an
// error, all fields are absent.
func (r *Reader) Open(kind *Kind, obj *unstructured.Unstructured, version string) error {
	r.kind, r.version = kind, kind.versionIndex(version)
	if r.version < 0 {
		r.version = 0
		return &UnknownVersionError{Kind: kind.spec.Name, Version: version, Supported: kind.spec.Versions}
	}
	if obj == nil {
		return FieldErrors{{
			Kind: kind.spec.Name, Path: ".", ContractVersion: version, Expected: "object", Found: "nothing",
		}}
	}
	r.places, r.root = kind.places[r.version], obj.Object
	return nil
}

// Err returns FieldErrors if fields read so far have unusable values, else nil.
func (r *Reader) Err() error {
	if len(r.errs) == 0 {
		return nil
	}
	return r.errs
}

// String reads a field of type String.
func (r *Reader) String(field int) Value[string] {
	v, found := r.usable(field)
	value, _ := AsString(v)
	return Value[string]{value, found}
}

// Bool reads a field of type Bool.
func (r *Reader) Bool(field int) Value[bool] {
	v, found := r.usable(field)
	value, _ := AsBool(v)
	return Value[bool]{value, found}
}

// Int32 reads a field of type Int32.
func (r *Reader) Int32(field int) Value[int32] {
	v, found := r.usable(field)
	value, _ := AsInt32(v)
	return Value[int32]{value, found}
}

// Int64 reads a field of type Int64.
func (r *Reader) Int64(field int) Value[int64] {
	v, found := r.usable(field)
	value, _ := AsInt64(v)
	return Value[int64]{value, found}
}

// Time reads a field of type Time.
func (r *Reader) Time(field int) Value[metav1.Time] {
	v, found := r.usable(field)
	value, _ := AsTime(v)
	return Value[metav1.Time]{value, found}
}

// Duration reads a field of type Duration.
func (r *Reader) Duration(field int) Value[metav1.Duration] {
	v, found := r.usable(field)
	value, _ := AsDuration(v)
	return Value[metav1.Duration]{value, found}
}

// Checked reads a field of any type without converting it, because that would allocate. The value has been checked:
// converting it by the As function for its type succeeds. If the field is lenient the check is left to Kind.Usable.
func (r *Reader) Checked(field int) Value[any] {
	if r.kind.spec.Fields[field].Lenient {
		v, _, found, _ := r.find(field)
		return Value[any]{v, found}
	}
	v, found := r.usable(field)
	return Value[any]{v, found}
}

// Usable returns a value that Checked has read of a lenient field, or nil if it is absent or has the wrong type.
func (k *Kind) Usable(field int, v Value[any]) any {
	if v.present && k.spec.Fields[field].Type.check(v.value) == nil {
		return v.value
	}
	return nil
}

// Present says whether a label or annotation exists, whatever its value. If that can't be known, because the labels or
// annotations are no object, it collects the error.
func (r *Reader) Present(field int) bool {
	_, _, found, bad := r.find(field)
	if bad != nil {
		r.report(field, bad)
	}
	return found
}

// usable returns the value of a field if there is one and it has the type of the field. Otherwise, if the field isn't
// just absent, it collects the error.
//
// None of the methods is generic, although it would save lines: the compiler doesn't see through generic functions of
// another package and would put every Reader on the heap.
func (r *Reader) usable(field int) (any, bool) {
	v, at, found, bad := r.find(field)
	if !found && bad == nil {
		return nil, false
	}
	spec := &r.kind.spec.Fields[field]
	if found {
		if bad = spec.Type.check(v); bad == nil {
			return v, true
		}
		bad.under(at.path.rendered())
	}
	if !spec.Lenient {
		r.report(field, bad)
	}
	return nil, false
}

func (r *Reader) report(field int, bad *mismatch) {
	r.errs = append(r.errs, &FieldError{
		Kind: r.kind.spec.Name, Field: r.kind.spec.Fields[field].Name, ContractVersion: r.kind.spec.Versions[r.version],
		Path: bad.path, Expected: bad.expected, Found: bad.found,
	})
}

// find returns the value at the first place of the field that has one. The mismatch says that a parent of a place is
// no object, which ends the search: what is behind it can't be known to be absent.
func (r *Reader) find(field int) (v any, at *place, found bool, bad *mismatch) {
	if r.root == nil {
		return nil, nil, false, nil
	}
	places := r.places[field]
	for i := range places {
		at = &places[i]
		parent, bad := r.object(at.parent)
		if bad != nil {
			return nil, at, false, bad
		}
		if v, found = parent[at.key]; found && !r.kind.spec.Fields[field].Type.absent(v) {
			return v, at, true, nil
		}
	}
	return nil, nil, false, nil
}

// object returns an object on the way to fields. One that is absent or null is nil, which reads like an empty one.
func (r *Reader) object(index int) (map[string]any, *mismatch) {
	if index == rootObject {
		return r.root, nil
	}
	if index < maxSeen && r.known[index] {
		return r.seen[index], nil
	}
	object, bad := r.enter(index)
	if index < maxSeen && bad == nil {
		r.seen[index], r.known[index] = object, true
	}
	return object, bad
}

func (r *Reader) enter(index int) (map[string]any, *mismatch) {
	this := &r.kind.objects[index]
	parent, bad := r.object(this.parent)
	v := parent[this.key]
	if bad != nil || v == nil {
		return nil, bad
	}
	object, isObject := v.(map[string]any)
	if !isObject {
		return nil, &mismatch{path: this.path.rendered(), expected: "object", found: describe(v)}
	}
	return object, nil
}

// Findings lists the fields that have no value under the given contract version, but have one where only another
// version looks. An object or version that can't be read gives no findings: reading it gives the error.
func (k *Kind) Findings(obj *unstructured.Unstructured, version string) []Finding {
	var r Reader
	if err := r.Open(k, obj, version); err != nil {
		return nil
	}
	var findings []Finding
	for field, foreign := range k.elsewhere[r.version] {
		own := k.places[r.version][field]
		if len(foreign) == 0 || len(own) == 0 {
			continue
		}
		if _, _, found, bad := r.find(field); found || bad != nil {
			continue
		}
		for i := range foreign {
			parent, bad := r.object(foreign[i].parent)
			// A false says nothing that is not said by being absent.
			if value := parent[foreign[i].key]; bad != nil || value == nil || value == false {
				continue
			}
			findings = append(findings, Finding{
				Kind: k.spec.Name, Field: k.spec.Fields[field].Name,
				Path: own[0].path.rendered(), ContractVersion: version,
				FoundPath: foreign[i].path.rendered(), FoundContractVersion: foreign[i].version,
			})
			break
		}
	}
	return findings
}
