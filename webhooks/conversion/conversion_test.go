// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/machinist-dev/machinist/webhooks/conversion"
)

const (
	v1beta1 = "cluster.x-k8s.io/v1beta1"
	v1beta2 = "cluster.x-k8s.io/v1beta2"
)

// definitions are CustomResourceDefinitions, each with its contract labels. They can be read like a cache.
type definitions map[string]map[string]string

var installed = definitions{
	"simmachines.infrastructure.cluster.x-k8s.io":  {"cluster.x-k8s.io/v1beta1": "v1alpha1", "cluster.x-k8s.io/v1beta2": "v1alpha2_v1beta1"},
	"oldmachines.infrastructure.cluster.x-k8s.io":  {"cluster.x-k8s.io/v1beta1": "v1alpha1"},
	"baremachines.infrastructure.cluster.x-k8s.io": {},
}

var errBroken = errors.New("the cache is not started")

// Get implements client.Reader.
func (d definitions) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	if d == nil {
		return errBroken
	}
	labels, ok := d[key.Name]
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}, key.Name)
	}
	object.SetName(key.Name)
	object.SetLabels(labels)
	return nil
}

// List implements client.Reader.
func (definitions) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("nobody has to list definitions to convert an object")
}

func handler(tb testing.TB, crds definitions) http.Handler {
	tb.Helper()
	h, err := conversion.NewHandler(crds)
	if err != nil {
		tb.Fatal(err)
	}
	return h
}

func post(tb testing.TB, h http.Handler, body []byte) (int, *apiextensionsv1.ConversionReview) {
	tb.Helper()
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, httptest.NewRequestWithContext(tb.Context(), http.MethodPost, conversion.Path, bytes.NewReader(body)))
	review := &apiextensionsv1.ConversionReview{}
	if recorder.Code != http.StatusOK {
		return recorder.Code, review
	}
	if err := json.Unmarshal(recorder.Body.Bytes(), review); err != nil {
		tb.Fatalf("the answer is no review: %v\n%s", err, recorder.Body)
	}
	return recorder.Code, review
}

// convert returns the converted objects, or why there are none.
func convert(tb testing.TB, h http.Handler, version string, objects ...string) ([]map[string]any, error) {
	tb.Helper()
	code, review := post(tb, h, request(tb, version, objects...))
	if code != http.StatusOK || review.Response == nil || review.Response.UID != "review" || review.Request != nil {
		tb.Fatalf("code %d, review %v; want one with a response", code, review)
	}
	if review.Response.Result.Status != metav1.StatusSuccess {
		return nil, errors.New(review.Response.Result.Message)
	}
	converted := make([]map[string]any, len(review.Response.ConvertedObjects))
	for i, object := range review.Response.ConvertedObjects {
		if err := json.Unmarshal(object.Raw, &converted[i]); err != nil {
			tb.Fatal(err)
		}
	}
	return converted, nil
}

func request(tb testing.TB, version string, objects ...string) []byte {
	tb.Helper()
	review := apiextensionsv1.ConversionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "ConversionReview"},
		Request:  &apiextensionsv1.ConversionRequest{UID: "review", DesiredAPIVersion: version},
	}
	for _, object := range objects {
		review.Request.Objects = append(review.Request.Objects, runtime.RawExtension{Raw: []byte(object)})
	}
	body, err := json.Marshal(review)
	if err != nil {
		tb.Fatal(err)
	}
	return body
}

func machine(name, kind string) string {
	return `{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Machine","metadata":{"name":"` + name + `","namespace":"ns","uid":"u"},` +
		`"spec":{"clusterName":"sim","bootstrap":{"dataSecretName":"data"},` +
		`"infrastructureRef":{"apiGroup":"infrastructure.cluster.x-k8s.io","kind":"` + kind + `","name":"m"}}}`
}

func apiVersionIn(object map[string]any) any {
	return object["spec"].(map[string]any)["infrastructureRef"].(map[string]any)["apiVersion"]
}

