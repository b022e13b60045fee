// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package accessor

import (
	"math"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The As functions turn a JSON value into a Go value, by the rules of the contract: no JSON type stands in for
// another, a number with a fraction or an exponent is no integer, and an integer must fit. They allocate nothing,
// except for a time with a zone other than UTC. On a mismatch they return the zero value and false.

// AsString accepts a JSON string.
func AsString(v any) (string, bool) {
	s, ok := v.(string)
	return s, ok
}

// AsBool accepts a JSON boolean.
func AsBool(v any) (bool, bool) {
	b, ok := v.(bool)
	return b, ok
}

// AsInt64 accepts a JSON integer, which unstructured objects hold as int64.
func AsInt64(v any) (int64, bool) {
	i, ok := v.(int64)
	return i, ok
}

// AsInt32 accepts a JSON integer between -2147483648 and 2147483647.
func AsInt32(v any) (int32, bool) {
	i, ok := v.(int64)
	if !ok || i < math.MinInt32 || i > math.MaxInt32 {
		return 0, false
	}
	return int32(i), true
}

// AsTime accepts a JSON string in RFC 3339 format. Like every decoder of metav1.Time it returns local time.
func AsTime(v any) (metav1.Time, bool) {
	s, ok := v.(string)
	if !ok {
		return metav1.Time{}, false
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return metav1.Time{}, false
	}
	return metav1.Time{Time: t.Local()}, true
}

// AsDuration accepts a JSON string such as 1h2m.
func AsDuration(v any) (metav1.Duration, bool) {
	s, ok := v.(string)
	if !ok {
		return metav1.Duration{}, false
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return metav1.Duration{}, false
	}
	return metav1.Duration{Duration: d}, true
}

// Or drops the second result of an As function. Generated conversions use it on values that have been checked, where
// false can only mean that an optional member is absent, and the zero value is what is wanted.
func Or[T any](v T, _ bool) T { return v }

// AsStringList copies a list of strings. Elements that are no strings are left out.
func AsStringList(v any) ([]string, bool) {
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	out := make([]string, 0, len(list))
	for _, item := range list {
		if s, ok := item.(string); ok {
			out = append(out, s)
		}
	}
	return out, true
}

// AsStringMap copies an object with string values. Entries with other values are left out.
func AsStringMap(v any) (map[string]string, bool) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, false
	}
	out := make(map[string]string, len(m))
	for key, item := range m {
		if s, ok := item.(string); ok {
			out[key] = s
		}
	}
	return out, true
}

// AsObject converts an object by a generated function.
func AsObject[T any](v any, convert func(map[string]any) T) (T, bool) {
	m, ok := v.(map[string]any)
	if !ok {
		var zero T
		return zero, false
	}
	return convert(m), true
}

// AsList converts a list of objects by a generated function. Elements that are no objects are left out.
func AsList[T any](v any, convert func(map[string]any) T) ([]T, bool) {
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	out := make([]T, 0, len(list))
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			out = append(out, convert(m))
		}
	}
	return out, true
}
