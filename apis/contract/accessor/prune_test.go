// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package accessor_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/machinist-dev/machinist/apis/contract/accessor"
)

func TestPrune(t *testing.T) {
	for name, tc := range map[string]struct{ source, want string }{
		"what the contract names, of all versions": {
			`{"apiVersion":"a/v1","kind":"K","spec":{"string":"x","other":1},"status":{"moved":true,"after":{"moved":false,"x":1},"big":{}},"data":{}}`,
			`{"apiVersion":"a/v1","kind":"K","spec":{"string":"x"},"status":{"moved":true,"after":{"moved":false}}}`,
		},
		"metadata": {
			`{"metadata":{"name":"n","namespace":"s","uid":"u","resourceVersion":"1","generation":2,
				"creationTimestamp":"2026-08-03T09:14:41Z","deletionTimestamp":"2026-08-03T09:14:41Z","deletionGracePeriodSeconds":0,
				"finalizers":["a","b"],"ownerReferences":[{"kind":"Machine","x":1}],"managedFields":[{}],"selfLink":"l","generateName":"g",
				"labels":{"example.com/label":"x","other":"y"},"annotations":{"example.com/presence":"","kubectl":"large"}}}`,
			`{"metadata":{"name":"n","namespace":"s","uid":"u","resourceVersion":"1","generation":2,
				"creationTimestamp":"2026-08-03T09:14:41Z","deletionTimestamp":"2026-08-03T09:14:41Z",
				"finalizers":["a","b"],"ownerReferences":[{"kind":"Machine","x":1}],
				"labels":{"example.com/label":"x"},"annotations":{"example.com/presence":""}}}`,
		},
		"known keys of objects": {
			`{"spec":{"object":{"host":"h","x":1},"objectList":[{"host":"h","x":1,"labels":{"any":"l"}},{"x":1}]}}`,
			`{"spec":{"object":{"host":"h"},"objectList":[{"host":"h","labels":{"any":"l"}},{}]}}`,
		},
		"whole lists and maps of strings": {
			`{"spec":{"stringList":["a"],"stringMap":{"a":"b"}}}`,
			`{"spec":{"stringList":["a"],"stringMap":{"a":"b"}}}`,
		},
		"values of the wrong type": {
			`{"spec":{"string":{"a":1},"bool":"true","int32":null,"object":[1],"objectList":{"a":1}},"status":{"lenient":[1,null,{"x":1}]}}`,
			`{"spec":{"string":{"a":1},"bool":"true","int32":null,"object":[1],"objectList":{"a":1}},"status":{"lenient":[1,null,{}]}}`,
		},
		"parents that are no objects": {
			`{"metadata":{"labels":3,"annotations":[]},"spec":"x","status":{"new":false,"after":[1]}}`,
			`{"metadata":{"labels":3,"annotations":[]},"spec":"x","status":{"new":false,"after":[1]}}`,
		},
		"parents that hold nothing go": {
			`{"metadata":{"labels":{"other":"y"},"annotations":{}},"spec":{},"status":{"after":{},"new":null}}`,
			`{}`,
		},
		"an object or list that is empty stays": {
			`{"spec":{"object":{},"objectList":[],"stringMap":{}}}`,
			`{"spec":{"object":{},"objectList":[],"stringMap":{}}}`,
		},
		"odd metadata": {`{"metadata":"x"}`, `{"metadata":"x"}`},
	} {
		t.Run(name, func(t *testing.T) {
			obj, want := parse(t, tc.source), parse(t, tc.want)
			untouched := obj.DeepCopy()
			old := obj.Object
			thing.Prune(obj)
			if diff := cmp.Diff(want.Object, obj.Object); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(untouched.Object, old); diff != "" {
				t.Errorf("the old tree was written to, -before +after:\n%s", diff)
			}
			again := obj.DeepCopy()
			thing.Prune(again)
			if diff := cmp.Diff(obj.Object, again.Object); diff != "" {
				t.Errorf("pruning again changed it, -once +twice:\n%s", diff)
			}
			if !thing.Equal(untouched, obj) || !thing.Equal(obj, untouched) {
				t.Error("pruning changed what the contract names")
			}
		})
	}
}

