// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package exempt reads which rules a Machine is exempt from.
package exempt

import (
	"strings"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// Rules are those that a Machine is exempt from.
type Rules map[string]bool

// By returns the rules that a Machine with these annotations is exempt from.
func By(annotations map[string]string) Rules {
	value := annotations[clusterv1.SkipReferenceValidationAnnotation]
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
