// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package facadegen

import (
	"fmt"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"unicode"
)

// templateFuncs turn parts of the model into Go source and Markdown.
var templateFuncs = template.FuncMap{
	"lower":       lowerFirst,
	"comment":     comment,
	"fieldSpec":   fieldSpec,
	"typeLiteral": typeLiteral,
	"valueType":   valueType,
	"readMethod":  readMethod,
	"source":      sourceText,
	"getter":      getter,
	"convert":     convert,
	"goType":      goType,
	"toJSON":      toJSON,
	"notEmpty":    notEmpty,
	"pathArgs":    pathArgs,

	"crdRules":    crdRulesText,
	"typeText":    typeText,
	"pathCells":   pathCells,
	"rules":       fieldRules,
	"memberRules": memberRules,
	"oneLine":     func(lines []string) string { return escapeCell(strings.Join(lines, " ")) },
}

func quote(s string) string { return strconv.Quote(s) }

func quoteAll(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = quote(s)
	}
	return strings.Join(quoted, ", ")
}

func comment(lines []string) string {
	return strings.TrimSpace(strings.ReplaceAll("// "+strings.Join(lines, "\n// "), "// \n", "//\n"))
}

// lowerFirst makes a Go name unexported: ProviderID becomes providerID, IPAddress ipAddress.
func lowerFirst(name string) string {
	runes := []rune(name)
	for i := range runes {
		lastOfRun := i > 0 && i+1 < len(runes) && unicode.IsLower(runes[i+1])
		if !unicode.IsUpper(runes[i]) || lastOfRun {
			break
		}
		runes[i] = unicode.ToLower(runes[i])
	}
	if lower := string(runes); !token.IsKeyword(lower) {
		return lower
	}
	return string(runes) + "_"
}

func typeLiteral(t Type) string {
	parts := []string{"Kind: accessor." + t.Kind}
	if t.Struct != "" {
		parts = append(parts, "Members: "+lowerFirst(t.Struct)+"Members")
	}
	if len(t.Enum) > 0 {
		parts = append(parts, "Enum: []string{"+quoteAll(t.Enum)+"}")
	}
	for _, option := range []struct {
		set  bool
		name string
	}{{t.NullIsAbsent, "NullIsAbsent"}, {t.EmptyIsAbsent, "EmptyIsAbsent"}, {t.SkipNonObjects, "SkipNonObjects"}} {
		if option.set {
			parts = append(parts, option.name+": true")
		}
	}
	return "accessor.Type{" + strings.Join(parts, ", ") + "}"
}

func fieldSpec(f Field) string {
	lines := []string{"Name: " + quote(f.Name), "Type: " + typeLiteral(f.Type)}
	switch {
	case f.Label != "":
		lines = append(lines, "Label: "+quote(f.Label))
	case f.Annotation != "":
		lines = append(lines, "Annotation: "+quote(f.Annotation))
	default:
		var paths strings.Builder
		for _, list := range f.Paths {
			paths.WriteString("{" + quoteAll(list) + "}, ")
		}
		lines = append(lines, "Paths: [][]string{"+strings.TrimSuffix(paths.String(), ", ")+"}")
	}
	for _, option := range []struct {
		set  bool
		name string
	}{{f.Presence, "Presence"}, {f.Required, "Required"}, {f.Lenient, "Lenient"}, {f.Informational, "Informational"}} {
		if option.set {
			lines = append(lines, option.name+": true")
		}
	}
	return "{\n" + strings.Join(lines, ",\n") + ",\n}"
}

// isScalar says whether wrapping converts the value; others are converted by the getter, because that allocates.
func isScalar(t Type) bool {
	return slices.Contains([]string{"String", "Bool", "Int32", "Int64", "Time", "Duration"}, t.Kind)
}

func valueType(f Field) string {
	switch {
	case f.Presence:
		return "bool"
	case isScalar(f.Type):
		return "accessor.Value[" + goType(f.Type, "") + "]"
	default:
		return "accessor.Value[any]"
	}
}

