// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type schemaException struct {
	kind   string // empty for every kind
	what   difference
	reason string
}

func (e schemaException) covers(kind string, found difference) bool {
	return (e.kind == "" || e.kind == kind) && e.what.path == found.path && e.what.side == found.side
}

// schemaExceptions are the differences between our CustomResourceDefinitions and those of Cluster API.
var schemaExceptions = []schemaException{
	{
		what:   difference{path: "metadata.annotations.controller-gen.kubebuilder.io/version", side: bothSides},
		reason: "the version of the generator, which has no effect on what is served",
	},
	{
		kind:   "Machine",
		what:   difference{path: "spec.versions.v1beta1.served", side: bothSides},
		reason: "it takes a webhook, which not every installation has; config/crd/patches serves it",
	},
	{
		kind:   "Cluster",
		what:   difference{path: "spec.versions.v1beta1.served", side: bothSides},
		reason: "it takes a webhook, which not every installation has; config/crd/patches serves it",
	},
	{
		kind: "Machine",
		what: difference{
			path: "spec.versions.v1beta1.schema.openAPIV3Schema.properties.status.properties.nodeInfo.properties.runningInUserNamespace",
			side: oursOnly,
		},
		reason: "a field of core/v1 NodeSystemInfo that is newer than the Kubernetes release Cluster API was generated with",
	},
	{
		kind: "Machine",
		what: difference{
			path: "spec.versions.v1beta2.schema.openAPIV3Schema.properties.status.properties.nodeInfo.properties.runningInUserNamespace",
			side: oursOnly,
		},
		reason: "a field of core/v1 NodeSystemInfo that is newer than the Kubernetes release Cluster API was generated with",
	},
	{
		kind:   "Cluster",
		what:   difference{path: topology + ".properties", side: theirsOnly},
		reason: "we carry the topology through without looking at it",
	},
	{
		kind:   "Cluster",
		what:   difference{path: topology + ".required", side: theirsOnly},
		reason: "we carry the topology through without looking at it",
	},
	{
		kind:   "Cluster",
		what:   difference{path: topology + ".x-kubernetes-preserve-unknown-fields", side: oursOnly},
		reason: "we carry the topology through without looking at it",
	},
	{
		kind:   "Cluster",
		what:   difference{path: topologyV1Beta1 + ".properties", side: theirsOnly},
		reason: "we check nothing of the topology but what its conversion needs",
	},
	{
		kind:   "Cluster",
		what:   difference{path: topologyV1Beta1 + ".required", side: theirsOnly},
		reason: "we check nothing of the topology but what its conversion needs",
	},
	{
		kind:   "Cluster",
		what:   difference{path: topologyV1Beta1 + ".x-kubernetes-preserve-unknown-fields", side: oursOnly},
		reason: "we check nothing of the topology but what its conversion needs",
	},
}

const (
	topology        = "spec.versions.v1beta2.schema.openAPIV3Schema.properties.spec.properties.topology"
	topologyV1Beta1 = "spec.versions.v1beta1.schema.openAPIV3Schema.properties.spec.properties.topology"
)

// TestSchemas compares our CustomResourceDefinitions with those of Cluster API, value by value: names, scope, versions,
// subresources, columns, and of the schemas everything but the descriptions.
func TestSchemas(t *testing.T) {
	used := map[string]map[int]bool{}
	for kind := range crdFiles {
		used[kind] = map[int]bool{}
		t.Run(kind, func(t *testing.T) {
			for _, found := range differences("", ourCRD(t, kind), theirCRD(t, kind)) {
				i := slices.IndexFunc(schemaExceptions, func(e schemaException) bool { return e.covers(kind, found) })
				if i < 0 {
					t.Errorf("not in schemaExceptions: %s", found)
				}
				used[kind][i] = true
			}
		})
	}
	for i, exception := range schemaExceptions {
		for kind := range crdFiles {
			if exception.covers(kind, exception.what) && !used[kind][i] {
				t.Errorf("schemaExceptions[%d] matches no difference of %s: %s", i, kind, exception.what.path)
			}
		}
	}
}

type side string

const (
	oursOnly   side = "only ours"
	theirsOnly side = "only theirs"
	bothSides  side = "both, with different values"
)

// difference is a place where two documents differ, and how.
type difference struct {
	path         string
	side         side
	ours, theirs any
}