func TestPruneOfNothing(t *testing.T) {
	thing.Prune(nil)
	empty := &unstructured.Unstructured{}
	thing.Prune(empty)
	if empty.Object != nil {
		t.Errorf("pruning made something of nothing: %v", empty.Object)
	}
}

// A pruned object must not keep the memory of what was pruned: neither maps with room for entries that are gone, nor
// the key strings that the decoder made.
func TestPruneKeepsNoMapOfTheOldTree(t *testing.T) {
	obj := parse(t, `{"spec":{"string":"x","object":{"host":"h"}},"status":{"after":{"moved":true}}}`)
	old := obj.Object["spec"].(map[string]any)
	thing.Prune(obj)
	old["string"] = "changed in the old tree"
	old["object"].(map[string]any)["host"] = "changed in the old tree"
	got, _ := json.Marshal(obj.Object)
	if want := `{"spec":{"object":{"host":"h"},"string":"x"},"status":{"after":{"moved":true}}}`; string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestEqual(t *testing.T) {
	const base = `{"metadata":{"name":"n","uid":"u","resourceVersion":"1","generation":1,"finalizers":["f"],
		"labels":{"example.com/label":"x","other":"y"},"annotations":{"other":"z"},"ownerReferences":[{"uid":"o"}]},
		"spec":{"string":"x","int64":1,"object":{"host":"h","x":1},"objectList":[{"host":"h","x":1}],"stringMap":{"a":"b"},"foreign":1},
		"status":{"moved":true,"lenient":[1],"foreign":{"heartbeat":1}}}`
	set := func(value any, path ...string) func(map[string]any) {
		return func(object map[string]any) {
			if err := unstructured.SetNestedField(object, value, path...); err != nil {
				panic(err)
			}
		}
	}
	remove := func(path ...string) func(map[string]any) {
		return func(object map[string]any) { unstructured.RemoveNestedField(object, path...) }
	}
	element := func(key string, value any) func(map[string]any) {
		return func(object map[string]any) {
			object["spec"].(map[string]any)["objectList"].([]any)[0].(map[string]any)[key] = value
		}
	}
	for name, tc := range map[string]struct {
		change func(map[string]any)
		want   bool
	}{
		"nothing":                         {func(map[string]any) {}, true},
		"resourceVersion":                 {set("2", "metadata", "resourceVersion"), true},
		"generation":                      {set(int64(2), "metadata", "generation"), true},
		"finalizers":                      {set([]any{}, "metadata", "finalizers"), true},
		"managedFields":                   {set([]any{map[string]any{"x": "y"}}, "metadata", "managedFields"), true},
		"another label":                   {set("z", "metadata", "labels", "other"), true},
		"another annotation":              {remove("metadata", "annotations"), true},
		"a field of the provider's own":   {set(int64(2), "status", "foreign", "heartbeat"), true},
		"a key the contract lacks":        {set(int64(2), "spec", "object", "x"), true},
		"the same in an element":          {element("x", int64(2)), true},
		"a parent that held nothing":      {set(map[string]any{}, "status", "after"), true},
		"a parent that is null":           {set(nil, "status", "after"), true},
		"uid":                             {set("v", "metadata", "uid"), false},
		"deletionTimestamp":               {set("2026-08-03T09:14:41Z", "metadata", "deletionTimestamp"), false},
		"ownerReferences":                 {set([]any{map[string]any{"uid": "p"}}, "metadata", "ownerReferences"), false},
		"no ownerReferences":              {remove("metadata", "ownerReferences"), false},
		"a label of the contract":         {set("y", "metadata", "labels", "example.com/label"), false},
		"no labels":                       {remove("metadata", "labels"), false},
		"an annotation of the contract":   {set("", "metadata", "annotations", "example.com/presence"), false},
		"a string":                        {set("y", "spec", "string"), false},
		"a string removed":                {remove("spec", "string"), false},
		"a string to null":                {set(nil, "spec", "string"), false},
		"an integer to a float":           {set(float64(1), "spec", "int64"), false},
		"a member":                        {set("i", "spec", "object", "host"), false},
		"an object removed":               {remove("spec", "object"), false},
		"an object emptied":               {set(map[string]any{}, "spec", "object"), false},
		"an object to a string":           {set("x", "spec", "object"), false},
		"a member of an element":          {element("host", "i"), false},
		"an element more":                 {set([]any{map[string]any{"host": "h"}, map[string]any{}}, "spec", "objectList"), false},
		"a list emptied":                  {set([]any{}, "spec", "objectList"), false},
		"an element that is no object":    {set([]any{int64(2)}, "status", "lenient"), false},
		"a map entry":                     {set("c", "spec", "stringMap", "a"), false},
		"a field of another version":      {set(false, "status", "after", "moved"), false},
		"a parent that became a string":   {set("x", "status"), false},
		"a parent that was absent to one": {set("x", "status", "after"), false},
	} {
		t.Run(name, func(t *testing.T) {
			old, changed := parse(t, base), parse(t, base)
			tc.change(changed.Object)
			if got := thing.Equal(old, changed); got != tc.want {
				t.Errorf("Equal(old, changed) = %t", got)
			}
			if got := thing.Equal(changed, old); got != tc.want {
				t.Errorf("Equal(changed, old) = %t", got)
			}
		})
	}
}

func TestEqualOfNothing(t *testing.T) {
	some := parse(t, `{"spec":{"string":"x"}}`)
	if !thing.Equal(nil, nil) || thing.Equal(nil, some) || thing.Equal(some, nil) {
		t.Error("nil is equal to nil and to nothing else")
	}
	if !thing.Equal(&unstructured.Unstructured{}, parse(t, `{"x":1}`)) {
		t.Error("objects without contract fields differ")
	}
}

func TestPaths(t *testing.T) {
	var got []string
	for _, path := range thing.Paths() {
		got = append(got, path.String())
	}
	want := []string{
		"metadata.annotations[example.com/annotation]", "metadata.annotations[example.com/presence]",
		"metadata.labels[example.com/label]",
		"spec.bool", "spec.duration", "spec.enum", "spec.int32", "spec.int64", "spec.object", "spec.objectList",
		"spec.string", "spec.stringList", "spec.stringMap", "spec.time", "spec.tolerant",
		"status.after.moved", "status.fresh", "status.lenient", "status.moved", "status.new.place", "status.place",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	thing.Paths()[0][0] = "changed"
	if diff := cmp.Diff("metadata", thing.Paths()[0][0]); diff != "" {
		t.Errorf("a caller can change the paths:\n%s", diff)
	}
}

// The masks are unions over the contract versions. A field may be a string in one version and an object in another.
func TestMaskOfVersionsThatDisagree(t *testing.T) {
	kind := accessor.NewKind(accessor.KindSpec{
		Name: "Mixed", Versions: []string{"v2", "v1"},
		Fields: []accessor.FieldSpec{
			{Name: "Host", Type: accessor.Type{Kind: accessor.String}, Paths: [][]string{{"spec.endpoint.host"}, {}}},
			{Name: "Endpoint", Type: accessor.Type{Kind: accessor.String}, Paths: [][]string{{}, {"spec.endpoint"}}},
			{
				Name: "Domains", Paths: [][]string{{"status.domains"}, {}},
				Type: accessor.Type{Kind: accessor.ObjectList, Members: endpointMembers},
			},
			{
				Name: "OldDomains", Paths: [][]string{{}, {"status.domains"}},
				Type: accessor.Type{Kind: accessor.Object, Members: []accessor.Member{{Key: "a", Type: accessor.Type{Kind: accessor.Bool}}}},
			},
		},
	})
	for source, want := range map[string]string{
		`{"spec":{"endpoint":{"host":"h","x":1}}}`:     `{"spec":{"endpoint":{"host":"h","x":1}}}`,
		`{"spec":{"endpoint":"h"}}`:                    `{"spec":{"endpoint":"h"}}`,
		`{"status":{"domains":[{"host":"h","x":1}]}}`:  `{"status":{"domains":[{"host":"h"}]}}`,
		`{"status":{"domains":{"a":true,"host":"x"}}}`: `{"status":{"domains":{"a":true}}}`,
	} {
		obj := parse(t, source)
		kind.Prune(obj)
		if diff := cmp.Diff(parse(t, want).Object, obj.Object); diff != "" {
			t.Errorf("%s: -want +got:\n%s", source, diff)
		}
		if !kind.Equal(parse(t, source), obj) {
			t.Errorf("%s: pruning changed what the contract names", source)
		}
	}
}