func readMethod(f Field) string {
	switch {
	case f.Presence:
		return "Present"
	case isScalar(f.Type):
		return f.Type.Kind
	default:
		return "Checked"
	}
}

// sourceText says where a field comes from, for the comment of its getter.
func sourceText(f Field) []string {
	var where string
	switch {
	case f.Label != "":
		where = "the label " + f.Label
	case f.Annotation != "":
		where = "the annotation " + f.Annotation
	default:
		var all []string
		for _, paths := range f.Paths {
			for _, path := range paths {
				if !slices.Contains(all, path) {
					all = append(all, path)
				}
			}
		}
		where = strings.Join(all, " or ")
	}
	switch {
	case f.Presence:
		return []string{"It is true if the object has " + where + "."}
	case f.Default != "":
		return []string{"It is read from " + where + "; the default is " + f.Default + "."}
	default:
		return []string{"It is read from " + where + "; the second result says whether there is a value."}
	}
}

// getter is the signature and body of a getter, after its name and parentheses.
func getter(f Field, kind, pkg string) string {
	typ, value := goType(f.Type, pkg), "w."+lowerFirst(f.Name)
	switch {
	case f.Presence:
		return "bool { return " + value + " }"
	case f.Default != "":
		return fmt.Sprintf("%s { return %s.Or(%s) }", typ, value, f.Default)
	case isScalar(f.Type):
		return fmt.Sprintf("(%s, bool) { return %s.Get() }", typ, value)
	case f.Lenient:
		usable := fmt.Sprintf("%[1]sKind.Usable(%[1]s%[2]sField, %[3]s)", lowerFirst(kind), f.Name, value)
		return fmt.Sprintf("(%s, bool) { return %s }", typ, convert(f.Type, usable))
	default:
		return fmt.Sprintf("(%s, bool) { return %s }", typ, convert(f.Type, value+".Or(nil)"))
	}
}

// convert is the call that turns a JSON value into a Go value and whether there is one.
func convert(t Type, value string) string {
	switch t.Kind {
	case "Object":
		return fmt.Sprintf("accessor.AsObject(%s, to%s)", value, t.Struct)
	case "ObjectList":
		return fmt.Sprintf("accessor.AsList(%s, to%s)", value, t.Struct)
	default:
		return fmt.Sprintf("accessor.As%s(%s)", t.Kind, value)
	}
}

func goType(t Type, pkg string) string {
	switch t.Kind {
	case "Time", "Duration":
		return "metav1." + t.Kind
	case "StringList":
		return "[]string"
	case "StringMap":
		return "map[string]string"
	case "Object":
		return pkg + "." + t.Struct
	case "ObjectList":
		return "[]" + pkg + "." + t.Struct
	default:
		return strings.ToLower(t.Kind)
	}
}

// toJSON is the expression that turns a Go value into a JSON value.
func toJSON(t Type, value string) string {
	switch t.Kind {
	case "Int32":
		return "int64(" + value + ")"
	case "Time":
		return value + ".UTC().Format(time.RFC3339)"
	case "Duration":
		return value + ".Duration.String()"
	case "StringList":
		return "stringList(" + value + ")"
	case "StringMap":
		return "stringMap(" + value + ")"
	case "Object":
		return fmt.Sprintf("from%s(%s)", t.Struct, value)
	case "ObjectList":
		return fmt.Sprintf("listOf(%s, from%s)", value, t.Struct)
	default:
		return value
	}
}

// notEmpty is the condition under which an optional member is written.
func notEmpty(t Type, value string) string {
	switch t.Kind {
	case "String":
		return value + ` != ""`
	case "Bool":
		return value
	case "Int32", "Int64":
		return value + " != 0"
	case "Time":
		return "!" + value + ".IsZero()"
	case "Duration":
		return value + ".Duration != 0"
	case "StringList", "StringMap", "ObjectList":
		return value + " != nil"
	default:
		return "!reflect.ValueOf(" + value + ").IsZero()"
	}
}

func pathArgs(path string) string { return quoteAll(strings.Split(path, ".")) }
