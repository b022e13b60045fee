// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
)

// The clients against what a dynamic client makes of the same answers.

// bothClients returns ours and a dynamic one for the server, at the same resource.
func bothClients(g *WithT, url string) (ours toolscache.ListerWatcherWithContext, theirs dynamic.ResourceInterface) {
	config := &rest.Config{Host: url, UserAgent: "tester"}
	all, err := newClients(config)
	g.Expect(err).NotTo(HaveOccurred())
	theirClient, err := dynamic.NewForConfig(config)
	g.Expect(err).NotTo(HaveOccurred())
	return all.of(InfraMachine, heartbeatResource, "ns"), theirClient.Resource(heartbeatResource).Namespace("ns")
}

// answering returns the address of a server that always answers like this.
func answering(t *testing.T, code int, contentType, body string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
		}
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestRequestsAreThoseOfADynamicClient(t *testing.T) {
	g := NewWithT(t)
	var requests []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests = append(requests, fmt.Sprint(r.Method, " ", r.URL, " ", r.Header))
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"AnyMachineList","apiVersion":"infrastructure.cluster.x-k8s.io/v1beta1","items":[]}`))
	}))
	defer server.Close()
	ours, theirs := bothClients(g, server.URL+"/behind/a/proxy")
	for _, options := range []metav1.ListOptions{
		{},
		{LabelSelector: "a=b,!c", FieldSelector: "metadata.name=x", ResourceVersion: "7", ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan},
		{Limit: 500, Continue: "token/+="},
		{AllowWatchBookmarks: true, SendInitialEvents: new(true), TimeoutSeconds: new(int64(300)), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan},
	} {
		for range 2 {
			requests = nil
			_, err := ours.ListWithContext(t.Context(), options)
			g.Expect(err).NotTo(HaveOccurred())
			_, err = theirs.List(t.Context(), options)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(requests).To(HaveLen(2))
			g.Expect(requests[0]).To(And(Equal(requests[1]), ContainSubstring("tester")))

			requests = nil
			watching, err := ours.WatchWithContext(t.Context(), options)
			g.Expect(err).NotTo(HaveOccurred())
			watching.Stop()
			watching, err = theirs.Watch(t.Context(), options)
			g.Expect(err).NotTo(HaveOccurred())
			watching.Stop()
			g.Expect(requests).To(HaveLen(2))
			g.Expect(requests[0]).To(And(Equal(requests[1]), ContainSubstring("watch=true")))
		}
	}
}

func TestErrorsAreThoseOfADynamicClient(t *testing.T) {
	status := func(err *apierrors.StatusError) string {
		g := NewWithT(t)
		err.ErrStatus.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		data, encodeErr := json.Marshal(&err.ErrStatus)
		g.Expect(encodeErr).NotTo(HaveOccurred())
		return string(data)
	}
	for name, tc := range map[string]struct {
		code              int
		contentType, body string
		is                func(error) bool
	}{
		"not found":          {404, "application/json", status(errNotServed), apierrors.IsNotFound},
		"forbidden":          {403, "application/json", status(errForbidden), apierrors.IsForbidden},
		"expired":            {410, "application/json", status(errExpired), apierrors.IsResourceExpired},
		"internal":           {500, "application/json", status(errInternal), apierrors.IsInternalError},
		"too many":           {429, "application/json", status(errBusy), apierrors.IsTooManyRequests},
		"no such path":       {404, "text/plain; charset=utf-8", "404 page not found\n", apierrors.IsNotFound},
		"old server":         {409, "application/json", `{"kind":"Status","status":"Failure","reason":"Conflict","code":409}`, apierrors.IsConflict},
		"no kind":            {403, "application/json", `{"status":"Failure","reason":"Conflict"}`, apierrors.IsForbidden},
		"of another kind":    {500, "application/json", `{"kind":"X","apiVersion":"v1","metadata":{"name":"x"}}`, apierrors.IsInternalError},
		"no JSON":            {503, "application/json", `<html>`, apierrors.IsServiceUnavailable},
		"nothing":            {401, "", "", apierrors.IsUnauthorized},
		"a proxy":            {502, "text/html", "<html>bad gateway</html>", apierrors.IsUnexpectedServerError},
		"failure that is OK": {200, "application/json", status(errForbidden), apierrors.IsForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			ours, theirs := bothClients(g, answering(t, tc.code, tc.contentType, tc.body))
			_, err := ours.ListWithContext(t.Context(), metav1.ListOptions{})
			g.Expect(tc.is(err)).To(BeTrue(), "%v", err)
			if tc.code == http.StatusOK {
				return // a dynamic client takes it for an empty list
			}
			_, want := theirs.List(t.Context(), metav1.ListOptions{})
			g.Expect(err).To(Equal(want))
			_, err = ours.WatchWithContext(t.Context(), metav1.ListOptions{})
			_, want = theirs.Watch(t.Context(), metav1.ListOptions{})
			g.Expect(err).To(Equal(want))
		})
	}
}

func TestListsThatAreNone(t *testing.T) {
	for body, want := range map[string]string{
		`{"kind":"AnyMachineList","apiVersion":"v1"}`: "expected a list, found a AnyMachineList without items",
		`{"items":[{"metadata":{}},1]}`:               `item 1 of the list: expected a JSON object, found "1" at offset 0`,
		`{"items":[{"metadata":{"name":1}}]}`:         "item 0 of the list: reading the metadata of an object: ",
		`{"items":[],"metadata":1}`:                   "reading the metadata of a list: ",
		`{"items":[`:                                  "invalid JSON at offset 10 of 10: unexpected end of JSON input",
		`[]`:                                          "unusable JSON at offset 1 of 2: ",
	} {
		g := NewWithT(t)
		ours, _ := bothClients(g, answering(t, http.StatusOK, "application/json", body))
		list, err := ours.ListWithContext(t.Context(), metav1.ListOptions{})
		g.Expect(err).To(MatchError(ContainSubstring(want)))
		g.Expect(list).To(BeNil())
	}
}

// What client-go's reflector and pager do with a list.
func TestListIsAListToClientGo(t *testing.T) {
	g := NewWithT(t)
	ours, _ := bothClients(g, answering(t, http.StatusOK, "application/json", `{"apiVersion":"a/v1","kind":"L","metadata":{"resourceVersion":"9","continue":"c","remainingItemCount":3},
		"items":[{"metadata":{"name":"a","namespace":"ns","uid":"u","resourceVersion":"4","labels":{"x":"y"}},"spec":{"providerID":"p","x":1}},{"metadata":{"name":"b"}}]}`))
	list, err := ours.ListWithContext(t.Context(), metav1.ListOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	about, err := meta.ListAccessor(list)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect([]any{about.GetResourceVersion(), about.GetContinue(), *about.GetRemainingItemCount()}).To(Equal([]any{"9", "c", int64(3)}))
	items, err := meta.ExtractListWithAlloc(list)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(items).To(Equal([]runtime.Object{
		&packed{namespace: "ns", name: "a", uid: "u", resourceVersion: "4", json: []byte(`{"metadata":{"name":"a","namespace":"ns","uid":"u","resourceVersion":"4"},"spec":{"providerID":"p"}}`)},
		&packed{name: "b", json: []byte(`{"metadata":{"name":"b"}}`)},
	}))
	count := 0
	g.Expect(meta.EachListItem(list.DeepCopyObject(), func(runtime.Object) error { count++; return nil })).To(Succeed())
	g.Expect(count).To(Equal(2))
	g.Expect(items[0].DeepCopyObject()).To(Equal(items[0]))
}

// What is dropped is not decoded: a few values are made for each object, where its maps would be thousands.
func TestDecodingMakesFewValues(t *testing.T) {
	g := NewWithT(t)
	const many, few = 50, 100
	event := eventLine(t, watch.Modified, realisticObject(t))
	g.Expect(testing.AllocsPerRun(10, func() {
		var got metav1.WatchEvent
		_, _, err := eventDecoder{decoder{InfraMachine}}.Decode(event, nil, &got)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(decoder{InfraMachine}.object(got.Object.Raw, nil)).NotTo(BeNil())
	})).To(BeNumerically("<", few))
	list, err := json.Marshal(map[string]any{"kind": "L", "items": slices.Repeat([]any{realisticObject(t)}, many)})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(testing.AllocsPerRun(10, func() {
		_, err := decoder{InfraMachine}.list(list, &packedList{})
		g.Expect(err).NotTo(HaveOccurred())
	})).To(BeNumerically("<", many*few))
}

// eventsOf returns all events of a watch, each as a line of what matters.
func eventsOf(g *WithT, open func(context.Context, metav1.ListOptions) (watch.Interface, error)) []string {
	events, err := open(context.Background(), metav1.ListOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	defer events.Stop()
	var lines []string
	for event := range events.ResultChan() {
		if status, ok := event.Object.(*metav1.Status); ok {
			lines = append(lines, fmt.Sprint(event.Type, " ", status.Code, " ", status.Reason, " ", status.Message[:min(len(status.Message), 50)]))
			continue
		}
		object, err := meta.Accessor(event.Object)
		g.Expect(err).NotTo(HaveOccurred())
		lines = append(lines, fmt.Sprint(event.Type, " ", object.GetNamespace(), "/", object.GetName(), " ", object.GetUID(), " ", object.GetResourceVersion(), " ",
			object.GetAnnotations()[metav1.InitialEventsAnnotationKey]))
	}
	return lines
}

func TestEventsAreThoseOfADynamicClient(t *testing.T) {
	object := func(name string) string {
		return `{"apiVersion":"a/v1","kind":"AnyMachine","metadata":{"name":"` + name + `","namespace":"ns","resourceVersion":"4","uid":"u"},"spec":{"x":"` + strings.Repeat("y", 3000) + `\n"}}`
	}
	line := func(kind, object string) string { return `{"type":"` + kind + `","object":` + object + "}\n" }
	bookmark := line("BOOKMARK", `{"apiVersion":"a/v1","kind":"AnyMachine","metadata":{"annotations":{"k8s.io/initial-events-end":"true"},"creationTimestamp":null,"resourceVersion":"9"}}`)
	expired := line("ERROR", `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version","reason":"Expired","code":410}`)
	long := line("ADDED", strings.Replace(object("long"), "yyy", strings.Repeat("z", 200_000), 1))
	indented := "{\n  \"type\": \"ADDED\",\n  \"object\": " + strings.ReplaceAll(object("indented"), ",", ",\n    ") + "\n}\n"
	a, b := line("ADDED", object("a")), line("MODIFIED", object("b"))
	for name, tc := range map[string]struct {
		body  string
		count int
	}{
		"none":                     {"", 0},
		"as they are written":      {a + b + line("DELETED", object("a")) + bookmark + b, 5},
		"an error":                 {a + expired, 2},
		"long ones":                {long + a + long + b, 4},
		"empty lines":              {"\n\n" + a + "\r\n \n" + b + "\n", 2},
		"no line end":              {a + strings.TrimSpace(b), 2},
		"indented ones":            {a + indented + b + indented, 4},
		"members in another order": {`{"object":` + object("a") + `,"type":"ADDED"}` + "\n" + b, 2},
		"another member":           {`{"type":"ADDED","object":` + object("a") + `,"x":1}` + "\n" + b, 2},
		"a repeated member":        {`{"type":"ADDED","object":` + object("a") + `,"type":"DELETED"}` + "\n" + b, 2},
		"escapes":                  {`{"type":"ADDED","object":` + strings.Replace(object("a"), "name", `\u006eame`, 1) + "}\n" + b, 2},
		"an unknown type":          {a + line("RENAMED", object("b")) + b, 2},
		"cut in an event":          {a + b[:len(b)/2], 1},
		"cut in its end":           {a + strings.TrimSuffix(b, "}\n"), 1},
		"cut in its begin":         {a + b[:5], 1},
		"an object without a kind": {a + line("ADDED", `{"metadata":{"name":"x"}}`) + b, 2},
		"an object that is none":   {a + line("ADDED", `[1]`) + b, 2},
		"JSON that is none":        {a + `{"type":"ADDED","object":{"x":tru}}` + "\n" + b, 2},
		"something else":           {a + "<html>\n" + b, 2},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			ours, theirs := bothClients(g, answering(t, http.StatusOK, "application/json", tc.body))
			got := eventsOf(g, ours.WatchWithContext)
			g.Expect(got).To(HaveLen(tc.count), "%q", got)
			g.Expect(got).To(Equal(eventsOf(g, theirs.Watch)))
		})
	}
}

