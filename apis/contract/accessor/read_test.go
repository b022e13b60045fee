// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package accessor_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/machinist-dev/machinist/apis/contract/accessor"
)

// readField reads one field as generated code does, and converts it as a getter does.
func readField(tb testing.TB, source, version string, field int) (any, bool, error) {
	tb.Helper()
	var r accessor.Reader
	if err := r.Open(thing, parse(tb, source), version); err != nil {
		tb.Fatalf("Open: %v", err)
	}
	v, found := get(&r, field)
	return v, found, r.Err()
}

func get(r *accessor.Reader, field int) (any, bool) {
	switch spec := thingSpec.Fields[field]; spec.Type.Kind {
	case accessor.String:
		return untyped(r.String(field).Get())
	case accessor.Bool:
		if spec.Presence {
			return r.Present(field), true
		}
		return untyped(r.Bool(field).Get())
	case accessor.Int32:
		return untyped(r.Int32(field).Get())
	case accessor.Int64:
		return untyped(r.Int64(field).Get())
	case accessor.Time:
		return untyped(r.Time(field).Get())
	case accessor.Duration:
		return untyped(r.Duration(field).Get())
	case accessor.StringList:
		return untyped(accessor.AsStringList(r.Checked(field).Or(nil)))
	case accessor.StringMap:
		return untyped(accessor.AsStringMap(r.Checked(field).Or(nil)))
	case accessor.Object:
		return untyped(accessor.AsObject(r.Checked(field).Or(nil), toEndpoint))
	default:
		v := r.Checked(field)
		if spec.Lenient {
			return untyped(accessor.AsList(thing.Usable(field, v), toEndpoint))
		}
		return untyped(accessor.AsList(v.Or(nil), toEndpoint))
	}
}

func untyped[T any](v T, found bool) (any, bool) { return v, found }

type endpoint struct {
	Host   string
	Port   int32
	Labels map[string]string
	Since  metav1.Time
}

func toEndpoint(m map[string]any) endpoint {
	return endpoint{
		Host: accessor.Or(accessor.AsString(m["host"])), Port: accessor.Or(accessor.AsInt32(m["port"])),
		Labels: accessor.Or(accessor.AsStringMap(m["labels"])), Since: accessor.Or(accessor.AsTime(m["since"])),
	}
}

