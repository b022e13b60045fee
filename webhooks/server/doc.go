// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package server is the webhook server: that of controller-runtime, with a certificate that renews itself, and with an end
// that no request notices.
//
// When a pod is told to stop, the API server goes on calling it for a moment: on the connections that it holds, and on new
// ones until the Service has forgotten the pod. Go's HTTP server closes its port and its idle connections at once, so that
// requests on their way are lost. This one first serves for Linger more, and ends each connection with the answer to the next
// request, which tells the API server to open another one, at another replica. The manager itself does not wait for that: its
// Lease is released before.
package server