// A watch must not go on after what it could not read, nor end as if nothing had been. client-go watches again then, ever
// more slowly. A dynamic client would pass on these, half understood or with what comes before the mistake.
func TestEventsThatCanNotBeRead(t *testing.T) {
	for _, body := range []string{
		`{"type":"ADDED","object":{"kind":"X","apiVersion":"v1","metadata":{"name":"n","resourceVersion":{}}}}`,
		`{"type":"ADDED","object":{"kind":"X","apiVersion":"v1","metadata":{"name":"n"}}}x`,
		`{"type":"BOOKMARK","object":{"kind":"X","apiVersion":"v1","metadata":{"annotations":[]}}}`,
		`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","code":"x"}}`,
	} {
		g := NewWithT(t)
		ours, _ := bothClients(g, answering(t, http.StatusOK, "application/json", body+"\n"+body+"\n"))
		g.Expect(eventsOf(g, ours.WatchWithContext)).To(ConsistOf(HavePrefix("ERROR 500 InternalError an error on the server (\"unable to decode")), body)
	}
}

func TestClientsShareTheRateLimit(t *testing.T) {
	g := NewWithT(t)
	all, err := newClients(&rest.Config{Host: "https://any.example.org", QPS: 3, Burst: 4})
	g.Expect(err).NotTo(HaveOccurred())
	limit := all[InfraMachine].GetRateLimiter()
	g.Expect(limit.QPS()).To(BeEquivalentTo(3))
	g.Expect(all[BootstrapConfig].GetRateLimiter()).To(BeIdenticalTo(limit))
	unlimited, err := newClients(&rest.Config{Host: "https://any.example.org", QPS: -1})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect([]any{unlimited[InfraMachine].GetRateLimiter(), unlimited[BootstrapConfig].GetRateLimiter()}).To(HaveEach(BeNil()))
}

