// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package facadegen

import (
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/markers"
)

// markerPrefix is what all markers of this generator begin with.
const markerPrefix = "contract:"

// The markers, by their names.
const (
	markerVersions       = markerPrefix + "versions"
	markerLabelPrefix    = markerPrefix + "labelPrefix"
	markerKind           = markerPrefix + "kind"
	markerCRD            = markerPrefix + "crd"
	markerPath           = markerPrefix + "path"
	markerHome           = markerPrefix + "home"
	markerLabel          = markerPrefix + "label"
	markerAnnotation     = markerPrefix + "annotation"
	markerPresence       = markerPrefix + "presence"
	markerWriter         = markerPrefix + "writer"
	markerDefault        = markerPrefix + "default"
	markerRequired       = markerPrefix + "required"
	markerDeprecated     = markerPrefix + "deprecated"
	markerLenient        = markerPrefix + "lenient"
	markerInformational  = markerPrefix + "informational"
	markerSharesPathWith = markerPrefix + "sharesPathWith"
	markerSkipNonObjects = markerPrefix + "skipNonObjects"
	markerAbsentIf       = markerPrefix + "absentIf"
	markerEnum           = markerPrefix + "enum"
)

// crdRules is the value of the marker contract:crd.
type crdRules struct {
	Scope             string `marker:",optional"`
	StatusSubresource bool   `marker:",optional"`
	PluralName        bool   `marker:",optional"`
}

// flag is the value of a marker without arguments.
type flag struct{}

// marker is one entry of the marker list.
type marker struct {
	name    string
	target  markers.TargetType
	value   any
	summary string
	details string
	// versioned markers may be given once per contract version, as +name:version=value.
	versioned bool
	// argument shows what comes after the name.
	argument string
	fields   []argumentHelp
}

type argumentHelp struct{ name, summary string }

// markerList holds every marker there is. What is not in it is an error in a contract.
var markerList = []marker{
	{
		name: markerVersions, target: markers.DescribesType, value: []string(nil), argument: "=<version>;<version>…",
		summary: "lists the contract versions, newest first.",
		details: "It stands on a string type, which becomes the type of contract versions. For each version the package has a constant of that type.",
	},
	{
		name: markerLabelPrefix, target: markers.DescribesType, value: "", argument: "=<prefix>",
		summary: "is the prefix of the labels by which a CRD declares contract versions.",
		details: "It stands beside versions. The label is the prefix followed by the contract version, its value lists the API versions of the CRD that implement it, joined by underscores.",
	},
	{
		name: markerKind, target: markers.DescribesType, value: flag{},
		summary: "makes a struct a contract kind, and each of its fields a promise.",
	},
	{
		name: markerCRD, target: markers.DescribesType, value: crdRules{}, argument: ":scope=<scope>,statusSubresource=<bool>,pluralName=<bool>",
		summary: "says what a CRD of the kind must be like beyond its fields.",
		fields: []argumentHelp{
			{"scope", "is Namespaced or Cluster; without it either will do."},
			{"statusSubresource", "demands the status subresource."},
			{"pluralName", "demands the name <plural of the lower-case kind>.<group>."},
		},
	},
	{
		name: markerPath, target: markers.DescribesField, value: markers.RawArguments(nil), versioned: true, argument: "[:<version>]=<path>[;<path>…]",
		summary: "says where the field is in the object.",
		details: "+contract:path=spec.a for all contract versions, +contract:path:v1=spec.a for one; the latter wins. Several places are separated by semicolons and read in that order; the first one with a value counts. A version that doesn't have the field gets a dash.",
	},
	{
		name: markerHome, target: markers.DescribesField, value: markers.RawArguments(nil), versioned: true, argument: "[:<version>]=<path>",
		summary: "says which of several places a provider writes, if it isn't the first.",
		details: "Setters of the test package write there. It takes a version like path.",
	},
	{
		name: markerLabel, target: markers.DescribesField, value: "", argument: "=<key>",
		summary: "says that the field is the value of this label, whatever the contract version.",
	},
	{
		name: markerAnnotation, target: markers.DescribesField, value: "", argument: "=<key>",
		summary: "says that the field is the value of this annotation, whatever the contract version.",
	},
	{
		name: markerPresence, target: markers.DescribesField, value: flag{},
		summary: "makes a boolean field say whether the label or annotation exists, whatever its value.",
	},
	{
		name: markerWriter, target: markers.DescribesField, value: markers.RawArguments(nil), argument: "=<text>",
		summary: "says who sets the field, for the documentation.",
	},
	{
		name: markerDefault, target: markers.DescribesField, value: markers.RawArguments(nil), argument: "=<value>",
		summary: "is the value of the field if it is absent or unusable; its getter then returns only a value.",
		details: "For fields of type string, bool, int32 and int64. A string may be written without quotes, but the empty one needs them.",
	},
	{
		name: markerRequired, target: markers.DescribesField, value: flag{},
		summary: "demands that the schema of a CRD has the field; on a member of a struct, that an object has it, and if it is a string, not an empty one.",
	},
	{
		name: markerDeprecated, target: markers.DescribesField, value: flag{},
		summary: "says in the documentation that providers should stop writing the field.",
	},
	{
		name: markerLenient, target: markers.DescribesField, value: flag{},
		summary: "reads a value of the wrong type as no value, without an error.",
	},
	{
		name: markerInformational, target: markers.DescribesField, value: flag{},
		summary: "says that the field only shows something to people: a change of it may reach readers later than others.",
	},
	{
		name: markerSharesPathWith, target: markers.DescribesField, value: []string(nil), argument: "=<field>[;<field>…]",
		summary: "names other fields that are read from one of the same places on purpose.",
		details: "Without it, two fields at one place are an error. It stands on one of the two.",
	},
	{
		name: markerSkipNonObjects, target: markers.DescribesField, value: flag{},
		summary: "ignores elements of a list of structs that are no objects; otherwise they are an error.",
	},
	{
		name: markerAbsentIf, target: markers.DescribesField, value: []string(nil), argument: "=null[;empty]",
		summary: "lists values that stand for no value: null, empty (an empty string).",
	},
	{
		name: markerEnum, target: markers.DescribesField, value: []string(nil), argument: "=<value>;<value>…",
		summary: "lists the values that a string may have.",
	},
}

