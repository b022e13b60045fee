// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package crdcheck

import (
	"fmt"
	"strings"

	"github.com/machinist-dev/machinist/apis/contract/accessor"
)

// schema is a node of an OpenAPI v3 schema.
type schema struct{ node map[string]any }

// found says whether a schema has a path.
type found int

const (
	// nowhere: the schema prunes a value there.
	nowhere found = iota
	// somewhere: the schema describes the value.
	somewhere
	// unknown: the schema keeps a value there without describing it.
	unknown
)

// at follows a path. Below something that is no object every path is nowhere.
func (s schema) at(path accessor.Path) (schema, found) {
	for _, key := range path {
		next, place := s.property(key)
		if place != somewhere {
			return schema{}, place
		}
		s = next
	}
	return s, somewhere
}

func (s schema) property(key string) (schema, found) {
	if property, exists := object(s.node["properties"])[key]; exists {
		return schema{object(property)}, somewhere
	}
	switch additional := s.node["additionalProperties"].(type) {
	case map[string]any:
		return schema{additional}, somewhere
	case bool:
		if additional {
			return schema{}, unknown
		}
	}
	if preserves, _ := s.node["x-kubernetes-preserve-unknown-fields"].(bool); preserves {
		return schema{}, unknown
	}
	return schema{}, nowhere
}

// hint says where a missing field is, if it is in the other half of the object.
func (s schema) hint(dotted string) string {
	for _, halves := range [][2]string{{"spec.", "status."}, {"status.", "spec."}} {
		if rest, ok := strings.CutPrefix(dotted, halves[0]); ok {
			if _, place := s.at(accessor.ParsePath(halves[1] + rest)); place == somewhere {
				return " (it is at " + halves[1] + rest + ")"
			}
		}
	}
	return ""
}

// mismatch is a difference between a schema and the type that a contract asks for.
type mismatch struct {
	code       Code
	path, text string
}

var jsonTypes = map[accessor.TypeKind]string{
	accessor.String: "string", accessor.Time: "string", accessor.Duration: "string",
	accessor.Bool: "boolean", accessor.Int32: "integer", accessor.Int64: "integer",
	accessor.StringList: "array", accessor.ObjectList: "array",
	accessor.StringMap: "object", accessor.Object: "object",
}

func (s schema) mismatches(place found, path string, t *accessor.Type) []mismatch {
	if place != somewhere {
		return nil
	}
	declared, want := s.typeName(), jsonTypes[t.Kind]
	if declared != "" && declared != want {
		return []mismatch{{FieldType, path, fmt.Sprintf("%s has type %s, expected %s", path, declared, want)}}
	}
	switch t.Kind {
	case accessor.Object:
		return s.memberMismatches(path, t.Members)
	case accessor.ObjectList:
		items := schema{object(s.node["items"])}
		if declared := items.typeName(); declared != "" && declared != "object" {
			return []mismatch{{FieldType, path + "[]", fmt.Sprintf("%s[] has type %s, expected object", path, declared)}}
		}
		return items.memberMismatches(path+"[]", t.Members)
	case accessor.StringList:
		return schema{object(s.node["items"])}.mismatches(somewhere, path+"[]", &accessor.Type{Kind: accessor.String})
	case accessor.StringMap:
		return schema{object(s.node["additionalProperties"])}.mismatches(somewhere, path+"{}", &accessor.Type{Kind: accessor.String})
	default:
		return nil
	}
}

func (s schema) memberMismatches(path string, members []accessor.Member) []mismatch {
	var all []mismatch
	for i := range members {
		member := &members[i]
		memberPath := path + "." + member.Key
		property, place := s.property(member.Key)
		if member.Required && place == nowhere && s.node != nil {
			all = append(all, mismatch{FieldMissing, memberPath, memberPath + " is not in the schema"})
		}
		all = append(all, property.mismatches(place, memberPath, &member.Type)...)
	}
	return all
}

// typeName is the declared JSON type, or "" if any type will do.
func (s schema) typeName() string {
	if intOrString, _ := s.node["x-kubernetes-int-or-string"].(bool); intOrString {
		return "integer or string"
	}
	return text(s.node["type"])
}
