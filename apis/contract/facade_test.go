// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/machinist-dev/machinist/apis/contract"
	"github.com/machinist-dev/machinist/apis/contract/accessor"
	"github.com/machinist-dev/machinist/generated/facade"
)

func parse(tb testing.TB, source string) *unstructured.Unstructured {
	tb.Helper()
	var object map[string]any
	if err := json.Unmarshal([]byte(source), &object); err != nil {
		tb.Fatalf("test input %s: %v", source, err)
	}
	return &unstructured.Unstructured{Object: object}
}

// snapshot is what the getters of a wrapper return, by field; an absent field is not in it.
type snapshot map[string]any

func (s snapshot) put(field string, value any, found bool) {
	if found {
		s[field] = value
	}
}

func putPair[T any](s snapshot, field string) func(T, bool) {
	return func(value T, found bool) { s.put(field, value, found) }
}

func readInfraMachine(m facade.InfraMachine) snapshot {
	s := snapshot{}
	putPair[string](s, "ProviderID")(m.ProviderID())
	s.put("Provisioned", m.Provisioned(), true)
	putPair[string](s, "FailureDomain")(m.FailureDomain())
	putPair[string](s, "DeprecatedFailureDomain")(m.DeprecatedFailureDomain())
	putPair[[]contract.MachineAddress](s, "Addresses")(m.Addresses())
	s.put("Interruptible", m.Interruptible(), true)
	putPair[string](s, "FailureReason")(m.FailureReason())
	putPair[string](s, "FailureMessage")(m.FailureMessage())
	putPair[[]contract.Condition](s, "Conditions")(m.Conditions())
	putPair[[]contract.DeprecatedCondition](s, "DeprecatedConditions")(m.DeprecatedConditions())
	putPair[string](s, "ClusterName")(m.ClusterName())
	putPair[string](s, "WatchFilter")(m.WatchFilter())
	s.put("Paused", m.Paused(), true)
	s.put("UpdateInProgress", m.UpdateInProgress(), true)
	return s
}

func readBootstrapConfig(c facade.BootstrapConfig) snapshot {
	s := snapshot{}
	s.put("DataSecretCreated", c.DataSecretCreated(), true)
	putPair[string](s, "DataSecretName")(c.DataSecretName())
	putPair[string](s, "FailureReason")(c.FailureReason())
	putPair[string](s, "FailureMessage")(c.FailureMessage())
	putPair[[]contract.Condition](s, "Conditions")(c.Conditions())
	putPair[[]contract.DeprecatedCondition](s, "DeprecatedConditions")(c.DeprecatedConditions())
	putPair[metav1.Time](s, "CertificatesExpiry")(c.CertificatesExpiry())
	putPair[string](s, "ClusterName")(c.ClusterName())
	putPair[string](s, "WatchFilter")(c.WatchFilter())
	s.put("Paused", c.Paused(), true)
	s.put("UpdateInProgress", c.UpdateInProgress(), true)
	return s
}

// field is one row of the test matrix. A zero versions means both.
type field struct {
	name, source string
	versions     []contract.Version
	// want is the value, absent, or a default; wantError the error of the field without the contract version.
	want      any
	wantError string
}

// absent is what a row wants of a field that has no value.
type absent struct{}

func (f field) check(t *testing.T, getter string, wrap func(*unstructured.Unstructured, contract.Version) (snapshot, error)) {
	t.Helper()
	versions := f.versions
	if versions == nil {
		versions = contract.Versions()
	}
	for _, version := range versions {
		t.Run(fmt.Sprintf("%s/%s/%s", getter, f.name, version), func(t *testing.T) {
			got, err := wrap(parse(t, f.source), version)
			value, found := got[getter]
			if !found {
				value = absent{}
			}
			if diff := cmp.Diff(f.want, value); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			want := ""
			if f.wantError != "" {
				want = f.wantError + " (contract version " + string(version) + ")"
			}
			fieldErrors, _ := errors.AsType[accessor.FieldErrors](err)
			text := ""
			if fieldError := fieldErrors.For(getter); fieldError != nil {
				text = fieldError.Error()
			}
			if text != want {
				t.Errorf("error\n got  %s\n want %s", text, want)
			}
		})
	}
}

func wrapInfraMachine(obj *unstructured.Unstructured, version contract.Version) (snapshot, error) {
	m, err := facade.WrapInfraMachine(obj, version)
	return readInfraMachine(m), err
}

func wrapBootstrapConfig(obj *unstructured.Unstructured, version contract.Version) (snapshot, error) {
	c, err := facade.WrapBootstrapConfig(obj, version)
	return readBootstrapConfig(c), err
}

