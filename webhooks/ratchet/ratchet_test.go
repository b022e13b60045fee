// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package ratchet_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/machinist-dev/machinist/webhooks/ratchet"
)

func TestAdded(t *testing.T) {
	list := field.NewPath("spec", "list")
	at := func(i int, value any) *field.Error {
		return field.Invalid(list.Index(i).Child("key"), value, "is wrong").WithOrigin("X1")
	}
	for name, test := range map[string]struct{ errs, stored, added field.ErrorList }{
		"nothing":                        {},
		"on creation":                    {errs: field.ErrorList{at(0, "a")}, added: field.ErrorList{at(0, "a")}},
		"unchanged":                      {errs: field.ErrorList{at(0, "a")}, stored: field.ErrorList{at(0, "a")}},
		"corrected":                      {stored: field.ErrorList{at(0, "a")}},
		"moved within the list":          {errs: field.ErrorList{at(0, "a")}, stored: field.ErrorList{at(12, "a")}},
		"another value":                  {errs: field.ErrorList{at(0, "b")}, stored: field.ErrorList{at(0, "a")}, added: field.ErrorList{at(0, "b")}},
		"one more of the same":           {errs: field.ErrorList{at(0, "a"), at(1, "a")}, stored: field.ErrorList{at(0, "a")}, added: field.ErrorList{at(1, "a")}},
		"others beside it, in order":     {errs: field.ErrorList{at(0, "c"), at(1, "a"), at(2, "b")}, stored: field.ErrorList{at(0, "a")}, added: field.ErrorList{at(0, "c"), at(2, "b")}},
		"values that are equal by depth": {errs: field.ErrorList{at(0, &[]string{"a"})}, stored: field.ErrorList{at(1, &[]string{"a"})}},
		"another text": {
			errs:   field.ErrorList{field.Invalid(list, "a", "one says")},
			stored: field.ErrorList{field.Invalid(list, "a", "the other says")},
		},
		"another rule": {
			errs:   field.ErrorList{field.Invalid(list, "a", "is wrong").WithOrigin("X1")},
			stored: field.ErrorList{field.Invalid(list, "a", "is wrong").WithOrigin("X2")},
			added:  field.ErrorList{field.Invalid(list, "a", "is wrong").WithOrigin("X1")},
		},
		"another field": {
			errs:   field.ErrorList{field.Invalid(list, "a", "is wrong")},
			stored: field.ErrorList{field.Invalid(list.Child("other"), "a", "is wrong")},
			added:  field.ErrorList{field.Invalid(list, "a", "is wrong")},
		},
		"another type": {
			errs:   field.ErrorList{field.Required(list, "is needed")},
			stored: field.ErrorList{field.Forbidden(list, "is not allowed")},
			added:  field.ErrorList{field.Required(list, "is needed")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			before := append(field.ErrorList(nil), test.stored...)
			added := ratchet.Added(test.errs, test.stored)
			g.Expect(added).To(HaveLen(len(test.added)))
			for i := range added {
				g.Expect(added[i]).To(Equal(test.added[i]))
			}
			g.Expect(test.stored).To(Equal(before), "what is stored is not changed")
		})
	}
}
