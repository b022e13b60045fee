// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package accessor_test

import (
	"bytes"
	gojson "encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"
)

// checkPruneJSON compares PruneJSON with decoding and Prune.
func checkPruneJSON(tb rapid.TB, source []byte) {
	tb.Helper()
	var want map[string]any
	wantErr := json.Unmarshal(source, &want)
	if wantErr == nil && want == nil {
		wantErr = fmt.Errorf("null is no object")
	}
	before := bytes.Clone(source)
	pruned, rest, err := thing.PruneJSON([]byte("kept"), source)
	if !bytes.Equal(before, source) {
		tb.Fatalf("the source was written to: %q became %q", before, source)
	}
	if err == nil && len(bytes.TrimLeft(rest, " \t\r\n")) > 0 {
		err = fmt.Errorf("more than one value")
	}
	if (wantErr == nil) != (err == nil) {
		tb.Fatalf("%q: decoding says %v, PruneJSON says %v", source, wantErr, err)
	}
	if err != nil {
		return
	}
	pruned, ok := bytes.CutPrefix(pruned, []byte("kept"))
	if !ok {
		tb.Fatalf("%q: what was in dst is gone: %q", source, pruned)
	}
	object := &unstructured.Unstructured{Object: want}
	thing.Prune(object)
	var got map[string]any
	if err := json.Unmarshal(pruned, &got); err != nil || !utf8.Valid(pruned) {
		tb.Fatalf("%q became %q: %v", source, pruned, err)
	}
	if wholeNumbers(object.Object); !reflect.DeepEqual(object.Object, wholeNumbers(got)) {
		tb.Fatalf("%q became %q, decoded and pruned it is %v", source, pruned, object.Object)
	}
}

// wholeNumbers turns floats into integers where encoding and decoding would do so: 1.0 is written as 1.
func wholeNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			v[key] = wholeNumbers(v[key])
		}
	case []any:
		for i := range v {
			v[i] = wholeNumbers(v[i])
		}
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<62 {
			return int64(v)
		}
	}
	return v
}

