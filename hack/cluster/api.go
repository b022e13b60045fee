// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

const (
	// requestTimeout bounds one look at the API server.
	requestTimeout = 5 * time.Second
	// apiTimeout bounds the start of the API server on a machine that has other things to do as well.
	apiTimeout = 2 * time.Minute
)

// apiClient asks the API server as the administrator, by the certificate that it has for kubelet.
type apiClient struct{ http *http.Client }

func newAPIClient(f folder) (apiClient, error) {
	authorities := x509.NewCertPool()
	ca, err := os.ReadFile(f.state("pki", caFile))
	if err != nil {
		return apiClient{}, fmt.Errorf("reading the cluster's certificate authority: %w", err)
	}
	authorities.AppendCertsFromPEM(ca)
	certificate, err := tls.LoadX509KeyPair(f.state("pki", kubeletClientName+".crt"), f.state("pki", kubeletClientName+".key"))
	if err != nil {
		return apiClient{}, fmt.Errorf("reading a client certificate: %w", err)
	}
	return apiClient{&http.Client{
		Timeout: requestTimeout,
		Transport: &http.Transport{ // without a proxy
			TLSClientConfig: &tls.Config{RootCAs: authorities, Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
		},
	}}, nil
}

// get returns what the API server answers with status 200, and an error for any other status.
func (c apiClient) get(ctx context.Context, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, apiServer+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }() // only read
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s is answered with %s: %.300s", path, response.Status, body)
	}
	return body, err
}

// waitForAPI waits until the API server says that it is ready.
func waitForAPI(ctx context.Context, f folder) error {
	return waitFor(ctx, f, "the API server", apiTimeout, func(api apiClient) error {
		_, err := api.get(ctx, "/readyz")
		return err
	})
}

// waitForNode waits until pods can be created and run.
func waitForNode(ctx context.Context, f folder) error {
	return waitFor(ctx, f, "the node", nodeTimeout, func(api apiClient) error {
		if err := api.nodeReady(ctx); err != nil {
			return err
		}
		_, err := api.get(ctx, "/api/v1/namespaces/default/serviceaccounts/default") // without it no pod is admitted
		return err
	})
}

// waitFor asks until there is no error left.
func waitFor(ctx context.Context, f folder, what string, timeout time.Duration, ask func(apiClient) error) error {
	api, err := newAPIClient(f)
	if err != nil {
		return err
	}
	var last error
	err = until(ctx, timeout, func() bool {
		last = ask(api)
		return last == nil
	})
	if err != nil {
		return fmt.Errorf("waiting for %s: %w", what, errors.Join(last, err))
	}
	return nil
}

// nodeReady returns nil if kubelet says that it is ready, and otherwise why it is not.
func (c apiClient) nodeReady(ctx context.Context) error {
	content, err := c.get(ctx, "/api/v1/nodes/"+nodeName)
	if err != nil {
		return err
	}
	var node struct {
		Status struct {
			Conditions []struct{ Type, Status, Message string }
		}
	}
	if err := json.Unmarshal(content, &node); err != nil {
		return fmt.Errorf("reading node %s: %w", nodeName, err)
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == "Ready" && condition.Status == "True" {
			return nil
		}
		if condition.Type == "Ready" {
			return fmt.Errorf("node %s is not ready: %s", nodeName, condition.Message)
		}
	}
	return fmt.Errorf("node %s has not said anything yet", nodeName)
}