// Frames come as they were sent, however the connection cuts them and whatever room there is for them.
func TestFramesOfASlowConnection(t *testing.T) {
	sent := []string{`{"type":"ADDED"}` + "\n", `{"type":"` + strings.Repeat("x", 70_000) + `"}` + "\n", `{"type":""}` + "\n", `{ "type": [1] }`, `{"type":"parsed now"}`}
	for _, slow := range []func(io.Reader) io.Reader{iotest.OneByteReader, iotest.HalfReader, iotest.DataErrReader} {
		for _, room := range []int{1, 17, 1 << 20} {
			g := NewWithT(t)
			frames := framer{}.NewFrameReader(io.NopCloser(slow(strings.NewReader(strings.Join(sent, "")))))
			var got []string
			var frame []byte
			for buffer := make([]byte, room); ; {
				n, err := frames.Read(buffer)
				frame = append(frame, buffer[:n]...)
				if errors.Is(err, io.ErrShortBuffer) {
					continue
				}
				if errors.Is(err, io.EOF) {
					break
				}
				g.Expect(err).NotTo(HaveOccurred())
				got, frame = append(got, string(frame)), nil
			}
			g.Expect(got).To(Equal(sent))
		}
	}
}

func TestBrokenConnection(t *testing.T) {
	g := NewWithT(t)
	broken := errors.New("connection reset")
	frames := framer{}.NewFrameReader(io.NopCloser(io.MultiReader(strings.NewReader(`{"type":"ADD`), iotest.ErrReader(broken))))
	_, err := frames.Read(make([]byte, 1024))
	g.Expect(err).To(MatchError(broken))
}
