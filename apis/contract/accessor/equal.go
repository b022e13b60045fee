// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package accessor

import (
	"maps"
	"reflect"
	"slices"
)

// jsonEqual compares two JSON values. Values of other Go types, which unstructured objects must not hold, are compared
// as they are.
func jsonEqual(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, isObject := b.(map[string]any)
		return isObject && (a == nil) == (b == nil) && maps.EqualFunc(a, b, jsonEqual)
	case []any:
		b, isList := b.([]any)
		return isList && (a == nil) == (b == nil) && slices.EqualFunc(a, b, jsonEqual)
	case nil, string, bool, int64, float64:
		return a == b
	default:
		return reflect.DeepEqual(a, b)
	}
}

// isNothing says whether a value on the way to a contract field holds nothing: null or an empty object.
func isNothing(v any) bool {
	if v == nil {
		return true
	}
	object, isObject := v.(map[string]any)
	return isObject && len(object) == 0
}
