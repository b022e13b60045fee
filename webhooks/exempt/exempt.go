// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package exempt reads which rules a Machine is exempt from.
package exempt

import "strings"

// Annotation on a Machine names the rules that do not apply to it: their IDs, separated by commas, or "all". It is for those
// rules that Cluster API does not have.
const Annotation = "machinist.dev/skip-reference-validation"

// Rules are those that a Machine is exempt from.
type Rules map[string]bool

// By returns the rules that the annotations name.
func By(annotations map[string]string) Rules {
	value := annotations[Annotation]
	if value == "" {
		return nil
	}
	rules := Rules{}
	for id := range strings.SplitSeq(value, ",") {
		rules[strings.TrimSpace(id)] = true
	}
	return rules
}

// Cover reports whether the rule is among them.
func (r Rules) Cover(id string) bool { return r["all"] || r[id] }
