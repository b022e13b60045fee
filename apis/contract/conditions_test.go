// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/machinist-dev/machinist/apis/contract"
)

func TestConditions(t *testing.T) {
	const ready = `{"type":"Ready","status":"True"}`
	list := []contract.Condition{{Type: "Ready", Status: "True"}}
	bad := func(name, condition, wantError string) field {
		return field{name: name, source: `{"status":{"conditions":[` + ready + `,` + condition + `]}}`, want: absent{}, wantError: ".status.conditions[1]" + wantError}
	}
	rows := []field{
		{name: "absent", source: `{"status":{}}`, want: absent{}},
		{name: "empty", source: `{"status":{"conditions":[]}}`, want: []contract.Condition{}},
		{name: "first place", source: `{"status":{"v1beta2":{"conditions":[` + ready + `]},"conditions":[]}}`, want: list},
		{name: "first place empty", source: `{"status":{"v1beta2":{"conditions":[]},"conditions":[` + ready + `]}}`, want: []contract.Condition{}},
		{name: "second place", source: `{"status":{"v1beta2":{},"conditions":[` + ready + `]}}`, want: list},
		{
			name: "all keys", want: []contract.Condition{{
				Type: "Ready", Status: "False", Reason: "Down", Message: "m", ObservedGeneration: 7,
				LastTransitionTime: metav1.NewTime(time.Date(2026, 8, 3, 9, 14, 41, 0, time.UTC)),
			}},
			source: `{"status":{"conditions":[{"type":"Ready","status":"False","reason":"Down","message":"m","observedGeneration":7,
				"lastTransitionTime":"2026-08-03T09:14:41Z","severity":3,"other":{}}]}}`,
		},
		{name: "transition time null", source: `{"status":{"conditions":[{"type":"Ready","status":"True","lastTransitionTime":null}]}}`, want: list},
		{name: "transition time empty", source: `{"status":{"conditions":[{"type":"Ready","status":"True","lastTransitionTime":""}]}}`, want: list},
		{name: "element no object is skipped", source: `{"status":{"conditions":[1,` + ready + `,null]}}`, want: list},
		{name: "no list", source: `{"status":{"conditions":"x"}}`, want: absent{}, wantError: `.status.conditions: expected list of objects, found string "x"`},
		{name: "null", source: `{"status":{"conditions":null}}`, want: absent{}, wantError: `.status.conditions: expected list of objects, found null`},
		{
			name: "no list at the first place", source: `{"status":{"v1beta2":{"conditions":{}},"conditions":[` + ready + `]}}`, want: absent{},
			wantError: `.status.v1beta2.conditions: expected list of objects, found object`,
		},
		bad("type missing", `{"status":"True"}`, `.type: expected string, found nothing`),
		bad("type empty", `{"type":"","status":"True"}`, `.type: expected a string that is not empty, found string ""`),
		bad("type null", `{"type":null,"status":"True"}`, `.type: expected string, found null`),
		bad("status missing", `{"type":"A"}`, `.status: expected string, found nothing`),
		bad("status empty", `{"type":"A","status":""}`, `.status: expected a string that is not empty, found string ""`),
		bad("status unknown", `{"type":"A","status":"true"}`, `.status: expected one of True, False, Unknown, found string "true"`),
		bad("status bool", `{"type":"A","status":true}`, `.status: expected string, found boolean true`),
		bad("reason number", `{"type":"A","status":"True","reason":1}`, `.reason: expected string, found number 1`),
		bad("message null", `{"type":"A","status":"True","message":null}`, `.message: expected string, found null`),
		bad("transition time", `{"type":"A","status":"True","lastTransitionTime":"now"}`, `.lastTransitionTime: expected RFC 3339 time, found string "now"`),
		bad("observed generation", `{"type":"A","status":"True","observedGeneration":"1"}`, `.observedGeneration: expected integer, found string "1"`),
	}
	for _, row := range rows {
		row.check(t, "Conditions", wrapInfraMachine)
		row.check(t, "Conditions", wrapBootstrapConfig)
	}
}

func TestDeprecatedConditions(t *testing.T) {
	const ready = `{"type":"Ready","status":"False","severity":"Error","reason":"R","message":"m","lastTransitionTime":"2026-08-03T09:14:41Z"}`
	list := []contract.DeprecatedCondition{{
		Type: "Ready", Status: "False", Severity: "Error", Reason: "R", Message: "m",
		LastTransitionTime: metav1.NewTime(time.Date(2026, 8, 3, 9, 14, 41, 0, time.UTC)),
	}}
	lenient := func(name, conditions string) field {
		return field{name: name, source: `{"status":{"conditions":` + conditions + `}}`, want: absent{}}
	}
	rows := []field{
		{name: "absent", source: `{}`, want: absent{}},
		{name: "first place", source: `{"status":{"deprecated":{"v1beta1":{"conditions":[` + ready + `]}},"conditions":[]}}`, want: list},
		{name: "second place", source: `{"status":{"conditions":[` + ready + `]}}`, want: list},
		{name: "metav1 style", source: `{"status":{"conditions":[{"type":"A","status":"True","observedGeneration":1}]}}`, want: []contract.DeprecatedCondition{{Type: "A", Status: "True"}}},
		{name: "odd contents", source: `{"status":{"conditions":[{"status":"maybe"},{}]}}`, want: []contract.DeprecatedCondition{{Status: "maybe"}, {}}},
		{name: "nulls", source: `{"status":{"conditions":[{"type":"A","reason":null,"lastTransitionTime":null}]}}`, want: []contract.DeprecatedCondition{{Type: "A"}}},
		{
			name: "first place undecodable", want: absent{},
			source: `{"status":{"deprecated":{"v1beta1":{"conditions":3}},"conditions":[` + ready + `]}}`,
		},
		{name: "first place out of reach", source: `{"status":{"deprecated":3,"conditions":[` + ready + `]}}`, want: absent{}},
		lenient("no list", `"x"`),
		lenient("element no object", `[1]`),
		lenient("severity number", `[{"type":"A","severity":1}]`),
		lenient("transition time empty", `[{"type":"A","lastTransitionTime":""}]`),
	}
	for _, row := range rows {
		row.check(t, "DeprecatedConditions", wrapInfraMachine)
		row.check(t, "DeprecatedConditions", wrapBootstrapConfig)
	}
}
