// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"reflect"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// A pruned object that reached an Update would delete what was pruned. So no exported method of what this package hands
// out may lead to the object itself, to a part of it, or to something that a client would accept for writing.
var _ = It("Nothing that is exported leads to the pruned object", func() {
	const ours = "github.com/machinist-dev/machinist/"
	var leads []string
	seen := map[reflect.Type]bool{}
	var visit func(t reflect.Type, how string)
	visit = func(t reflect.Type, how string) {
		switch t.Kind() {
		case reflect.Interface:
			if t != reflect.TypeFor[error]() {
				leads = append(leads, how+" returns a "+t.String())
			}
		case reflect.Map:
			leads = append(leads, how+" returns a "+t.String())
		case reflect.Slice, reflect.Array:
			visit(t.Elem(), how)
		case reflect.Pointer, reflect.Struct:
			named := t
			if t.Kind() == reflect.Pointer {
				named = t.Elem()
			}
			if strings.HasPrefix(named.PkgPath(), "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured") {
				leads = append(leads, how+" returns a "+t.String())
			}
			if seen[named] || !strings.HasPrefix(named.PkgPath(), ours) {
				return
			}
			seen[named] = true
			for method := range reflect.PointerTo(named).Methods() {
				for result := range method.Type.Outs() {
					visit(result, how+"."+method.Name)
				}
			}
			for field := range named.Fields() {
				if field.IsExported() {
					visit(field.Type, how+"."+field.Name)
				}
			}
		}
	}
	visit(reflect.TypeFor[*Tracker](), "Tracker")
	Expect(seen).To(HaveKey(reflect.TypeFor[Object]()), "the walk has missed what Tracker.Get returns")
	Expect(leads).To(ConsistOf(
		"Tracker.Source returns a source.TypedSource[sigs.k8s.io/controller-runtime/pkg/reconcile.Request]", // no object of it
	))
})