func TestOneUnknownKindHurtsNobodyElse(t *testing.T) {
	converted, err := convert(t, handler(t, installed), v1beta1,
		machine("a", "SimMachine"), machine("b", "OldMachine"), machine("c", "BareMachine"), machine("d", "Uninstalled"))
	if err != nil {
		t.Fatal(err)
	}
	var found []any
	for _, object := range converted {
		found = append(found, apiVersionIn(object))
	}
	if diff := cmp.Diff([]any{
		"infrastructure.cluster.x-k8s.io/v1beta1", "infrastructure.cluster.x-k8s.io/v1alpha1",
		"infrastructure.cluster.x-k8s.io/unknown", "infrastructure.cluster.x-k8s.io/unknown",
	}, found); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestObjectsKeepWhatTheyAre(t *testing.T) {
	h := handler(t, installed)
	for _, original := range []string{
		machine("a", "SimMachine"),
		`{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Cluster","metadata":{"name":"c","namespace":"ns"},"spec":{"paused":false}}`,
		// The API server asks also for parts of objects, to find out which fields belong to whom.
		`{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Machine","metadata":{"name":"part","namespace":"ns"}}`,
		`{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Cluster","metadata":{}}`,
	} {
		there, err := convert(t, h, v1beta1, original)
		if err != nil {
			t.Fatal(err)
		}
		if there[0]["apiVersion"] != v1beta1 {
			t.Errorf("apiVersion = %v, want %s", there[0]["apiVersion"], v1beta1)
		}
		encoded, err := json.Marshal(there[0])
		if err != nil {
			t.Fatal(err)
		}
		back, err := convert(t, h, v1beta2, string(encoded))
		if err != nil {
			t.Fatal(err)
		}
		var want map[string]any
		if err := json.Unmarshal([]byte(original), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, back[0]); diff != "" {
			t.Errorf("(-before +after):\n%s", diff)
		}
	}
}

func TestWhatCannotBeConverted(t *testing.T) {
	broken := strings.Replace(machine("a", "SimMachine"), "v1beta2", "v1beta1", 1)
	broken = strings.Replace(broken, `"apiGroup":"infrastructure.cluster.x-k8s.io"`, `"apiVersion":"a/b/c"`, 1)
	for name, test := range map[string]struct {
		crds            definitions
		version, object string
		want            string
	}{
		"a kind while nothing can be read": {
			version: v1beta1, object: machine("a", "SimMachine"),
			want: "Machine ns/a: finding the API version of SimMachine.infrastructure.cluster.x-k8s.io: " +
				"reading CustomResourceDefinition simmachines.infrastructure.cluster.x-k8s.io: the cache is not started",
		},
		"a reference that is none": {crds: installed, version: v1beta2, object: broken, want: "Machine ns/a: spec.infrastructureRef.apiVersion: expected"},
		"a duration that is none": {
			crds: installed, version: v1beta2, want: "time: invalid duration",
			object: `{"apiVersion":"cluster.x-k8s.io/v1beta1","kind":"Machine","spec":{"nodeDrainTimeout":"soon"}}`,
		},
		"a kind of ours that has one form":      {crds: installed, version: v1beta1, object: `{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"MachineDrainRule"}`, want: "not convertible"},
		"a kind of somebody else":               {crds: installed, version: v1beta1, object: `{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"MachineSet"}`, want: "no kind"},
		"to a version that there is not":        {crds: installed, version: "cluster.x-k8s.io/v1alpha4", object: machine("a", "SimMachine"), want: "no kind"},
		"to a group that there is not":          {crds: installed, version: "v1beta1", object: machine("a", "SimMachine"), want: "no kind"},
		"to the version that it has":            {crds: installed, version: v1beta2, object: machine("a", "SimMachine"), want: "conversion is not allowed"},
		"what is no object":                     {crds: installed, version: v1beta2, object: `[]`, want: "json"},
		"a conversion to nothing in particular": {crds: installed, object: machine("a", "SimMachine"), want: "no kind"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := convert(t, handler(t, test.crds), test.version, test.object)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestWhatIsNoReview(t *testing.T) {
	for _, body := range []string{"", "{", "[]", "{}", `{"request":null}`, `{"request":7}`} {
		if code, _ := post(t, handler(t, installed), []byte(body)); code != http.StatusBadRequest {
			t.Errorf("%q: code %d, want %d", body, code, http.StatusBadRequest)
		}
	}
}

// FuzzReview sends the handler what it likes. It answers with a review or refuses, never panics, and what it has
// converted it can convert back.
func FuzzReview(f *testing.F) {
	h := handler(f, installed)
	f.Add(request(f, v1beta1, machine("a", "SimMachine"), machine("b", "Uninstalled")))
	f.Add(request(f, v1beta2, `{"apiVersion":"cluster.x-k8s.io/v1beta1","kind":"Machine","metadata":{"name":"m",
		"annotations":{"cluster.x-k8s.io/conversion-data":"{\"spec\":{\"minReadySeconds\":3}}"}},
		"spec":{"nodeDrainTimeout":"1m","infrastructureRef":{"apiVersion":"g/v1","kind":"K","name":"n"},"version":""},
		"status":{"lastUpdated":null,"nodeRef":{},"v1beta2":{},"deletion":{"nodeDrainStartTime":"2026-08-01T12:00:00Z"}}}`))
	f.Add(request(f, v1beta1, `{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Cluster","spec":{"topology":{"classRef":{"name":"c"},
		"workers":{"machineDeployments":[{"healthCheck":{"checks":{"unhealthyNodeConditions":[{"timeoutSeconds":5}]}}}]}}}}`))
	f.Add(request(f, v1beta2, `{"apiVersion":"cluster.x-k8s.io/v1beta1","kind":"Cluster","spec":{"topology":{"class":"c",
		"controlPlane":{"nodeDrainTimeout":"1h","machineHealthCheck":{"enable":true,"remediationTemplate":{"kind":"K"}}}},
		"clusterNetwork":{"pods":{"cidrBlocks":[]}}},"status":{"failureDomains":{"a":{}}}}`))
	f.Add([]byte(`{"request":{"objects":[null]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		code, review := post(t, h, body)
		if code != http.StatusOK {
			return
		}
		if review.Response == nil {
			t.Fatal("no response")
		}
		for _, converted := range review.Response.ConvertedObjects {
			meta := metav1.PartialObjectMetadata{}
			if err := json.Unmarshal(converted.Raw, &meta); err != nil {
				t.Fatal(err)
			}
			other := map[string]string{v1beta1: v1beta2, v1beta2: v1beta1}[meta.APIVersion]
			_, err := convert(t, h, other, string(converted.Raw))
			// The schema of v1beta2 allows no slash in a group.
			if err != nil && !strings.Contains(err.Error(), ".apiVersion: expected a group") {
				t.Errorf("%s can't be converted to %s: %v", converted.Raw, other, err)
			}
		}
	})
}

// BenchmarkList converts lists of as many Machines as a page of kubectl has, each as large as a Machine that runs.
func BenchmarkList(b *testing.B) {
	const machines = 500
	h := handler(b, installed)
	list := make([]string, machines)
	for i := range list {
		list[i] = runningMachine(b, "machine-"+strconv.Itoa(i))
	}
	b.Run("to v1beta1", func(b *testing.B) { benchmark(b, h, request(b, v1beta1, list...)) })

	converted, err := convert(b, h, v1beta1, list...)
	if err != nil {
		b.Fatal(err)
	}
	for i, object := range converted {
		encoded, err := json.Marshal(object)
		if err != nil {
			b.Fatal(err)
		}
		list[i] = string(encoded)
	}
	b.Run("to v1beta2", func(b *testing.B) { benchmark(b, h, request(b, v1beta2, list...)) })
}

func benchmark(b *testing.B, h http.Handler, body []byte) {
	b.Helper()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		recorder := httptest.NewRecorder()
		h.ServeHTTP(recorder, httptest.NewRequestWithContext(b.Context(), http.MethodPost, conversion.Path, bytes.NewReader(body)))
		if recorder.Code != http.StatusOK {
			b.Fatal(recorder.Code)
		}
	}
}

// runningMachine has what a Machine has that runs: some 6 KB, half of it managed fields.
func runningMachine(tb testing.TB, name string) string {
	tb.Helper()
	object := map[string]any{}
	if err := json.Unmarshal([]byte(machine(name, "SimMachine")), &object); err != nil {
		tb.Fatal(err)
	}
	var conditions, deprecated []any
	for _, condition := range []string{
		"Available", "Ready", "UpToDate", "BootstrapConfigReady", "InfrastructureReady", "NodeReady", "NodeHealthy", "Updating", "Deleting", "Paused",
	} {
		conditions = append(conditions, map[string]any{
			"type": condition, "status": "True", "reason": condition, "message": strings.Repeat("m", 40), "lastTransitionTime": "2026-08-01T12:00:00Z",
		})
		deprecated = append(deprecated, map[string]any{"type": condition, "status": "True", "lastTransitionTime": "2026-08-01T12:00:00Z"})
	}
	object["metadata"].(map[string]any)["managedFields"] = []any{map[string]any{
		"manager": "machinist", "operation": "Apply", "apiVersion": v1beta2, "fieldsType": "FieldsV1",
		"fieldsV1": map[string]any{"f:status": map[string]any{"f:" + strings.Repeat("c", 3000): map[string]any{}}},
	}}
	object["status"] = map[string]any{
		"phase": "Running", "conditions": conditions, "deprecated": map[string]any{"v1beta1": map[string]any{"conditions": deprecated}},
		"nodeRef": map[string]any{"name": name}, "initialization": map[string]any{"infrastructureProvisioned": true},
	}
	encoded, err := json.Marshal(object)
	if err != nil {
		tb.Fatal(err)
	}
	return string(encoded)
}
