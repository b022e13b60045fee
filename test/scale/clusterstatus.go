// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"path"

	"k8s.io/client-go/rest"
)

// withoutClusterStatus returns a configuration whose clients cannot write the status of Clusters. The simulator plays the
// Cluster controller as well as the providers. A manager that brings its own would contradict it for ever, as each
// repairs what the other has written.
func withoutClusterStatus(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return clusterStatusReader{next} })
	return config
}

// clusterStatusReader turns patches of a Cluster's status into reads, which are answered alike: by the Cluster.
type clusterStatusReader struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (r clusterStatusReader) RoundTrip(request *http.Request) (*http.Response, error) {
	matches, err := path.Match("/apis/cluster.x-k8s.io/*/namespaces/*/clusters/*/status", request.URL.Path)
	if err != nil {
		return nil, err
	}
	if matches && request.Method == http.MethodPatch {
		if err := request.Body.Close(); err != nil {
			return nil, err
		}
		request = request.Clone(request.Context())
		request.Method = http.MethodGet
		request.Body, request.GetBody, request.ContentLength = http.NoBody, nil, 0
		request.Header.Del("Content-Type")
		request.URL.RawQuery = "" // the options of a patch
	}
	return r.next.RoundTrip(request)
}
