// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package references

import "strings"

// SkipAnnotation on a Machine names the rules that do not apply to it: their IDs, separated by commas, or "all".
const SkipAnnotation = "machinist.dev/skip-reference-validation"

// exceptions are the rules that a Machine is exempt from.
type exceptions map[string]bool

func exceptionsOf(s subject) exceptions {
	value := s.Annotations[SkipAnnotation]
	if value == "" {
		return nil
	}
	e := exceptions{}
	for id := range strings.SplitSeq(value, ",") {
		e[strings.TrimSpace(id)] = true
	}
	return e
}

func (e exceptions) cover(r *rule) bool {
	return e["all"] || e[r.id]
}
