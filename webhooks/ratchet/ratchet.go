// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ratchet lets an object that breaks a rule already be changed elsewhere.
package ratchet

import (
	"reflect"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// position is the place of an entry in a list.
var position = regexp.MustCompile(`\[\d+\]`)

// Added returns the errors that an update brings in, in their order: those of the object as it is to be, without one for
// each of the stored object. Two errors are the same if rule (type and origin), field and value are; the place in a list
// does not matter, since removing an entry moves the others, nor does the text, which may differ from call to call.
// The slice errs is used up.
func Added(errs, stored field.ErrorList) field.ErrorList {
	stored = slices.Clone(stored)
	return slices.DeleteFunc(errs, func(err *field.Error) bool {
		i := slices.IndexFunc(stored, func(old *field.Error) bool { return same(err, old) })
		if i >= 0 {
			stored = slices.Delete(stored, i, i+1)
		}
		return i >= 0
	})
}

func same(a, b *field.Error) bool {
	return a.Type == b.Type && a.Origin == b.Origin &&
		position.ReplaceAllString(a.Field, "[]") == position.ReplaceAllString(b.Field, "[]") &&
		reflect.DeepEqual(a.BadValue, b.BadValue)
}
