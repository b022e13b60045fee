// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

func TestArrivals(t *testing.T) {
	g, a := NewWithT(t), &arrivals{}
	g.Expect(a.progressed()).To(BeFalse(), "nothing has arrived")
	a.reached(3)
	g.Expect(a.progressed()).To(BeTrue())
	g.Expect(a.progressed()).To(BeFalse(), "nothing more")
	a.reached(2)
	g.Expect(a.progressed()).To(BeFalse(), "another attempt has not come so far yet")
	a.reached(4)
	g.Expect(a.progressed()).To(BeTrue())
	a.forget()
	g.Expect(a.progressed()).To(BeFalse())
	a.reached(1)
	g.Expect(a.progressed()).To(BeTrue(), "the attempt before has failed")
}

// An answer counts while it is being read, and not only when it is complete.
func TestWhatArrivesIsCounted(t *testing.T) {
	const event = `{"type":"ADDED","object":{"apiVersion":"example.org/v1","kind":"TestMachine","metadata":{"name":"m","namespace":"ns","resourceVersion":"1"}}}` + "\n"
	more := make(chan struct{})
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for {
			select {
			case _, open := <-more:
				if !open {
					return
				}
				_, _ = io.WriteString(w, event)
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			}
		}
	}))
	defer api.Close()
	defer api.CloseClientConnections() // a watch would not end by itself
	g, a := NewWithT(t), &arrivals{}
	all, err := newClients(withArrivals(&rest.Config{Host: api.URL}))
	g.Expect(err).NotTo(HaveOccurred())
	ctx := a.into(t.Context())
	resource := schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "testmachines"}
	go func() { more <- struct{}{} }() // the headers come with it
	events, err := all.of(InfraMachine, resource, "").WatchWithContext(ctx, metav1.ListOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	for range 3 {
		g.Eventually(events.ResultChan()).Should(Receive())
		g.Expect(a.progressed()).To(BeTrue())
		g.Expect(a.progressed()).To(BeFalse())
		more <- struct{}{}
	}
	g.Eventually(events.ResultChan()).Should(Receive())
	close(more)
	g.Eventually(events.ResultChan()).Should(BeClosed())
}

// What an error says is no part of a list.
func TestErrorsDoNotCount(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "not yet", http.StatusInternalServerError)
	}))
	defer api.Close()
	g, a := NewWithT(t), &arrivals{}
	all, err := newClients(withArrivals(&rest.Config{Host: api.URL}))
	g.Expect(err).NotTo(HaveOccurred())
	resource := schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "testmachines"}
	_, err = all.of(InfraMachine, resource, "").ListWithContext(a.into(t.Context()), metav1.ListOptions{})
	g.Expect(err).To(HaveOccurred())
	g.Expect(a.progressed()).To(BeFalse())
}