// oddities are sources of JSON objects, or of something close to one, that a scanner may get wrong.
func oddities() []string {
	deep := func(n int) string {
		return `{"spec":{"stringMap":` + strings.Repeat(`[`, n) + strings.Repeat(`]`, n) + `,"string":"x"},"other":` + strings.Repeat(`{"a":`, n) + "1" + strings.Repeat(`}`, n) + `}`
	}
	list := []string{
		// Spelling.
		"", " ", "null", "[]", "1", `"spec"`, "true", "{}", " \t\r\n{ } \n", "{} {}", "{}x", "\xef\xbb\xbf{}", "\v{}",
		`{"spec" : { "string" : "x" , "int32" : 1 } , "x" : [ 1 , 2 ] }`,
		// Repeated keys: the last counts, and nothing of the one before is left.
		`{"spec":{"string":"a","string":"b"}}`, `{"spec":{"string":"a"},"spec":{"int32":1}}`, `{"spec":{"string":"a"},"spec":null}`,
		`{"spec":{"stringMap":{"a":"b","a":"c"}}}`, `{"spec":{"object":{"host":"a","host":null}}}`, `{"x":1,"x":2}`,
		`{"spec":{"objectList":[{"host":"a"}],"objectList":[{"port":1}]}}`, `{"metadata":{"ownerReferences":[{"a":1,"a":{}}]}}`,
		// Keys with escapes, and of another case.
		`{"sp\u0065c":{"string":"a"}}`, `{"spec":{"string":"a"},"sp\u0065c":{"string":"b"}}`, `{"spec":{"stringMap":{"\u0061\"\\":"b"}}}`,
		`{"SPEC":{"string":"a"},"spec":{"String":"b"}}`, `{"":1,"spec":{"":1}}`, `{"x":{"a\nb":1,"\ud800":1}}`,
		// Strings.
		`{"spec":{"string":"\u00e4\ud83d\ude00\ud800\/\b\f\n\r\t<&>"}}`, "{\"spec\":{\"string\":\"\xff\"}}", "{\"x\":\"\xff\",\"\xfe\":1}",
		"{\"spec\":{\"\xff\":1,\"stringMap\":{\"\xff\":\"\xed\xa0\x80\"}}}", "{\"spec\":{\"string\":\"ä\u2028😀\"}}",
		"{\"spec\":{\"string\":\"a\nb\"}}", "{\"x\":\"a\x00b\"}", "{\"x\":\"a\x7fb\"}", "{\"x\":\"a\nb\",\"y\":\"some more text\"}", "{\"spec\":{\"string\":\"a\x1fb\"},\"y\":\"some more text\"}",
		"{\"x\":\"1234567\x1f\"  ,  \"y\":1}", "{\"x\":\"\x7f\x80!#[]\",\"y\":\"some more text\"}", `{"x":"\x"}`, `{"x":"\u12g4"}`, `{"x":"\u12"}`, `{"x":"\`, `{"x":"`, `{"x`,
		// Numbers.
		`{"spec":{"int64":9223372036854775807}}`, `{"spec":{"int64":-9223372036854775808}}`, `{"spec":{"int64":9223372036854775808}}`,
		`{"spec":{"int64":1.0,"int32":-0,"string":-0.0}}`, `{"spec":{"int64":1e3,"int32":1E-3}}`, `{"spec":{"int64":0.1234567890123456789}}`,
		`{"x":1e400}`, `{"spec":{"string":1e400}}`, `{"x":` + strings.Repeat("9", 309) + `}`, `{"x":` + strings.Repeat("9", 308) + `}`, `{"x":0.` + strings.Repeat("9", 400) + `}`,
		`{"x":01}`, `{"x":-}`, `{"x":+1}`, `{"x":1.}`, `{"x":.1}`, `{"x":1e}`, `{"x":1e+}`, `{"x":-01}`, `{"x":0x1}`, `{"x":1 2}`, `{"x":NaN}`, `{"x":1`,
		// Words.
		`{"x":true,"y":false,"z":null}`, `{"x":tru}`, `{"x":nul`, `{"x":nulll}`, `{"x":True}`, `{"spec":nul}`, `{"status":truee}`,
		// Brackets and commas.
		`{`, `{"x"`, `{"x":`, `{"x":1`, `{"x":1,`, `{"x":1,}`, `{,"x":1}`, `{"x":1 "y":2}`, `{"x":1,,"y":2}`, `{"x" 1}`, `{x:1}`, `{'x':1}`, `{"x":}`, `{1:1}`,
		`{"x":[}`, `{"x":[1,]}`, `{"x":[,1]}`, `{"x":[1 2]}`, `{"x":[1}`, `{"x":{]}`, `{"x":[]]}`, `{"x":{}}}`, `{"spec":{"objectList":[{},]}}`, `{"spec":{"objectList":[{"host":"h"}`,
		`{"spec":{"objectList":[1,{"host":"h"},[],null,{"x":1}]}}`, `{"spec":{"objectList":[ ]}}`, `{"spec":{"string":"x",}}`, `{"spec":{"string":"x"`, `{"spec":{"string" "x"}}`,
		// Where the mask ends.
		`{"spec":{"object":{"labels":{"a":1}},"objectList":{"host":1},"stringList":{"host":1}}}`, `{"status":{"after":{"moved":{"a":1}},"new":{"place":{}}}}`,
		`{"spec":null,"status":{"new":null,"after":{"x":{}}},"metadata":{"labels":{},"annotations":null}}`, `{"apiVersion":null,"kind":{},"metadata":{"name":null,"uid":1}}`,
	}
	for _, n := range []int{1, 63, 64, 65, 9990, 10_001, 20_000} {
		list = append(list, deep(n))
	}
	return list
}

func TestPruneJSONOfOddities(t *testing.T) {
	for _, source := range oddities() {
		t.Run(fmt.Sprintf("%.60q", source), func(t *testing.T) { checkPruneJSON(t, []byte(source)) })
	}
}

// Whatever is cut off is no object, and nothing that is wrong is read past the end.
func TestPruneJSONOfCutObjects(t *testing.T) {
	source := `{"metadata":{"name":"n","x":[1,{"a":"\u00e4"}]},"spec":{"string":"x\n","objectList":[{"host":"h"},null,-1.5]},"status":{"moved":true}} `
	for i := range len(source) + 1 {
		cut := make([]byte, i)
		copy(cut, source)
		checkPruneJSON(t, cut)
	}
}

// What is usual is not decoded, so that it keeps its order and its spelling.
func TestPruneJSONKeepsSpelling(t *testing.T) {
	for source, want := range map[string]string{
		`{"spec":{"string":"\u0061<","foreign":1,"int64":1.0},"metadata":{"uid":"u","managedFields":[],"name":"n"},"x":{}}`: `{"spec":{"string":"\u0061<","int64":1.0},"metadata":{"uid":"u","name":"n"}}`,
		"{\n  \"spec\": {\n    \"stringList\": [ \"a\" ]\n  }\n}\n":                                                         `{"spec":{"stringList":[ "a" ]}}`,
	} {
		got, _, err := thing.PruneJSON(nil, []byte(source))
		if err != nil || string(got) != want {
			t.Errorf("got  %s, %v\nwant %s", got, err, want)
		}
	}
}

func TestPruneJSONReturnsWhatFollows(t *testing.T) {
	for _, object := range []string{`{"spec":{"string":"x"}}`, `{"sp\u0065c":{"string":"x"}}`} {
		for _, follows := range []string{"", "}", ",{}", "\n"} {
			pruned, rest, err := thing.PruneJSON(nil, []byte(" "+object+follows))
			if err != nil || string(pruned) != `{"spec":{"string":"x"}}` || string(rest) != follows {
				t.Errorf("%s%s: %s, %q, %v", object, follows, pruned, rest, err)
			}
		}
	}
}

func TestPruneJSONNamesTheOffset(t *testing.T) {
	for source, want := range map[string]string{
		``:                       `JSON ends too early, at offset 0: unexpected EOF`,
		`{"spec":{"string":"x"`:  `JSON ends too early, at offset 21: unexpected EOF`,
		`{"spec":{"string":x}}`:  `invalid JSON at offset 19 of 21: invalid character 'x' looking for beginning of value`,
		` [1]`:                   `expected a JSON object, found "[1]" at offset 1`,
		`null`:                   `expected a JSON object, found "null" at offset 0`,
		`{"spec":1e999}`:         `unusable JSON at offset 14 of 14: json: cannot unmarshal number 1e999 into Go value of type float64`,
		strings.Repeat("[", 1e5): `invalid JSON at offset 10001 of 100000: invalid character '[' exceeded max depth`,
	} {
		_, _, err := thing.PruneJSON(nil, []byte(source))
		if err == nil || err.Error() != want {
			t.Errorf("%.30s: got %v, want %s", source, err, want)
		}
	}
}

// Growing the result counts twice under the race detector.
func TestPruneJSONAllocatesTheResultOnly(t *testing.T) {
	source := []byte(`{"metadata":{"name":"n"},"spec":{"string":"x"},"x":[` + strings.Repeat(`{"a":["\n",1.5,true,null]},`, 1000) + `{}]}`)
	if allocations := testing.AllocsPerRun(100, func() { _, _, _ = thing.PruneJSON(nil, source) }); allocations > 2 {
		t.Errorf("%v allocations", allocations)
	}
}

func TestPruneListJSON(t *testing.T) {
	for source, want := range map[string]string{
		`{"kind":"L","metadata":{"resourceVersion":"1","continue":"c"},"items":[{"spec":{"string":"x","y":1}},{"x":1}]}`: `{"kind":"L","metadata":{"resourceVersion":"1","continue":"c"}}|{"spec":{"string":"x"}}|{}`,
		` { "items" : [ {} , {} ] , "kind" : "L" } `:          `{"kind":"L"}|{}|{}`,
		`{"items":[],"kind":"L"}`:                             `{"kind":"L"}|`,
		`{"items":null}`:                                      `{}|`,
		`{"kind":"L"}`:                                        `{"kind":"L"} without items`,
		`{"items":[{"x":1}],"items":[]}`:                      `{}|`,
		`{"it\u0065ms":[{"spec":{"string":"x"}}],"kind":"L"}`: `{"kind":"L"}|{"spec":{"string":"x"}}`,
		`{"items":[{"spec":{"string":"a","string":"b"}},{"spec":{"string":"c"}}]}`: `{}|{"spec":{"string":"b"}}|{"spec":{"string":"c"}}`,
		`{"items":[{},null]}`: `item 1 of the list: expected a JSON object, found "null" at offset 0`,
		`{"items":{}}`:        `items of the list: json: cannot unmarshal object into Go value of type []json.RawMessage`,
		`{"items":[{}]} x`:    `invalid JSON at offset 16 of 16: invalid character 'x' after top-level value`,
		`{"items":[{}`:        `invalid JSON at offset 12 of 12: unexpected end of JSON input`,
		`[]`:                  `unusable JSON at offset 1 of 2: json: cannot unmarshal array into Go value of type map[string]json.RawMessage`,
	} {
		list, items, err := thing.PruneListJSON([]byte(source))
		got := string(list)
		switch {
		case err != nil:
			got = err.Error()
		case items == nil:
			got += " without items"
		default:
			got += "|" + string(bytes.Join(items, []byte("|")))
		}
		if got != want {
			t.Errorf("%s\ngot  %s\nwant %s", source, got, want)
		}
	}
}

// anySource generates the JSON of objects, written as people and machines do, now and then with a mistake in it.
func anySource() *rapid.Generator[[]byte] {
	return rapid.Custom(func(t *rapid.T) []byte {
		data, err := gojson.Marshal(anyThing().Draw(t, "thing").Object)
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "indented") {
			var indented bytes.Buffer
			_ = gojson.Indent(&indented, data, "", "\t")
			data = indented.Bytes()
		}
		for range rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "changes") {
			i := rapid.IntRange(0, len(data)).Draw(t, "at")
			cut := rapid.IntRange(0, min(3, len(data)-i)).Draw(t, "cut")
			insert := rapid.SampledFrom([]string{"", "", ",", "{", "}", "[", "]", `"`, `\`, `\u0061`, "0", "-", ".5", "e9", " ", "null", "\xff", "ä",
				`"spec":{},`, `"string":1,`, `"objectList":[{"host":"x"}],`, `"metadata":null,`}).Draw(t, "insert")
			data = append(append(append([]byte{}, data[:i]...), insert...), data[i+cut:]...)
		}
		return data
	})
}

func TestPruneJSONIsDecodingAndPruning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkPruneJSON(t, anySource().Draw(t, "source")) })
}

func FuzzPruneJSON(f *testing.F) {
	for _, source := range oddities() {
		if len(source) < 1000 {
			f.Add([]byte(source))
		}
	}
	f.Fuzz(func(t *testing.T, source []byte) { checkPruneJSON(t, source) })
}