var (
	v1beta1 = []contract.Version{contract.V1Beta1}
	v1beta2 = []contract.Version{contract.V1Beta2}
)

// stringRows is the matrix of a string at "%s" in the top-level object half.
func stringRows(half, key string) []field {
	at := func(value string) string { return fmt.Sprintf(`{%q:{%q:%s}}`, half, key, value) }
	path := "." + half + "." + key
	return []field{
		{name: "absent", source: `{}`, want: absent{}},
		{name: "parent empty", source: fmt.Sprintf(`{%q:{}}`, half), want: absent{}},
		{name: "parent null", source: fmt.Sprintf(`{%q:null}`, half), want: absent{}},
		{name: "set", source: at(`"x"`), want: "x"},
		{name: "empty", source: at(`""`), want: ""},
		{name: "number", source: at(`3`), want: absent{}, wantError: path + ": expected string, found number 3"},
		{name: "null", source: at(`null`), want: absent{}, wantError: path + ": expected string, found null"},
		{name: "object", source: at(`{}`), want: absent{}, wantError: path + ": expected string, found object"},
		{
			name: "parent no object", source: fmt.Sprintf(`{%q:"x"}`, half), want: absent{},
			wantError: "." + half + `: expected object, found string "x"`,
		},
	}
}

// flagRows is the matrix of a boolean that is false by default and moved between the contract versions.
func flagRows(newKey string) []field {
	path := ".status.initialization." + newKey
	at := func(format string) string { return fmt.Sprintf(format, newKey) }
	return []field{
		{name: "absent", source: `{}`, want: false},
		{name: "old path", source: `{"status":{"ready":true}}`, versions: v1beta1, want: true},
		{name: "old path is not for the new version", source: `{"status":{"ready":true}}`, versions: v1beta2, want: false},
		{name: "new path", source: at(`{"status":{"initialization":{%q:true}}}`), versions: v1beta2, want: true},
		{name: "new path is not for the old version", source: at(`{"status":{"initialization":{%q:true}}}`), versions: v1beta1, want: false},
		{name: "both differ", source: at(`{"status":{"ready":true,"initialization":{%q:false}}}`), versions: v1beta1, want: true},
		{name: "both differ", source: at(`{"status":{"ready":true,"initialization":{%q:false}}}`), versions: v1beta2, want: false},
		{name: "false", source: `{"status":{"ready":false}}`, want: false},
		{name: "initialization empty", source: `{"status":{"initialization":{}}}`, want: false},
		{name: "initialization null", source: `{"status":{"initialization":null}}`, want: false},
		{
			name: "string", source: `{"status":{"ready":"true"}}`, versions: v1beta1, want: false,
			wantError: `.status.ready: expected boolean, found string "true"`,
		},
		{
			name: "string", source: at(`{"status":{"initialization":{%q:"true"}}}`), versions: v1beta2, want: false,
			wantError: path + `: expected boolean, found string "true"`,
		},
		{name: "string where the other version looks", source: `{"status":{"ready":"true"}}`, versions: v1beta2, want: false},
		{
			name: "null", source: at(`{"status":{"ready":null,"initialization":{%q:null}}}`), versions: v1beta2, want: false,
			wantError: path + `: expected boolean, found null`,
		},
		{
			name: "initialization no object", source: `{"status":{"initialization":true}}`, versions: v1beta2, want: false,
			wantError: `.status.initialization: expected object, found boolean true`,
		},
		{
			name: "status no object", source: `{"status":[]}`, want: false,
			wantError: `.status: expected object, found list`,
		},
	}
}

// A control plane that says something unusable says nothing.
func TestControlPlane(t *testing.T) {
	for source, want := range map[string]bool{
		`{}`: false, `{"status":{}}`: false, `{"status":{"externalManagedControlPlane":false}}`: false,
		`{"status":{"externalManagedControlPlane":true}}`: true, `{"status":{"externalManagedControlPlane":"true"}}`: false,
		`{"status":{"externalManagedControlPlane":null}}`: false, `{"spec":{"externalManagedControlPlane":true}}`: false,
	} {
		for _, version := range contract.Versions() {
			object := parse(t, source)
			before, err := facade.WrapControlPlane(object, version)
			facade.PruneControlPlane(object)
			after, errAfter := facade.WrapControlPlane(object, version)
			if err != nil || errAfter != nil || before.ExternallyManaged() != want || after.ExternallyManaged() != want {
				t.Errorf("%s %s: got %t, %v, and %t, %v when pruned; want %t", version, source, before.ExternallyManaged(), err, after.ExternallyManaged(), errAfter, want)
			}
		}
	}
}

