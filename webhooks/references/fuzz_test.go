// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package references

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/machinist-dev/machinist/apis/contract"
	"github.com/machinist-dev/machinist/controllers/external"
)

// FuzzJudge judges what it likes as a Machine, and as one that it was before, in a world where something is wrong with
// everything. Nothing panics, an answer is one that the API server passes on, and what has not changed is not judged.
func FuzzJudge(f *testing.F) {
	seed := func(object any) []byte {
		data, err := json.Marshal(object)
		if err != nil {
			f.Fatal(err)
		}
		return data
	}
	older := []byte(`{"metadata":{"name":"m"},"spec":{"infrastructureRef":{"namespace":"other"},"bootstrap":{"configRef":{"namespace":"third"}}}}`)
	f.Add(seed(machine()), seed(machine()), false)
	f.Add(seed(machine()), []byte(`{"spec":{"providerID":"x","bootstrap":{"dataSecretName":""}},"status":{"nodeRef":{"name":"n"}}}`), false)
	f.Add(older, []byte(`{}`), true)
	f.Add([]byte(`{"metadata":{"annotations":{"machinist.dev/skip-reference-validation":"R1, all"}},"spec":{"infrastructureRef":null}}`), []byte(`null`), false)
	f.Fuzz(func(t *testing.T, object, before []byte, old bool) {
		gomega.RegisterTestingT(t)
		v := wrongWorld().try(Enforce).validator
		if old {
			v = v.with(olderRules, decodeOlder)
		}
		for _, operation := range []admissionv1.Operation{admissionv1.Create, admissionv1.Update} {
			response, judged := judgeRaw(t.Context(), v, operation, object, before)
			if !judged {
				continue
			}
			if !response.Allowed && (response.Result.Code != 422 || len(response.Result.Details.Causes) == 0) {
				t.Errorf("denied without saying why: %+v", response.Result)
			}
			total := 0
			for _, warning := range response.Warnings {
				length := utf8.RuneCountInString(warning)
				if total += length; length > maxWarning {
					t.Errorf("a warning of %d characters: %s", length, warning)
				}
			}
			if total > maxWarnings {
				t.Errorf("warnings of %d characters", total)
			}
			if operation == admissionv1.Update && bytes.Equal(object, before) && (!response.Allowed || len(response.Warnings) > 0) {
				t.Errorf("nothing has changed, and yet: %+v", response)
			}
		}
	})
}

// wrongWorld is one where every lookup finds something wrong.
func wrongWorld() *world {
	w := newWorld()
	w.cluster, w.missing, w.readable = nil, []string{"get"}, true
	return w
}

// judgeRaw is what Handle does, but for a panic.
func judgeRaw(ctx context.Context, v *validator, operation admissionv1.Operation, object, before []byte) (response admission.Response, judged bool) {
	v.lookups.object = func(context.Context, schema.GroupVersionResource, types.NamespacedName) (*metav1.PartialObjectMetadata, error) {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Labels:            map[string]string{"cluster.x-k8s.io/cluster-name": "other"},
			DeletionTimestamp: new(metav1.Now()),
			OwnerReferences:   []metav1.OwnerReference{{APIVersion: "a/b/c", Kind: "K", Name: "n", Controller: new(true)}},
		}}, nil
	}
	v.lookups.definition = func(_ context.Context, kind external.Kind) (*external.Definition, error) {
		if len(kind.Kind)%2 == 0 {
			return nil, &external.KindError{Kind: kind, Problem: external.CRDMissing, Message: "no"}
		}
		return &external.Definition{Kind: kind, Name: contract.CRDName(kind.Group, kind.Kind)}, nil
	}
	r, err := v.request(admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Operation: operation, Namespace: "ns", Object: runtime.RawExtension{Raw: object}, OldObject: runtime.RawExtension{Raw: before},
	}})
	if err != nil || !r.now.DeletionTimestamp.IsZero() {
		return response, false
	}
	return v.judge(ctx, r).response(r.now), true
}