// registerMarkers adds the marker list, with its help, to a registry.
func registerMarkers(into *markers.Registry) error {
	for _, m := range markerList {
		definition, err := markers.MakeDefinition(m.name, m.target, m.value)
		if err != nil {
			return err
		}
		if err := into.Register(definition); err != nil {
			return err
		}
		into.AddHelp(definition, &markers.DefinitionHelp{
			Category:     "contract",
			DetailedHelp: markers.DetailedHelp{Summary: m.summary, Details: m.details},
		})
	}
	return nil
}

// lookupMarker finds the marker of a comment such as "+contract:path:v1=spec.a" and cuts off the version.
func lookupMarker(text string, target markers.TargetType) (m *marker, version string) {
	name, _, _ := strings.Cut(strings.TrimPrefix(text, "+"), "=")
	for i := range markerList {
		m := &markerList[i]
		if m.target != target {
			continue
		}
		if name == m.name || (m.name == markerCRD && strings.HasPrefix(name, m.name+":")) {
			return m, ""
		}
		if rest, ok := strings.CutPrefix(name, m.name+":"); ok && m.versioned {
			return m, rest
		}
	}
	return nil, ""
}

// DescribeMarkers prints the markers of contract packages: at level 1 what they are for, from level 2 with their
// arguments, from level 3 with details.
func DescribeMarkers(out io.Writer, level int) error {
	var text strings.Builder
	for _, target := range []markers.TargetType{markers.DescribesType, markers.DescribesField} {
		fmt.Fprintf(&text, "On a %s:\n\n", target)
		for _, m := range markerList {
			if m.target != target {
				continue
			}
			fmt.Fprintf(&text, "  +%s%s\n      %s\n", m.name, m.argument, m.summary)
			for _, field := range m.fields {
				if level > 1 {
					fmt.Fprintf(&text, "      %s %s\n", field.name, field.summary)
				}
			}
			if level > 2 && m.details != "" {
				fmt.Fprintf(&text, "      %s\n", m.details)
			}
			text.WriteString("\n")
		}
	}
	_, err := io.WriteString(out, text.String())
	return err
}
