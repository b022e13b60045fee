// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package facadegen

import "strings"

func crdRulesText(k Kind) string {
	var rules []string
	if k.Scope != "" {
		rules = append(rules, "has the scope "+k.Scope)
	}
	if k.StatusSubresource {
		rules = append(rules, "has the status subresource")
	}
	if k.PluralName {
		rules = append(rules, "is named `<plural of the lower-case kind>.<group>`")
	}
	if len(rules) < 2 {
		return strings.Join(rules, "")
	}
	last := len(rules) - 1
	return strings.Join(rules[:last], ", ") + " and " + rules[last]
}

func typeText(t Type) string {
	switch t.Kind {
	case "Bool":
		return "boolean"
	case "Int32":
		return "integer (32 bits)"
	case "Int64":
		return "integer"
	case "Time":
		return "string, RFC 3339 time"
	case "Duration":
		return "string, duration"
	case "StringList":
		return "list of strings"
	case "StringMap":
		return "object with string values"
	case "Object":
		return structLink(t.Struct)
	case "ObjectList":
		return "list of " + structLink(t.Struct)
	default:
		return strings.ToLower(t.Kind)
	}
}

func structLink(name string) string { return "[" + name + "](#" + strings.ToLower(name) + ")" }

// pathCells are the places of a field, per contract version. Where there are several, the one that is written is
// named too, unless it is the first.
func pathCells(f Field, c *Contract) []string {
	cells := make([]string, len(c.Versions))
	for version := range c.Versions {
		switch {
		case f.Label != "":
			cells[version] = "label `" + f.Label + "`"
		case f.Annotation != "":
			cells[version] = "annotation `" + f.Annotation + "`"
		case len(f.Paths[version]) == 0:
			cells[version] = "–"
		default:
			cells[version] = "`" + strings.Join(f.Paths[version], "`, else `") + "`"
			if home := f.Home[version]; home != f.Paths[version][0] {
				cells[version] += "; written to `" + home + "`"
			}
		}
	}
	return cells
}

func fieldRules(f Field) string {
	var rules []string
	if f.Required {
		rules = append(rules, "required")
	}
	if f.Deprecated {
		rules = append(rules, "deprecated")
	}
	if f.Default != "" {
		rules = append(rules, "default `"+f.Default+"`")
	}
	if f.Presence {
		rules = append(rules, "true if present")
	}
	if f.Lenient {
		rules = append(rules, "a wrong type reads as absent")
	}
	if f.Informational {
		rules = append(rules, "informational")
	}
	return escapeCell(strings.Join(append(rules, typeRules(f.Type)...), "; "))
}

func memberRules(m Member) string {
	var rules []string
	if m.Required {
		rules = append(rules, "required")
	}
	return escapeCell(strings.Join(append(rules, typeRules(m.Type)...), "; "))
}

func typeRules(t Type) []string {
	var rules []string
	if len(t.Enum) > 0 {
		rules = append(rules, "one of `"+strings.Join(t.Enum, "`, `")+"`")
	}
	if t.NullIsAbsent {
		rules = append(rules, "null reads as absent")
	}
	if t.EmptyIsAbsent {
		rules = append(rules, "empty reads as absent")
	}
	if t.SkipNonObjects {
		rules = append(rules, "elements that are no objects are skipped")
	}
	return rules
}

func escapeCell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
