// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package accessor

import "slices"

// KindSpec is a contract kind as data: what facade-gen writes, and what everything else is worked out from.
type KindSpec struct {
	// Name of the kind, for messages.
	Name string
	// Versions are the contract versions, newest first.
	Versions []string
	// LabelPrefix, followed by a contract version, is the label by which a CRD declares that version.
	LabelPrefix string
	// CRD says what a CRD must be like beyond the fields.
	CRD CRDRules
	// Fields in the order of the contract. The index of a field is how generated code names it.
	Fields []FieldSpec
}

// CRDRules are the contract's demands on a CRD as a whole.
type CRDRules struct {
	// Scope is Namespaced, Cluster, or "" if either will do.
	Scope string
	// StatusSubresource demands that every contract API version has it.
	StatusSubresource bool
	// PluralName demands the name <plural of the lower-case kind>.<group>, by which readers find a CRD from a
	// reference that has only group and kind.
	PluralName bool
}

// FieldSpec is one promise of the contract.
type FieldSpec struct {
	Name string
	Type Type
	// Paths are, per contract version in the order of KindSpec.Versions, the places where the value may be. The
	// first one that exists counts. A version without paths doesn't have the field.
	Paths [][]string
	// Label or Annotation, instead of Paths, is the metadata key that holds the value, whatever the version.
	Label, Annotation string
	// Presence makes the boolean value of a Label or Annotation say whether the key exists.
	Presence bool
	// Required says that the schema of a CRD must have the field.
	Required bool
	// Lenient reads a value of the wrong type as no value, without an error.
	Lenient bool
	// Informational says that the field only shows something to people: nobody acts on its value.
	Informational bool
}

// Kind reads, prunes and compares objects of a contract kind. It is immutable and safe for concurrent use.
type Kind struct {
	spec KindSpec
	// objects are the objects on the way to fields, parents before children.
	objects []place
	// places[version][field] are the places to look at, in order.
	places [][][]place
	// elsewhere[version][field] are the places where only other contract versions look.
	elsewhere [][][]foreignPlace
	// kept is what a pruned object keeps; compared is what decides whether two objects are contract-equal; acted is
	// the part of it that isn't informational.
	kept, compared, acted *mask
}

// place is a path, cut into what reading needs.
type place struct {
	// parent is an index in Kind.objects, or rootObject.
	parent int
	key    string
	path   Path
}

// rootObject stands for the whole object where an index in Kind.objects is expected.
const rootObject = -1

// foreignPlace is a place of another contract version.
type foreignPlace struct {
	place
	version string
}

// NewKind works out everything that does not depend on an object. It is meant for package variables of generated
// code: the generator has checked the specification, NewKind doesn't do it again.
func NewKind(spec KindSpec) *Kind {
	k := &Kind{spec: spec}
	for version := range spec.Versions {
		fields := make([][]place, len(spec.Fields))
		for i := range spec.Fields {
			for _, path := range spec.Fields[i].paths(version) {
				fields[i] = append(fields[i], k.newPlace(path))
			}
		}
		k.places = append(k.places, fields)
	}
	for version := range spec.Versions {
		k.elsewhere = append(k.elsewhere, k.foreignPlaces(version))
	}
	k.kept, k.compared, k.acted = newMasks(&spec)
	return k
}

// Spec returns the specification that the kind was made from. It must not be changed.
func (k *Kind) Spec() KindSpec { return k.spec }

// Paths returns every path that is read from an object under any contract version, sorted, each once.
func (k *Kind) Paths() []Path {
	var paths []Path
	for version := range k.places {
		for _, places := range k.places[version] {
			for _, p := range places {
				paths = append(paths, slices.Clone(p.path))
			}
		}
	}
	slices.SortFunc(paths, func(a, b Path) int { return slices.Compare(a, b) })
	return slices.CompactFunc(paths, Path.Equal)
}

func (k *Kind) versionIndex(version string) int { return slices.Index(k.spec.Versions, version) }

// paths are the places of the field under one contract version.
func (f *FieldSpec) paths(version int) []Path {
	switch {
	case f.Label != "":
		return []Path{{"metadata", "labels", f.Label}}
	case f.Annotation != "":
		return []Path{{"metadata", "annotations", f.Annotation}}
	}
	paths := make([]Path, len(f.Paths[version]))
	for i, dotted := range f.Paths[version] {
		paths[i] = ParsePath(dotted)
	}
	return paths
}

func (k *Kind) newPlace(path Path) place {
	last := len(path) - 1
	return place{parent: k.objectIndex(path[:last]), key: path[last], path: path}
}

// objectIndex returns the index of the object at a path, after adding it and its parents if they are new.
func (k *Kind) objectIndex(path Path) int {
	if len(path) == 0 {
		return rootObject
	}
	if i := slices.IndexFunc(k.objects, func(p place) bool { return p.path.Equal(path) }); i >= 0 {
		return i
	}
	object := k.newPlace(slices.Clone(path))
	k.objects = append(k.objects, object)
	return len(k.objects) - 1
}

// foreignPlaces finds, for each field, where other versions look but this one doesn't, neither for this field nor
// for another.
func (k *Kind) foreignPlaces(version int) [][]foreignPlace {
	var own []Path
	for _, places := range k.places[version] {
		for _, p := range places {
			own = append(own, p.path)
		}
	}
	out := make([][]foreignPlace, len(k.spec.Fields))
	for other := range k.spec.Versions {
		for field, places := range k.places[other] {
			for _, p := range places {
				if !slices.ContainsFunc(own, p.path.Overlaps) {
					out[field] = append(out[field], foreignPlace{p, k.spec.Versions[other]})
				}
			}
		}
	}
	return out
}