func TestReadPresentValues(t *testing.T) {
	morning := metav1.NewTime(time.Date(2026, 8, 3, 9, 14, 41, 0, time.UTC))
	for name, tc := range map[string]struct {
		source string
		field  int
		want   any
	}{
		"string":                  {`{"spec":{"string":"x"}}`, stringField, "x"},
		"empty string":            {`{"spec":{"string":""}}`, stringField, ""},
		"enum":                    {`{"spec":{"enum":"B"}}`, enumField, "B"},
		"true":                    {`{"spec":{"bool":true}}`, boolField, true},
		"false":                   {`{"spec":{"bool":false}}`, boolField, false},
		"int32 maximum":           {`{"spec":{"int32":2147483647}}`, int32Field, int32(2147483647)},
		"int32 minimum":           {`{"spec":{"int32":-2147483648}}`, int32Field, int32(-2147483648)},
		"int64 maximum":           {`{"spec":{"int64":9223372036854775807}}`, int64Field, int64(9223372036854775807)},
		"time":                    {`{"spec":{"time":"2026-08-03T09:14:41Z"}}`, timeField, morning},
		"time in another zone":    {`{"spec":{"time":"2026-08-03T11:14:41+02:00"}}`, timeField, morning},
		"duration":                {`{"spec":{"duration":"1h2m"}}`, durationField, metav1.Duration{Duration: 62 * time.Minute}},
		"list of strings":         {`{"spec":{"stringList":["a","b"]}}`, stringListField, []string{"a", "b"}},
		"empty list of strings":   {`{"spec":{"stringList":[]}}`, stringListField, []string{}},
		"map of strings":          {`{"spec":{"stringMap":{"a":"b"}}}`, stringMapField, map[string]string{"a": "b"}},
		"empty map of strings":    {`{"spec":{"stringMap":{}}}`, stringMapField, map[string]string{}},
		"object":                  {`{"spec":{"object":{"host":"h","port":1}}}`, objectField, endpoint{Host: "h", Port: 1}},
		"object, more keys":       {`{"spec":{"object":{"host":"h","other":[]}}}`, objectField, endpoint{Host: "h"}},
		"object, nested map":      {`{"spec":{"object":{"host":"h","labels":{"a":"b"}}}}`, objectField, endpoint{Host: "h", Labels: map[string]string{"a": "b"}}},
		"object, tolerated null":  {`{"spec":{"object":{"host":"h","since":null}}}`, objectField, endpoint{Host: "h"}},
		"object, tolerated empty": {`{"spec":{"object":{"host":"h","since":""}}}`, objectField, endpoint{Host: "h"}},
		"list of objects":         {`{"spec":{"objectList":[{"host":"h"},{"host":"i","port":2}]}}`, objectListField, []endpoint{{Host: "h"}, {Host: "i", Port: 2}}},
		"empty list of objects":   {`{"spec":{"objectList":[]}}`, objectListField, []endpoint{}},
		"elements skipped":        {`{"status":{"lenient":[1,{"host":"h"},null]}}`, lenientField, []endpoint{{Host: "h"}}},
		"first place":             {`{"status":{"new":{"place":"a"},"place":"b"}}`, placesField, "a"},
		"first place, empty":      {`{"status":{"new":{"place":""},"place":"b"}}`, placesField, ""},
		"second place":            {`{"status":{"new":{},"place":"b"}}`, placesField, "b"},
		"second place, null way":  {`{"status":{"new":null,"place":"b"}}`, placesField, "b"},
		"label":                   {`{"metadata":{"labels":{"example.com/label":"x"}}}`, labelField, "x"},
		"annotation":              {`{"metadata":{"annotations":{"example.com/annotation":"5s"}}}`, annotationField, metav1.Duration{Duration: 5 * time.Second}},
		"presence":                {`{"metadata":{"annotations":{"example.com/presence":"false"}}}`, presenceField, true},
		"no presence":             {`{"metadata":{"annotations":{}}}`, presenceField, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, found, err := readField(t, tc.source, "v2", tc.field)
			if !found || err != nil {
				t.Fatalf("found = %t, error: %v", found, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestReadAbsentValues(t *testing.T) {
	for name, tc := range map[string]struct {
		source string
		field  int
	}{
		"nothing at all":      {`{}`, stringField},
		"parent is empty":     {`{"spec":{}}`, stringField},
		"parent is null":      {`{"spec":null}`, stringField},
		"tolerated null":      {`{"spec":{"tolerant":null}}`, tolerantField},
		"tolerated empty":     {`{"spec":{"tolerant":""}}`, tolerantField},
		"no place has it":     {`{"status":{"new":{"other":1}}}`, placesField},
		"lenient, wrong type": {`{"status":{"lenient":"x"}}`, lenientField},
		"lenient, null":       {`{"status":{"lenient":null}}`, lenientField},
		"lenient, bad member": {`{"status":{"lenient":[{"host":1}]}}`, lenientField},
		"lenient, odd parent": {`{"status":"x"}`, lenientField},
		"labels are null":     {`{"metadata":{"labels":null}}`, labelField},
	} {
		t.Run(name, func(t *testing.T) {
			if got, found, err := readField(t, tc.source, "v2", tc.field); found || err != nil {
				t.Errorf("got %v, found = %t, error: %v", got, found, err)
			}
		})
	}
}

func TestReadUnusableValues(t *testing.T) {
	long := strings.Repeat("x", 100)
	for name, tc := range map[string]struct {
		source string
		field  int
		want   string
	}{
		"null":                       {`{"spec":{"string":null}}`, stringField, `.spec.string: expected string, found null`},
		"number for string":          {`{"spec":{"string":3}}`, stringField, `.spec.string: expected string, found number 3`},
		"object for string":          {`{"spec":{"string":{"secret":1}}}`, stringField, `.spec.string: expected string, found object`},
		"not in the enum":            {`{"spec":{"enum":"C"}}`, enumField, `.spec.enum: expected one of A, B, found string "C"`},
		"number for enum":            {`{"spec":{"enum":1}}`, enumField, `.spec.enum: expected string, found number 1`},
		"string for bool":            {`{"spec":{"bool":"true"}}`, boolField, `.spec.bool: expected boolean, found string "true"`},
		"number for bool":            {`{"spec":{"bool":1}}`, boolField, `.spec.bool: expected boolean, found number 1`},
		"long string":                {`{"spec":{"bool":"` + long + `"}}`, boolField, `.spec.bool: expected boolean, found string "` + long[:64] + `"…`},
		"fraction":                   {`{"spec":{"int64":1.5}}`, int64Field, `.spec.int64: expected integer, found number 1.5`},
		"float without fraction":     {`{"spec":{"int64":1.0}}`, int64Field, `.spec.int64: expected integer, found number 1.0`},
		"exponent":                   {`{"spec":{"int64":1e21}}`, int64Field, `.spec.int64: expected integer, found number 1e+21`},
		"int32 too large":            {`{"spec":{"int32":2147483648}}`, int32Field, `.spec.int32: expected 32-bit integer, found number 2147483648`},
		"int32 too small":            {`{"spec":{"int32":-2147483649}}`, int32Field, `.spec.int32: expected 32-bit integer, found number -2147483649`},
		"int64 too large":            {`{"spec":{"int64":9223372036854775808}}`, int64Field, `.spec.int64: expected integer, found number 9.223372036854776e+18`},
		"time without zone":          {`{"spec":{"time":"2026-08-03T09:14:41"}}`, timeField, `.spec.time: expected RFC 3339 time, found string "2026-08-03T09:14:41"`},
		"empty time":                 {`{"spec":{"time":""}}`, timeField, `.spec.time: expected RFC 3339 time, found string ""`},
		"number for time":            {`{"spec":{"time":0}}`, timeField, `.spec.time: expected RFC 3339 time, found number 0`},
		"bad tolerant time":          {`{"spec":{"tolerant":"x"}}`, tolerantField, `.spec.tolerant: expected RFC 3339 time, found string "x"`},
		"duration without unit":      {`{"spec":{"duration":"5"}}`, durationField, `.spec.duration: expected duration, found string "5"`},
		"list with a number":         {`{"spec":{"stringList":["a",1]}}`, stringListField, `.spec.stringList[1]: expected string, found number 1`},
		"string for list":            {`{"spec":{"stringList":"a"}}`, stringListField, `.spec.stringList: expected list of strings, found string "a"`},
		"null for list":              {`{"spec":{"stringList":null}}`, stringListField, `.spec.stringList: expected list of strings, found null`},
		"map with numbers":           {`{"spec":{"stringMap":{"b":2,"a":1}}}`, stringMapField, `.spec.stringMap[a]: expected string, found number 1`},
		"list for map":               {`{"spec":{"stringMap":[]}}`, stringMapField, `.spec.stringMap: expected object with string values, found list`},
		"required member missing":    {`{"spec":{"object":{}}}`, objectField, `.spec.object.host: expected string, found nothing`},
		"required member empty":      {`{"spec":{"object":{"host":""}}}`, objectField, `.spec.object.host: expected a string that is not empty, found string ""`},
		"required member null":       {`{"spec":{"object":{"host":null}}}`, objectField, `.spec.object.host: expected string, found null`},
		"deep member":                {`{"spec":{"object":{"host":"h","labels":{"a":1}}}}`, objectField, `.spec.object.labels[a]: expected string, found number 1`},
		"list for object":            {`{"spec":{"object":[]}}`, objectField, `.spec.object: expected object, found list`},
		"element is no object":       {`{"spec":{"objectList":[{"host":"h"},"x"]}}`, objectListField, `.spec.objectList[1]: expected object, found string "x"`},
		"element with a bad member":  {`{"spec":{"objectList":[{"host":"h","port":"x"}]}}`, objectListField, `.spec.objectList[0].port: expected 32-bit integer, found string "x"`},
		"object for list of objects": {`{"spec":{"objectList":{}}}`, objectListField, `.spec.objectList: expected list of objects, found object`},
		"null for list of objects":   {`{"spec":{"objectList":null}}`, objectListField, `.spec.objectList: expected list of objects, found null`},
		"parent is a string":         {`{"spec":"x"}`, stringField, `.spec: expected object, found string "x"`},
		"parent is a list":           {`{"spec":[]}`, stringField, `.spec: expected object, found list`},
		"first place unusable":       {`{"status":{"new":{"place":1},"place":"b"}}`, placesField, `.status.new.place: expected string, found number 1`},
		"first place null":           {`{"status":{"new":{"place":null},"place":"b"}}`, placesField, `.status.new.place: expected string, found null`},
		"first place out of reach":   {`{"status":{"new":1,"place":"b"}}`, placesField, `.status.new: expected object, found number 1`},
		"label is a number":          {`{"metadata":{"labels":{"example.com/label":1}}}`, labelField, `.metadata.labels[example.com/label]: expected string, found number 1`},
		"labels are a list":          {`{"metadata":{"labels":[]}}`, labelField, `.metadata.labels: expected object, found list`},
		"annotation does not parse":  {`{"metadata":{"annotations":{"example.com/annotation":"soon"}}}`, annotationField, `.metadata.annotations[example.com/annotation]: expected duration, found string "soon"`},
	} {
		t.Run(name, func(t *testing.T) {
			got, found, err := readField(t, tc.source, "v2", tc.field)
			if found {
				t.Errorf("an unusable value was read: %v", got)
			}
			if want := tc.want + " (contract version v2)"; err == nil || err.Error() != want {
				t.Errorf("error: %v\n want: %s", err, want)
			}
		})
	}
}

// Nobody knows whether an object is paused whose annotations are no object.
func TestPresenceOutOfReach(t *testing.T) {
	present, _, err := readField(t, `{"metadata":{"annotations":"x"}}`, "v2", presenceField)
	if want := `.metadata.annotations: expected object, found string "x" (contract version v2)`; present != false || err == nil || err.Error() != want {
		t.Errorf("got %v, %v", present, err)
	}
}

func TestReadByVersion(t *testing.T) {
	const both = `{"status":{"after":{"moved":true},"moved":false,"fresh":"x"}}`
	for _, tc := range []struct {
		version   string
		field     int
		want      any
		wantFound bool
	}{
		{"v2", movedField, true, true},
		{"v1", movedField, false, true},
		{"v2", newField, "x", true},
		{"v1", newField, "", false},
	} {
		got, found, err := readField(t, both, tc.version, tc.field)
		if got != tc.want || found != tc.wantFound || err != nil {
			t.Errorf("%s %s = %v, %t, %v", tc.version, thingSpec.Fields[tc.field].Name, got, found, err)
		}
	}
	// A value of the wrong type where another version looks is nobody's business.
	if _, found, err := readField(t, `{"status":{"after":3,"moved":true}}`, "v1", movedField); !found || err != nil {
		t.Errorf("found = %t, error: %v", found, err)
	}
}

func TestErrorsOfSeveralFields(t *testing.T) {
	var r accessor.Reader
	if err := r.Open(thing, parse(t, `{"spec":"x","status":{"place":1,"fresh":"ok"}}`), "v2"); err != nil {
		t.Fatal(err)
	}
	for field := range thingSpec.Fields {
		get(&r, field)
	}
	if fresh, found := r.String(newField).Get(); fresh != "ok" || !found {
		t.Errorf("other fields are not usable: %q, %t", fresh, found)
	}
	err := r.Err()
	fieldErrors, ok := errors.AsType[accessor.FieldErrors](err)
	if !ok {
		t.Fatalf("error is %T", err)
	}
	want := &accessor.FieldError{
		Kind: "Thing", Field: "Int32", Path: ".spec", ContractVersion: "v2", Expected: "object", Found: `string "x"`,
	}
	if diff := cmp.Diff(want, fieldErrors.For("Int32")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if fieldErrors.For("Places") == nil || fieldErrors.For("New") != nil {
		t.Errorf("errors of the wrong fields: %v", err)
	}
	const text = `.spec: expected object, found string "x" (contract version v2); ` +
		`.status.place: expected string, found number 1 (contract version v2)`
	if err.Error() != text {
		t.Errorf("got  %s\nwant %s", err, text)
	}
	if one, ok := errors.AsType[*accessor.FieldError](err); !ok || one.Field != "String" {
		t.Errorf("the first error is %v", one)
	}
}

func TestOpenRefusals(t *testing.T) {
	var r accessor.Reader
	err := r.Open(thing, parse(t, `{"spec":{"string":"x"}}`), "v3")
	if unknown, ok := errors.AsType[*accessor.UnknownVersionError](err); !ok || unknown.Version != "v3" {
		t.Errorf("error is %T", err)
	}
	if want := `Thing: contract version "v3" is unknown: use one of v2, v1`; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if _, found := r.String(stringField).Get(); found {
		t.Error("a reader without a version read something")
	}
	var none accessor.Reader
	err = none.Open(thing, nil, "v2")
	if want := `.: expected object, found nothing (contract version v2)`; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	for field := range thingSpec.Fields {
		if _, found := get(&none, field); found && field != presenceField {
			t.Errorf("%s was read from nothing", thingSpec.Fields[field].Name)
		}
	}
}

func TestValueOr(t *testing.T) {
	var r accessor.Reader
	if err := r.Open(thing, parse(t, `{"spec":{"string":"x","bool":"no"}}`), "v2"); err != nil {
		t.Fatal(err)
	}
	if got := r.String(stringField).Or("default"); got != "x" {
		t.Errorf("got %q", got)
	}
	if got := r.Bool(boolField).Or(true); !got {
		t.Error("an unusable value was not replaced by the default")
	}
}

func TestFindings(t *testing.T) {
	for name, tc := range map[string]struct {
		source, version string
		want            []accessor.Finding
	}{
		"false of the other version only": {`{"status":{"moved":false}}`, "v2", nil},
		"value of the other version only": {`{"status":{"moved":true}}`, "v2", []accessor.Finding{{
			Kind: "Thing", Field: "Moved", Path: ".status.after.moved", ContractVersion: "v2",
			FoundPath: ".status.moved", FoundContractVersion: "v1",
		}}},
		"the reverse": {`{"status":{"after":{"moved":true}}}`, "v1", []accessor.Finding{{
			Kind: "Thing", Field: "Moved", Path: ".status.moved", ContractVersion: "v1",
			FoundPath: ".status.after.moved", FoundContractVersion: "v2",
		}}},
		"value of the wrong type counts": {`{"status":{"moved":"x"}}`, "v2", []accessor.Finding{{
			Kind: "Thing", Field: "Moved", Path: ".status.after.moved", ContractVersion: "v2",
			FoundPath: ".status.moved", FoundContractVersion: "v1",
		}}},
		"both":                          {`{"status":{"moved":true,"after":{"moved":true}}}`, "v2", nil},
		"own value unusable":            {`{"status":{"moved":true,"after":{"moved":1}}}`, "v2", nil},
		"own value out of reach":        {`{"status":{"moved":true,"after":1}}`, "v2", nil},
		"neither":                       {`{"status":{}}`, "v2", nil},
		"null":                          {`{"status":{"moved":null}}`, "v2", nil},
		"field that this version lacks": {`{"status":{"fresh":"x"}}`, "v1", nil},
		"unknown version":               {`{"status":{"moved":true}}`, "v3", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, thing.Findings(parse(t, tc.source), tc.version)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	const text = "Moved is not at .status.after.moved, where contract version v2 has it, " +
		"but at .status.moved, where contract version v1 has it"
	if got := thing.Findings(parse(t, `{"status":{"moved":true}}`), "v2")[0].String(); got != text {
		t.Errorf("got  %s\nwant %s", got, text)
	}
	if findings := thing.Findings(nil, "v2"); findings != nil {
		t.Errorf("findings of nothing: %v", findings)
	}
}
