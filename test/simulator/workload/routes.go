// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// handler answers a request to one cluster. An error is sent as a Status; a handler that has begun to write returns nil.
type handler func(c *Cluster, w http.ResponseWriter, r *http.Request) error

// route is a path below each cluster's prefix.
type route struct {
	// method is empty for the methods that have no route of their own.
	method string
	path   string
	// verb and resource are what requests are counted under.
	verb, resource string
}

func (s *Server) handle(to route, h handler) {
	pattern := "/clusters/{clusterNamespace}/{clusterName}" + to.path
	if to.method != "" {
		pattern = to.method + " " + pattern
	}
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if !s.begin() {
			return
		}
		defer s.running.Done()
		if err := s.serve(to, h, w, r); err != nil {
			status := statusOfError(err)
			if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
				w.Header().Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
			}
			_ = writeJSON(w, int(status.Code), status) // a Status always has a JSON form
		}
	})
}

func (s *Server) serve(to route, h handler, w http.ResponseWriter, r *http.Request) error {
	key := types.NamespacedName{Namespace: r.PathValue("clusterNamespace"), Name: r.PathValue("clusterName")}
	cluster, found := s.Cluster(key)
	if !found {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "clusters"}, key.String())
	}
	if to.verb == "list" && isWatch(r) {
		to.verb = "watch"
	}
	request := Request{UserAgent: r.UserAgent(), Verb: to.verb, Resource: to.resource}
	cluster.count(request)
	if err := cluster.delay(r.Context()); err != nil {
		return err
	}
	if err := cluster.authenticate(r); err != nil {
		return err
	}
	if err := cluster.authorize(request); err != nil {
		return err
	}
	return h(cluster, w, r)
}

// routeRoot registers what is not a resource: what clients probe, and a Status for what there isn't.
func (s *Server) routeRoot() {
	ok := func(_ *Cluster, w http.ResponseWriter, _ *http.Request) error {
		return writeBody(w, http.StatusOK, "text/plain", []byte("ok"))
	}
	for _, path := range []string{"/healthz", "/livez", "/readyz"} {
		s.handle(route{http.MethodGet, path, "get", path}, ok)
	}
	root := map[string][]string{"paths": {"/api", "/apis", "/healthz", "/version"}}
	s.document("", "/", root) // client-go leaves out the slash
	s.document("/{$}", "/", root)
	s.document("/version", "/version", map[string]string{
		"major": "1", "minor": "37", "gitVersion": KubernetesVersion, "platform": "linux/amd64",
	})
	s.handle(route{path: "/", verb: "unknown"}, func(_ *Cluster, _ http.ResponseWriter, r *http.Request) error {
		return apierrors.NewGenericServerResponse(http.StatusNotFound, r.Method, schema.GroupResource{}, "",
			fmt.Sprintf("simulated workload clusters do not serve %s", r.URL.Path), 0, true)
	})
}

// document registers a JSON document that is the same in every cluster.
func (s *Server) document(path, name string, document any) {
	s.handle(route{http.MethodGet, path, "get", name}, func(_ *Cluster, w http.ResponseWriter, _ *http.Request) error {
		return writeJSON(w, http.StatusOK, document)
	})
}

// routeResource registers the verbs of one resource and of its status.
func (s *Server) routeResource(res *resource) {
	all := res.root() + "/" + res.plural
	collection, status := all, res.plural+"/status"
	if res.namespaced {
		collection = res.root() + "/namespaces/{namespace}/" + res.plural
		s.handle(route{http.MethodGet, all, "list", res.plural}, res.list)
	}
	object := collection + "/{name}"

	s.handle(route{http.MethodGet, collection, "list", res.plural}, res.list)
	s.handle(route{http.MethodPost, collection, "create", res.plural}, res.create)
	s.handle(route{http.MethodGet, object, "get", res.plural}, res.get)
	s.handle(route{http.MethodPut, object, "update", res.plural}, res.update(mainResource))
	s.handle(route{http.MethodPatch, object, "patch", res.plural}, res.patch(mainResource))
	s.handle(route{http.MethodDelete, object, "delete", res.plural}, res.delete)
	if res.status {
		s.handle(route{http.MethodGet, object + "/status", "get", status}, res.get)
		s.handle(route{http.MethodPut, object + "/status", "update", status}, res.update(statusResource))
		s.handle(route{http.MethodPatch, object + "/status", "patch", status}, res.patch(statusResource))
	}
	if res.eviction {
		s.handle(route{http.MethodPost, object + "/eviction", "create", res.plural + "/eviction"}, res.evict)
	}
	for _, path := range []string{collection, object} {
		s.handle(route{path: path, verb: "unknown", resource: res.plural}, func(_ *Cluster, _ http.ResponseWriter, r *http.Request) error {
			return apierrors.NewMethodNotSupported(res.groupResource(), r.Method)
		})
	}
}