func TestInfraMachineScalars(t *testing.T) {
	for getter, rows := range map[string][]field{
		"ProviderID":              stringRows("spec", "providerID"),
		"DeprecatedFailureDomain": stringRows("spec", "failureDomain"),
		"FailureDomain":           stringRows("status", "failureDomain"),
		"FailureReason":           stringRows("status", "failureReason"),
		"FailureMessage":          stringRows("status", "failureMessage"),
		"Provisioned":             flagRows("provisioned"),
		"Interruptible": {
			{name: "absent", source: `{}`, want: false},
			{name: "true", source: `{"status":{"interruptible":true}}`, want: true},
			{name: "false", source: `{"status":{"interruptible":false}}`, want: false},
			{
				name: "string", source: `{"status":{"interruptible":"yes"}}`, want: false,
				wantError: `.status.interruptible: expected boolean, found string "yes"`,
			},
		},
	} {
		for _, row := range rows {
			row.check(t, getter, wrapInfraMachine)
		}
	}
}

func TestBootstrapConfigScalars(t *testing.T) {
	for getter, rows := range map[string][]field{
		"DataSecretCreated": flagRows("dataSecretCreated"),
		"DataSecretName": append(stringRows("status", "dataSecretName"),
			field{name: "created without name", source: `{"status":{"ready":true,"initialization":{"dataSecretCreated":true}}}`, want: absent{}}),
		"FailureReason":  stringRows("status", "failureReason"),
		"FailureMessage": stringRows("status", "failureMessage"),
		"CertificatesExpiry": {
			{name: "absent", source: `{}`, want: absent{}},
			{name: "other annotations", source: `{"metadata":{"annotations":{"a":"b"}}}`, want: absent{}},
			{
				name: "time", source: `{"metadata":{"annotations":{"machine.cluster.x-k8s.io/certificates-expiry":"2027-01-02T03:04:05Z"}}}`,
				want: metav1.NewTime(time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)),
			},
			{
				name: "no time", source: `{"metadata":{"annotations":{"machine.cluster.x-k8s.io/certificates-expiry":"tomorrow"}}}`, want: absent{},
				wantError: `.metadata.annotations[machine.cluster.x-k8s.io/certificates-expiry]: expected RFC 3339 time, found string "tomorrow"`,
			},
		},
	} {
		for _, row := range rows {
			row.check(t, getter, wrapBootstrapConfig)
		}
	}
}

func TestAddresses(t *testing.T) {
	for _, row := range []field{
		{name: "absent", source: `{"status":{}}`, want: absent{}},
		{name: "empty list", source: `{"status":{"addresses":[]}}`, want: []contract.MachineAddress{}},
		{name: "null", source: `{"status":{"addresses":null}}`, want: absent{}, wantError: `.status.addresses: expected list of objects, found null`},
		{
			name: "list", source: `{"status":{"addresses":[{"type":"InternalIP","address":"10.0.0.1"},{"type":"Hostname","address":"a","zone":1}]}}`,
			want: []contract.MachineAddress{{Type: "InternalIP", Address: "10.0.0.1"}, {Type: "Hostname", Address: "a"}},
		},
		{name: "unknown type", source: `{"status":{"addresses":[{"type":"Carrier","address":""}]}}`, want: []contract.MachineAddress{{Type: "Carrier"}}},
		{name: "keys missing", source: `{"status":{"addresses":[{}]}}`, want: []contract.MachineAddress{{}}},
		{
			name: "bad element", source: `{"status":{"addresses":[{"type":"InternalIP","address":"10.0.0.1"},{"address":1}]}}`, want: absent{},
			wantError: `.status.addresses[1].address: expected string, found number 1`,
		},
		{
			name: "element no object", source: `{"status":{"addresses":["10.0.0.1"]}}`, want: absent{},
			wantError: `.status.addresses[0]: expected object, found string "10.0.0.1"`,
		},
		{name: "object", source: `{"status":{"addresses":{}}}`, want: absent{}, wantError: `.status.addresses: expected list of objects, found object`},
	} {
		row.check(t, "Addresses", wrapInfraMachine)
	}
	// However long the list is, it is passed on: the reader of the facade decides what fits.
	obj := parse(t, `{"status":{}}`)
	many := make([]any, 300)
	for i := range many {
		many[i] = map[string]any{"type": "InternalIP", "address": fmt.Sprint(i)}
	}
	obj.Object["status"].(map[string]any)["addresses"] = many
	m, err := facade.WrapInfraMachine(obj, contract.V1Beta2)
	if addresses, found := m.Addresses(); len(addresses) != 300 || !found || err != nil {
		t.Errorf("got %d addresses, %t, %v", len(addresses), found, err)
	}
}

