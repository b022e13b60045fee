// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package exempt reads which rules a Machine is exempt from, and logs that they were skipped.
package exempt

import (
	"context"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/log"

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

// LogUse logs the IDs of the rules that were skipped because of the annotation, if there are any. They are in order; one that
// was skipped for several parts of a Machine is logged once.
func LogUse(ctx context.Context, ids []string) {
	if len(ids) > 0 {
		log.FromContext(ctx).Info("Rules of admission are skipped", "annotation", clusterv1.SkipReferenceValidationAnnotation, "rules", slices.Compact(ids))
	}
}
