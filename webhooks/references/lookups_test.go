// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package references

import (
	"context"
	"net/http"
	"net/http/httptest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/machinist-dev/machinist/controllers/external"
)

// answering looks things up at an API server that answers everything in the same way.
func answering(handler http.HandlerFunc) live {
	GinkgoHelper()
	server := httptest.NewServer(handler)
	DeferCleanup(server.Close)
	cfg := &rest.Config{Host: server.URL}
	objects, err := metadata.NewForConfig(cfg)
	Expect(err).NotTo(HaveOccurred())
	resources, err := discovery.NewDiscoveryClientForConfig(cfg)
	Expect(err).NotTo(HaveOccurred())
	return live{objects: objects, resources: resources}
}

func saying(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if body[0] == '{' {
			w.Header().Set("Content-Type", "application/json")
		}
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body)) // a test whose answer is lost fails anyway
	}
}

var (
	thingsV1 = schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "things"}
	thing    = types.NamespacedName{Namespace: "ns", Name: "thing"}
)

var _ = Describe("A live lookup", func() {
	It("tells an object that is missing from a resource that is", func(ctx SpecContext) {
		l := answering(saying(http.StatusOK, `{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","metadata":{"name":"thing","uid":"u"}}`))
		Expect(l.object(ctx, thingsV1, thing)).To(HaveField("UID", BeEquivalentTo("u")))

		l = answering(saying(http.StatusNotFound, `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"NotFound","code":404,"details":{"name":"thing","kind":"things"}}`))
		Expect(l.object(ctx, thingsV1, thing)).To(BeNil())

		l = answering(saying(http.StatusNotFound, "404 page not found\n"))
		_, err := l.object(ctx, thingsV1, thing)
		Expect(err).To(MatchError(errUnserved))

		l = answering(saying(http.StatusForbidden, `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"Forbidden","code":403}`))
		_, err = l.object(ctx, thingsV1, thing)
		Expect(err).To(Satisfy(apierrors.IsForbidden))
	})

	DescribeTable("finds out how a resource is served", func(ctx SpecContext, handler http.HandlerFunc, want scope) {
		Expect(answering(handler).scope(ctx, thingsV1)).To(Equal(want))
	},
		Entry(nil, saying(http.StatusOK, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"example.org/v1","resources":[{"name":"others"},{"name":"things","namespaced":true}]}`), served),
		Entry(nil, saying(http.StatusOK, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"example.org/v1","resources":[{"name":"things"}]}`), clusterScoped),
		Entry(nil, saying(http.StatusOK, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"example.org/v1","resources":[]}`), notServed),
		Entry(nil, saying(http.StatusNotFound, "404 page not found\n"), notServed),
	)

	It("gives up on an API server that does not answer", func(ctx SpecContext) {
		ended := make(chan struct{})
		l := answering(func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-ended:
			case <-r.Context().Done():
			}
		})
		DeferCleanup(func() { close(ended) })
		began := time.Now()
		_, err := l.object(ctx, thingsV1, thing)
		Expect(causeOf(err)).To(Equal("no answer in time"))
		Expect(time.Since(began)).To(BeNumerically("<", totalTimeout))
	})

	It("does not wait for a cache for long", func(ctx SpecContext) {
		l := live{cache: unfilled{}}
		began := time.Now()
		_, err := l.definition(ctx, external.Kind{Role: external.InfraMachine, GroupKind: schema.GroupKind{Group: "example.org", Kind: "Thing"}})
		Expect(causeOf(err)).To(Equal("no answer in time"))
		_, err = l.cluster(ctx, thing)
		Expect(causeOf(err)).To(Equal("no answer in time"))
		Expect(time.Since(began)).To(BeNumerically("<", 4*cacheTimeout))
	})

	It("of a Cluster that the cache does not have finds none", func(ctx SpecContext) {
		Expect(live{cache: empty{}}.cluster(ctx, thing)).To(BeNil())
		_, err := live{cache: unstarted{}}.cluster(ctx, thing)
		Expect(causeOf(err)).To(Equal("the manager has just started"))
	})
})

// unfilled is a cache that waits to be filled, as long as it is let.
type unfilled struct{ client.Reader }

func (unfilled) Get(ctx context.Context, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	<-ctx.Done()
	return ctx.Err()
}

type unstarted struct{ client.Reader }

func (unstarted) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return &cache.ErrCacheNotStarted{}
}

type empty struct{ client.Reader }

func (empty) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}
