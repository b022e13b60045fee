// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

var heartbeatResource = schema.GroupVersionResource{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1", Resource: "anymachines"}

// BenchmarkHeartbeat measures events of a 20 KB object that change nothing in the contract, from the connection to the
// decision that nobody needs to know: as the informers read them, and as a dynamic client does with pruning behind it.
// cpu-ns/event counts what the whole process used, with the server, which sends bytes that it has made before; unlike
// ns/op it says the same on a machine that has other things to do.
func BenchmarkHeartbeat(b *testing.B) {
	b.Run("packed", func(b *testing.B) {
		all, err := newClients(&rest.Config{Host: heartbeats(b)})
		if err != nil {
			b.Fatal(err)
		}
		measureHeartbeats(b, all.of(InfraMachine, heartbeatResource, "ns").WatchWithContext, func(event watch.Event) (*packed, error) {
			return event.Object.(*packed), nil
		}, (*packed).equalButForVersion)
	})
	b.Run("dynamic", func(b *testing.B) {
		client, err := dynamic.NewForConfig(&rest.Config{Host: heartbeats(b)})
		if err != nil {
			b.Fatal(err)
		}
		measureHeartbeats(b, client.Resource(heartbeatResource).Namespace("ns").Watch, func(event watch.Event) (*packed, error) {
			return pack(InfraMachine, event.Object.(*unstructured.Unstructured))
		}, func(before, after *packed) bool {
			a, errOld := before.unpack()
			b, errNow := after.unpack()
			return errOld == nil && errNow == nil && InfraMachine.contractEqual(a, b)
		})
	})
}

func measureHeartbeats(b *testing.B, open func(context.Context, metav1.ListOptions) (watch.Interface, error), packedOf func(watch.Event) (*packed, error), equal func(before, after *packed) bool) {
	b.Helper()
	events, err := open(b.Context(), metav1.ListOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer events.Stop()
	next := func() *packed {
		object, err := packedOf(<-events.ResultChan())
		if err != nil {
			b.Fatal(err)
		}
		return object
	}
	before := next()
	b.ReportAllocs()
	begin, count := cpuTime(b), 0
	for b.Loop() {
		after := next()
		if after.resourceVersion == before.resourceVersion || !equal(before, after) {
			b.Fatalf("%s, then %s", before.json, after.json)
		}
		before = after
		count++
	}
	b.ReportMetric(float64(cpuTime(b)-begin)/float64(count), "cpu-ns/event")
}

// cpuTime is what the process has used so far.
func cpuTime(tb testing.TB) time.Duration {
	tb.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// heartbeats returns the address of a server whose watches send events about one object without end.
func heartbeats(tb testing.TB) string {
	tb.Helper()
	begin, end, _ := bytes.Cut(eventLine(tb, "MODIFIED", realisticObject(tb)), []byte(`42"`))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for version := 0; r.Context().Err() == nil; version++ {
			_, _ = w.Write(begin)
			_, _ = io.WriteString(w, strconv.Itoa(version)+`"`)
			_, _ = w.Write(end)
			_ = http.NewResponseController(w).Flush()
		}
	}))
	tb.Cleanup(server.Close)
	return server.URL
}

// eventLine is a watch event as an API server writes it.
func eventLine(tb testing.TB, eventType watch.EventType, object any) []byte {
	tb.Helper()
	data, err := utiljson.Marshal(object)
	if err != nil {
		tb.Fatal(err)
	}
	return fmt.Appendf(nil, "{\"type\":%q,\"object\":%s}\n", eventType, data)
}

// realisticObject is an object of about 20 KB that consists of many small values.
func realisticObject(tb testing.TB) map[string]any {
	tb.Helper()
	object := objectOf(100).Object
	disks := make([]any, 80)
	fields := map[string]any{}
	for i := range disks {
		name := fmt.Sprintf("disk-%02d", i)
		disks[i] = map[string]any{
			"name": name, "sizeGiB": int64(i), "encrypted": true, "tags": map[string]any{"purpose": "data", "index": strconv.Itoa(i)},
			"keyID": "arn:cloud:kms:region-1:000000000000:key/" + strings.Repeat("0", 36),
		}
		fields[`k:{"name":"`+name+`"}`] = map[string]any{".": map[string]any{}, "f:name": map[string]any{}, "f:keyID": map[string]any{}}
	}
	object["spec"] = map[string]any{"disks": disks, "providerID": "cloud:///zone-a/i-0123456789"}
	object["metadata"].(map[string]any)["managedFields"] = []any{map[string]any{"manager": "cloud", "fieldsV1": map[string]any{"f:spec": fields}}}
	if data, err := utiljson.Marshal(object); err != nil || len(data) < 18<<10 || len(data) > 22<<10 {
		tb.Fatalf("%d bytes, %v", len(data), err)
	}
	return object
}
