// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package accessor_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/machinist-dev/machinist/apis/contract/accessor"
)

// The fields of the kind that the tests of this package read: one of each type, one with two places, one that moved
// between versions, and three in the metadata.
const (
	stringField = iota
	enumField
	boolField
	int32Field
	int64Field
	timeField
	durationField
	stringListField
	stringMapField
	objectField
	objectListField
	tolerantField
	lenientField
	placesField
	movedField
	newField
	labelField
	annotationField
	presenceField
)

var endpointMembers = []accessor.Member{
	{Key: "host", Type: accessor.Type{Kind: accessor.String}, Required: true},
	{Key: "port", Type: accessor.Type{Kind: accessor.Int32}},
	{Key: "labels", Type: accessor.Type{Kind: accessor.StringMap}},
	{Key: "since", Type: accessor.Type{Kind: accessor.Time, NullIsAbsent: true, EmptyIsAbsent: true}},
}

var thingSpec = accessor.KindSpec{
	Name:        "Thing",
	Versions:    []string{"v2", "v1"},
	LabelPrefix: "things.example.com/",
	Fields: []accessor.FieldSpec{
		stringField:     everywhere("String", accessor.Type{Kind: accessor.String}, "spec.string"),
		enumField:       everywhere("Enum", accessor.Type{Kind: accessor.String, Enum: []string{"A", "B"}}, "spec.enum"),
		boolField:       everywhere("Bool", accessor.Type{Kind: accessor.Bool}, "spec.bool"),
		int32Field:      everywhere("Int32", accessor.Type{Kind: accessor.Int32}, "spec.int32"),
		int64Field:      everywhere("Int64", accessor.Type{Kind: accessor.Int64}, "spec.int64"),
		timeField:       everywhere("Time", accessor.Type{Kind: accessor.Time}, "spec.time"),
		durationField:   everywhere("Duration", accessor.Type{Kind: accessor.Duration}, "spec.duration"),
		stringListField: everywhere("StringList", accessor.Type{Kind: accessor.StringList}, "spec.stringList"),
		stringMapField:  everywhere("StringMap", accessor.Type{Kind: accessor.StringMap}, "spec.stringMap"),
		objectField:     everywhere("Object", accessor.Type{Kind: accessor.Object, Members: endpointMembers}, "spec.object"),
		objectListField: everywhere("ObjectList", accessor.Type{Kind: accessor.ObjectList, Members: endpointMembers}, "spec.objectList"),
		tolerantField:   everywhere("Tolerant", accessor.Type{Kind: accessor.Time, NullIsAbsent: true, EmptyIsAbsent: true}, "spec.tolerant"),
		lenientField: {
			Name: "Lenient", Lenient: true, Informational: true, Paths: [][]string{{"status.lenient"}, {"status.lenient"}},
			Type: accessor.Type{Kind: accessor.ObjectList, Members: endpointMembers, SkipNonObjects: true},
		},
		placesField: everywhere("Places", accessor.Type{Kind: accessor.String}, "status.new.place", "status.place"),
		movedField: {
			Name: "Moved", Type: accessor.Type{Kind: accessor.Bool},
			Paths: [][]string{{"status.after.moved"}, {"status.moved"}},
		},
		newField:        {Name: "New", Type: accessor.Type{Kind: accessor.String}, Paths: [][]string{{"status.fresh"}, {}}},
		labelField:      {Name: "Label", Type: accessor.Type{Kind: accessor.String}, Label: "example.com/label"},
		annotationField: {Name: "Annotation", Type: accessor.Type{Kind: accessor.Duration}, Annotation: "example.com/annotation"},
		presenceField:   {Name: "Presence", Type: accessor.Type{Kind: accessor.Bool}, Annotation: "example.com/presence", Presence: true},
	},
}

var thing = accessor.NewKind(thingSpec)

func everywhere(name string, t accessor.Type, paths ...string) accessor.FieldSpec {
	return accessor.FieldSpec{Name: name, Type: t, Paths: [][]string{paths, paths}}
}

// parse makes an object as a client decodes it: numbers without fraction and exponent are int64.
func parse(tb testing.TB, source string) *unstructured.Unstructured {
	tb.Helper()
	var object map[string]any
	if err := json.Unmarshal([]byte(source), &object); err != nil {
		tb.Fatalf("test input %s: %v", source, err)
	}
	return &unstructured.Unstructured{Object: object}
}
