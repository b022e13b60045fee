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

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
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
		v := suspicious()
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

// suspicious is a validator to whom every lookup shows something wrong. What that is depends on what is looked up, so that
// the fuzzer gets to see all of it.
func suspicious() *validator {
	w := newWorld()
	w.missing, w.readable, w.existing = []string{"get"}, true, []string{"first"}
	v := w.try(Enforce).validator
	v.lookups.definition = func(_ context.Context, kind external.Kind) (*external.Definition, error) {
		switch len(kind.Kind) % 4 {
		case 0:
			return nil, &external.KindError{Kind: kind, Problem: external.CRDMissing, Message: "no"}
		case 1:
			return nil, &external.KindError{Kind: kind, Problem: external.ContractUnknown, Message: "no"}
		}
		return &external.Definition{Kind: kind, Name: contract.CRDName(kind.Group, kind.Kind)}, nil
	}
	v.lookups.object = func(_ context.Context, _ schema.GroupVersionResource, key types.NamespacedName) (*metav1.PartialObjectMetadata, error) {
		owners := []metav1.OwnerReference{
			{APIVersion: machineAPI, Kind: "Machine", Name: "first"},
			{APIVersion: machineAPI, Kind: "Machine", Name: "gone"},
			{APIVersion: "a/b/c", Kind: "K", Name: "n"},
		}
		if len(key.Name)%4 == len(owners) {
			return nil, errUnserved
		}
		owner := owners[len(key.Name)%4]
		owner.Controller = new(true)
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Labels:            map[string]string{clusterv1.ClusterNameLabel: "other"},
			DeletionTimestamp: new(metav1.Now()),
			OwnerReferences:   []metav1.OwnerReference{owner},
		}}, nil
	}
	v.lookups.scope = func(_ context.Context, resource schema.GroupVersionResource) (scope, error) {
		return []scope{notServed, clusterScoped}[len(resource.Group)%2], nil
	}
	v.lookups.cluster = func(_ context.Context, key types.NamespacedName) (*clusterv1.Cluster, error) {
		if len(key.Name)%2 == 0 {
			return nil, nil
		}
		leaving := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: new(metav1.Now())}}
		leaving.Status.FailureDomains = []clusterv1.FailureDomain{{Name: "elsewhere"}}
		return leaving, nil
	}
	v.lookups.machines = rival{}
	return v
}

// rival is another Machine that has whatever a Machine is looked for by.
type rival struct{}

func (rival) WithInfrastructure(context.Context, string, clusterv1.ContractVersionedObjectReference) ([]clusterv1.Machine, error) {
	return []clusterv1.Machine{other("rival")}, nil
}

func (rival) WithConfig(context.Context, string, clusterv1.ContractVersionedObjectReference) ([]clusterv1.Machine, error) {
	return []clusterv1.Machine{other("rival")}, nil
}

func (rival) WithProviderID(context.Context, string, string) ([]clusterv1.Machine, error) {
	return []clusterv1.Machine{other("rival")}, nil
}

// judgeRaw is what Handle does, but for a panic.
func judgeRaw(ctx context.Context, v *validator, operation admissionv1.Operation, object, before []byte) (response admission.Response, judged bool) {
	r, err := v.request(admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Operation: operation, Namespace: "ns", Object: runtime.RawExtension{Raw: object}, OldObject: runtime.RawExtension{Raw: before},
	}})
	if err != nil || !r.now.DeletionTimestamp.IsZero() {
		return response, false
	}
	return v.judge(ctx, r).response(r.now), true
}