func (d difference) String() string {
	return fmt.Sprintf("%s: %s: ours %v, theirs %v", d.path, d.side, d.ours, d.theirs)
}

// differences compares two values of a CustomResourceDefinition. Descriptions don't count. Versions are compared by
// name, since one side may have more of them; all other lists element by element.
func differences(path string, ours, theirs any) []difference {
	switch ours := ours.(type) {
	case map[string]any:
		if theirs, ok := theirs.(map[string]any); ok {
			return objectDifferences(path, ours, theirs)
		}
	case []any:
		theirs, ok := theirs.([]any)
		switch {
		case ok && path == "spec.versions":
			return objectDifferences(path, byName(ours), byName(theirs))
		case ok && len(ours) == len(theirs):
			var found []difference
			for i := range ours {
				found = append(found, differences(fmt.Sprintf("%s[%d]", path, i), ours[i], theirs[i])...)
			}
			return found
		}
	}
	if reflect.DeepEqual(ours, theirs) {
		return nil
	}
	return []difference{{path: path, side: bothSides, ours: ours, theirs: theirs}}
}

func objectDifferences(path string, ours, theirs map[string]any) []difference {
	names := maps.Clone(ours)
	maps.Copy(names, theirs)
	var found []difference
	for _, name := range slices.Sorted(maps.Keys(names)) {
		ourValue, isOurs := ours[name]
		theirValue, isTheirs := theirs[name]
		memberPath := name
		if path != "" {
			memberPath = path + "." + name
		}
		switch {
		case isDescription(name, ourValue) || isDescription(name, theirValue):
		case !isTheirs:
			found = append(found, difference{path: memberPath, side: oursOnly, ours: ourValue})
		case !isOurs:
			found = append(found, difference{path: memberPath, side: theirsOnly, theirs: theirValue})
		default:
			found = append(found, differences(memberPath, ourValue, theirValue)...)
		}
	}
	return found
}

// isDescription tells a description from a property of that name, whose value would be a schema.
func isDescription(name string, value any) bool {
	_, isText := value.(string)
	return name == "description" && isText
}

// TestDifferences makes sure that TestSchemas sees what it is there to see.
func TestDifferences(t *testing.T) {
	object := func(member string, value any) map[string]any { return map[string]any{"type": "object", member: value} }
	for name, test := range map[string]struct {
		ours, theirs any
		want         []difference
	}{
		"equal":               {ours: object("maxLength", 63), theirs: object("maxLength", 63)},
		"description":         {ours: object("description", "a"), theirs: object("description", "b")},
		"missing description": {ours: object("description", "a"), theirs: map[string]any{"type": "object"}},
		"value": {
			ours: object("maxLength", 63), theirs: object("maxLength", 64),
			want: []difference{{path: "x.maxLength", side: bothSides, ours: 63, theirs: 64}},
		},
		"type of a value": {
			ours: object("default", "1"), theirs: object("default", 1),
			want: []difference{{path: "x.default", side: bothSides, ours: "1", theirs: 1}},
		},
		"missing here": {
			ours: map[string]any{"type": "object"}, theirs: object("minProperties", 1),
			want: []difference{{path: "x.minProperties", side: theirsOnly, theirs: 1}},
		},
		"missing there": {
			ours: object("minProperties", 1), theirs: map[string]any{"type": "object"},
			want: []difference{{path: "x.minProperties", side: oursOnly, ours: 1}},
		},
		"property named description": {
			ours: object("description", object("maxLength", 1)), theirs: object("description", object("maxLength", 2)),
			want: []difference{{path: "x.description.maxLength", side: bothSides, ours: 1, theirs: 2}},
		},
		"order": {
			ours: object("enum", []any{"A", "B"}), theirs: object("enum", []any{"B", "A"}),
			want: []difference{
				{path: "x.enum[0]", side: bothSides, ours: "A", theirs: "B"},
				{path: "x.enum[1]", side: bothSides, ours: "B", theirs: "A"},
			},
		},
		"length": {
			ours: object("required", []any{"spec"}), theirs: object("required", []any{"metadata", "spec"}),
			want: []difference{{path: "x.required", side: bothSides, ours: []any{"spec"}, theirs: []any{"metadata", "spec"}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := differences("x", test.ours, test.theirs)
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(difference{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
