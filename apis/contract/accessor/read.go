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
type Reader struct {
	kind    *Kind
	version int
	root    map[string]any
	errs    FieldErrors

	// The parent object looked up last. Fields are grouped by parent in most contracts, so this saves half the walk.
	parent    *Path
	parentMap map[string]any
	parentBad *mismatch
}

// NewReader starts reading. The error is an *UnknownVersionError, or FieldErrors if there is no object; with an
// error, all fields of the returned Reader are absent.
func NewReader(kind *Kind, obj *unstructured.Unstructured, version string) (Reader, error) {
	index := kind.versionIndex(version)
	if index < 0 {
		return Reader{kind: kind}, &UnknownVersionError{Kind: kind.spec.Name, Version: version, Supported: kind.spec.Versions}
	}
	r := Reader{kind: kind, version: index}
	if obj == nil {
		return r, FieldErrors{{
			Kind: kind.spec.Name, Path: ".", ContractVersion: version, Expected: "object", Found: "nothing",
		}}
	}
	r.root = obj.Object
	return r, nil
}

// Err returns FieldErrors if fields read so far have unusable values, else nil.
func (r *Reader) Err() error {
	if len(r.errs) == 0 {
		return nil
	}
	return r.errs
}

// String reads a field of type String.
func (r *Reader) String(field int) Value[string] { return read(r, field, AsString) }

// Bool reads a field of type Bool.
func (r *Reader) Bool(field int) Value[bool] { return read(r, field, AsBool) }

// Int32 reads a field of type Int32.
func (r *Reader) Int32(field int) Value[int32] { return read(r, field, AsInt32) }

// Int64 reads a field of type Int64.
func (r *Reader) Int64(field int) Value[int64] { return read(r, field, AsInt64) }

// Time reads a field of type Time.
func (r *Reader) Time(field int) Value[metav1.Time] { return read(r, field, AsTime) }

// Duration reads a field of type Duration.
func (r *Reader) Duration(field int) Value[metav1.Duration] { return read(r, field, AsDuration) }

// Checked reads a field of any type without converting it, because that would allocate. The value has been checked:
// converting it by the As function for its type succeeds.
func (r *Reader) Checked(field int) Value[any] {
	return read(r, field, func(v any) (any, bool) { return v, true })
}

// Present says whether a label or annotation exists, whatever its value.
func (r *Reader) Present(field int) bool {
	_, _, found, _ := r.find(field)
	return found
}

func read[T any](r *Reader, field int, as func(any) (T, bool)) Value[T] {
	v, at, found, bad := r.find(field)
	if !found && bad == nil {
		return Value[T]{}
	}
	spec := &r.kind.spec.Fields[field]
	if found {
		bad = spec.Type.check(v)
		if bad == nil {
			value, _ := as(v)
			return Value[T]{value, true}
		}
		bad.under(at.path.rendered())
	}
	if !spec.Lenient {
		r.errs = append(r.errs, &FieldError{
			Kind: r.kind.spec.Name, Field: spec.Name, ContractVersion: r.kind.spec.Versions[r.version],
			Path: bad.path, Expected: bad.expected, Found: bad.found,
		})
	}
	return Value[T]{}
}

// find returns the value at the first place of the field that has one. The mismatch says that a parent of a place is
// no object, which ends the search: what is behind it can't be known to be absent.
func (r *Reader) find(field int) (v any, at *place, found bool, bad *mismatch) {
	if r.root == nil {
		return nil, nil, false, nil
	}
	places := r.kind.places[r.version][field]
	for i := range places {
		at = &places[i]
		parent, bad := r.lookup(at.parent)
		if bad != nil {
			return nil, at, false, bad
		}
		if v, found = parent[at.key]; found && !r.kind.spec.Fields[field].Type.absent(v) {
			return v, at, true, nil
		}
	}
	return nil, nil, false, nil
}

func (r *Reader) lookup(parent *Path) (map[string]any, *mismatch) {
	if r.parent != parent {
		r.parent = parent
		r.parentMap, r.parentBad = descend(r.root, *parent)
	}
	if r.parentBad == nil {
		return r.parentMap, nil
	}
	return nil, &mismatch{r.parentBad.path, r.parentBad.expected, r.parentBad.found}
}

// descend follows a path of objects. A parent that is absent or null is an empty object, by §2 of the accessor rules
// in the package documentation.
func descend(at map[string]any, path Path) (map[string]any, *mismatch) {
	for i, key := range path {
		v := at[key]
		if v == nil {
			return nil, nil
		}
		next, isObject := v.(map[string]any)
		if !isObject {
			return nil, &mismatch{path: path[:i+1].rendered(), expected: "object", found: describe(v)}
		}
		at = next
	}
	return at, nil
}

// Findings lists the fields that have no value under the given contract version, but have one where only another
// version looks. An object or version that can't be read gives no findings: reading it gives the error.
func (k *Kind) Findings(obj *unstructured.Unstructured, version string) []Finding {
	r, err := NewReader(k, obj, version)
	if err != nil {
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
			parent, bad := r.lookup(foreign[i].parent)
			if bad != nil || parent[foreign[i].key] == nil {
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
