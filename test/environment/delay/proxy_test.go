// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package delay_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/machinist-dev/machinist/test/environment/delay"
	"github.com/machinist-dev/machinist/test/environment/suite"
)

func TestDelay(t *testing.T) {
	RegisterFailHandler(Fail)
	suite.SetDefaults()
	RunSpecs(t, "Delaying proxy")
}

// server answers like an API server as far as a proxy can tell: a watch sends the lines of its resource as the spec
// provides them, and everything else is answered with the name of who asks.
type server struct {
	*httptest.Server
	lines map[string]chan string
	ended chan string
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("watch") == "" {
		_, _ = io.WriteString(w, r.Header.Get("Authorization")+" by "+r.Header.Get("User-Agent"))
		return
	}
	defer func() { s.ended <- r.URL.Path }()
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	for {
		select {
		case line, ok := <-s.lines[r.URL.Path]:
			if !ok {
				return
			}
			_, _ = io.WriteString(w, line)
			w.(http.Flusher).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

const late = 300 * time.Millisecond

var _ = Describe("the proxy", func() {
	var (
		upstream *server
		proxy    *delay.Proxy
		client   *http.Client
	)
	BeforeEach(func(ctx SpecContext) {
		before := goleak.IgnoreCurrent()
		DeferCleanup(func() { Expect(goleak.Find(before)).To(Succeed()) })
		upstream = &server{lines: map[string]chan string{"/apis/g/v1/machines": make(chan string, 10), "/api/v1/nodes": make(chan string, 10)}, ended: make(chan string, 10)}
		upstream.Server = httptest.NewTLSServer(upstream)
		DeferCleanup(upstream.Close)
		var err error
		proxy, err = delay.Start(ctx, &rest.Config{
			Host: upstream.URL, BearerToken: "secret", TLSClientConfig: rest.TLSClientConfig{Insecure: true},
		})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { Expect(proxy.Close()).To(Succeed()) })
		transport := &http.Transport{}
		DeferCleanup(transport.CloseIdleConnections)
		client = &http.Client{Transport: transport}
	})

	get := func(ctx context.Context, path string) *http.Response {
		GinkgoHelper()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, proxy.Config().Host+path, nil)
		Expect(err).NotTo(HaveOccurred())
		request.Header.Set("User-Agent", "tester")
		response, err := client.Do(request)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(response.Body.Close)
		return response
	}
	// watching returns what arrives as it arrives; it is closed with the watch.
	watching := func(ctx context.Context, path string) *gbytes.Buffer {
		GinkgoHelper()
		response := get(ctx, path)
		Expect(response.StatusCode).To(Equal(http.StatusOK))
		return gbytes.BufferReader(response.Body)
	}
	const machines, nodes = "/apis/g/v1/machines", "/api/v1/nodes"

	It("passes requests on with its own access and the client's name", func(ctx SpecContext) {
		proxy.Delay(time.Hour)
		body, err := io.ReadAll(get(ctx, machines).Body)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(body)).To(Equal("Bearer secret by tester"))
	})

	It("hands events on at once without a delay", func(ctx SpecContext) {
		lines := watching(ctx, machines+"?watch=true")
		start := time.Now()
		upstream.lines[machines] <- "a\n"
		Eventually(lines).Should(gbytes.Say("a"))
		Expect(time.Since(start)).To(BeNumerically("<", late))
	})

	It("holds each event back for as long as asked, and keeps their order", func(ctx SpecContext) {
		proxy.Delay(late)
		lines := watching(ctx, machines+"?watch=1")
		start := time.Now()
		upstream.lines[machines] <- "a\nb"
		upstream.lines[machines] <- "c\n"
		Eventually(lines).Should(gbytes.Say("a"))
		Expect(time.Since(start)).To(BeNumerically(">=", late))
		Eventually(lines).Should(gbytes.Say("bc"))
		By("also the end of the watch")
		start = time.Now()
		close(upstream.lines[machines])
		Eventually(lines.Closed).Should(BeTrue())
		Expect(time.Since(start)).To(BeNumerically(">=", late))
	})

	It("delays the resources that are named, and lets go what it holds when the delay ends", func(ctx SpecContext) {
		proxy.Delay(time.Hour, "machines")
		machineLines, nodeLines := watching(ctx, machines+"?watch=true"), watching(ctx, nodes+"?watch=true")
		upstream.lines[machines] <- "m\n"
		upstream.lines[nodes] <- "n\n"
		Eventually(nodeLines).Should(gbytes.Say("n"))
		Expect(machineLines.Contents()).To(BeEmpty())
		proxy.Delay(0)
		Eventually(machineLines).Should(gbytes.Say("m"))
	})

	It("ends watches that expire, loses what they held, and refuses them until there was a list", func(ctx SpecContext) {
		proxy.Delay(time.Hour)
		machineLines, nodeLines := watching(ctx, machines+"?watch=true&resourceVersion=5"), watching(ctx, nodes+"?watch=true")
		upstream.lines[machines] <- "lost\n"
		proxy.Expire("machines")
		Eventually(machineLines.Closed).Should(BeTrue())
		Expect(machineLines.Contents()).To(BeEmpty())
		Eventually(upstream.ended).Should(Receive(Equal(machines)))
		Expect(nodeLines.Closed()).To(BeFalse())

		resources, err := dynamic.NewForConfig(proxy.Config())
		Expect(err).NotTo(HaveOccurred())
		machineClient := resources.Resource(schema.GroupVersionResource{Group: "g", Version: "v1", Resource: "machines"})
		for range 2 {
			_, err = machineClient.Watch(ctx, metav1.ListOptions{ResourceVersion: "5"})
			Expect(apierrors.IsResourceExpired(err)).To(BeTrue(), "%v", err)
		}
		By("a watch that starts with a list")
		proxy.Delay(0)
		events, err := machineClient.Watch(ctx, metav1.ListOptions{SendInitialEvents: new(true), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
		Expect(err).NotTo(HaveOccurred())
		upstream.lines[machines] <- `{"type":"ADDED","object":{"apiVersion":"g/v1","kind":"Machine","metadata":{"name":"m"}}}` + "\n"
		var event watch.Event
		Eventually(events.ResultChan()).Should(Receive(&event))
		Expect(event.Object.(*unstructured.Unstructured).GetName()).To(Equal("m"))
		events.Stop()
		By("now it can be resumed again")
		Expect(get(ctx, machines+"?watch=true&resourceVersion=5").StatusCode).To(Equal(http.StatusOK))
	})

	It("ends the watch at the API server when its client goes away, also while an event is held back", func(ctx SpecContext) {
		proxy.Delay(time.Hour)
		watchContext, goAway := context.WithCancel(ctx)
		lines := watching(watchContext, machines+"?watch=true")
		upstream.lines[machines] <- "held\n"
		Eventually(upstream.lines[machines]).Should(BeEmpty())
		goAway()
		Eventually(upstream.ended).Should(Receive(Equal(machines)))
		Eventually(lines.Closed).Should(BeTrue())
	})

	It("leaves nothing behind when it is closed, and can be closed twice", func(ctx SpecContext) {
		proxy.Delay(time.Hour)
		lines := watching(ctx, machines+"?watch=true")
		upstream.lines[machines] <- "held\n"
		Eventually(upstream.lines[machines]).Should(BeEmpty())
		Expect(proxy.Close()).To(Succeed())
		Eventually(lines.Closed).Should(BeTrue())
		Eventually(upstream.ended).Should(Receive(Equal(machines)))
	})
})
