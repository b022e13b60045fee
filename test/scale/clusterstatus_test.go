// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
)

// recorder answers with what it was asked.
type recorder struct{}

func (recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	body := ""
	if request.Body != nil {
		content, err := io.ReadAll(request.Body)
		if err != nil {
			return nil, err
		}
		body = string(content)
	}
	answer := strings.Join([]string{request.Method, request.URL.String(), request.Header.Get("Content-Type"), body}, " ")
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(answer))}, nil
}

func TestClusterStatusIsReadInsteadOfWritten(t *testing.T) {
	config := withoutClusterStatus(&rest.Config{Host: "localhost"})
	transport := config.WrapTransport(recorder{})
	const clusters = "http://localhost/apis/cluster.x-k8s.io/v1beta2/namespaces/scale/clusters/blue"
	for name, c := range map[string]struct{ url, want string }{
		"status":             {clusters + "/status?fieldManager=x", "GET " + clusters + "/status  "},
		"the Cluster":        {clusters, "PATCH " + clusters + " application/merge-patch+json {}"},
		"another status":     {strings.ReplaceAll(clusters, "clusters", "machines") + "/status", "PATCH " + strings.ReplaceAll(clusters, "clusters", "machines") + "/status application/merge-patch+json {}"},
		"Cluster \"status\"": {strings.TrimSuffix(clusters, "blue") + "status", "PATCH " + strings.TrimSuffix(clusters, "blue") + "status application/merge-patch+json {}"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, c.url, strings.NewReader("{}"))
			g.Expect(err).NotTo(HaveOccurred())
			request.Header.Set("Content-Type", "application/merge-patch+json")
			response, err := transport.RoundTrip(request)
			g.Expect(err).NotTo(HaveOccurred())
			defer func() { _ = response.Body.Close() }()
			g.Expect(io.ReadAll(response.Body)).To(BeEquivalentTo(c.want))
			g.Expect(request.Method).To(Equal(http.MethodPatch), "the client's request is its own")
		})
	}
}