func TestMetadata(t *testing.T) {
	const source = `{"metadata":{"labels":{"cluster.x-k8s.io/cluster-name":"c","cluster.x-k8s.io/watch-filter":"w"},
		"annotations":{"cluster.x-k8s.io/paused":"false","in-place-updates.internal.cluster.x-k8s.io/update-in-progress":""}}}`
	for getter, want := range map[string][2]any{
		"ClusterName":      {"c", absent{}},
		"WatchFilter":      {"w", absent{}},
		"Paused":           {true, false},
		"UpdateInProgress": {true, false},
	} {
		for _, wrap := range []func(*unstructured.Unstructured, contract.Version) (snapshot, error){wrapInfraMachine, wrapBootstrapConfig} {
			field{name: "set", source: source, want: want[0]}.check(t, getter, wrap)
			field{name: "absent", source: `{}`, want: want[1]}.check(t, getter, wrap)
		}
	}
}

func TestUnknownContractVersion(t *testing.T) {
	for _, version := range []contract.Version{"", "v1alpha4", "v1beta3", "V1Beta1"} {
		obj := parse(t, `{"spec":{"providerID":"x"},"status":{"ready":true}}`)
		m, err := facade.WrapInfraMachine(obj, version)
		if want := fmt.Sprintf("InfraMachine: contract version %q is unknown: use one of v1beta2, v1beta1", version); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
		if _, found := m.ProviderID(); found || m.Provisioned() || m.Findings() != nil {
			t.Error("something was read without a contract version")
		}
	}
}

func TestNoObject(t *testing.T) {
	m, err := facade.WrapInfraMachine(nil, contract.V1Beta2)
	if _, ok := errors.AsType[accessor.FieldErrors](err); !ok {
		t.Errorf("error is %v", err)
	}
	if diff := cmp.Diff(readInfraMachine(facade.InfraMachine{}), readInfraMachine(m)); diff != "" {
		t.Errorf("something was read from nothing:\n%s", diff)
	}
	if c, err := facade.WrapBootstrapConfig(&unstructured.Unstructured{}, contract.V1Beta2); err != nil || c.DataSecretCreated() {
		t.Errorf("an empty object: %v", err)
	}
	facade.PruneInfraMachine(nil)
	facade.PruneBootstrapConfig(nil)
}

// One unusable field leaves the others alone, and the error has the words that a condition will show.
func TestErrorNextToUsableFields(t *testing.T) {
	m, err := facade.WrapInfraMachine(parse(t, `{"spec":{"providerID":"p"},"status":{"ready":"true","failureDomain":{}}}`), contract.V1Beta1)
	const want = `.status.ready: expected boolean, found string "true" (contract version v1beta1); ` +
		`.status.failureDomain: expected string, found object (contract version v1beta1)`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if id, found := m.ProviderID(); id != "p" || !found {
		t.Errorf("providerID = %q, %t", id, found)
	}
}

func TestFindingsOfTheContract(t *testing.T) {
	m, err := facade.WrapInfraMachine(parse(t, `{"status":{"ready":true}}`), contract.V1Beta2)
	if err != nil {
		t.Fatal(err)
	}
	want := []accessor.Finding{{
		Kind: "InfraMachine", Field: "Provisioned", Path: ".status.initialization.provisioned", ContractVersion: "v1beta2",
		FoundPath: ".status.ready", FoundContractVersion: "v1beta1",
	}}
	if diff := cmp.Diff(want, m.Findings()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, source := range []string{
		`{}`, `{"status":{"ready":true,"initialization":{"provisioned":false}}}`, `{"status":{"initialization":{"provisioned":true}}}`,
	} {
		m, _ := facade.WrapInfraMachine(parse(t, source), contract.V1Beta2)
		if findings := m.Findings(); findings != nil {
			t.Errorf("%s: %v", source, findings)
		}
	}
	c, err := facade.WrapBootstrapConfig(parse(t, `{"status":{"initialization":{"dataSecretCreated":true}}}`), contract.V1Beta1)
	if findings := c.Findings(); len(findings) != 1 || findings[0].FoundPath != ".status.initialization.dataSecretCreated" || err != nil {
		t.Errorf("got %v, %v", findings, err)
	}
}
