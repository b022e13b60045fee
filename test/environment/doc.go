// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package environment runs a real control plane for tests, demos and benchmarks: etcd and kube-apiserver, and
// kube-controller-manager where it is asked for. Everything listens on the loopback interface only.
//
// # What a plain environment does not do
//
// Without a kube-controller-manager nothing follows owner references and a namespace stays Terminating for ever. A spec
// that runs without it asserts on owner references and finalizers, not on objects going away. With
// [Options.WithControllerManager] both work as in any cluster. The garbage collector looks for new kinds every
// 30 seconds, so a kind whose CRD is installed after the start is collected that much later; kinds named in
// [Options.CRDPaths] are there before the kube-controller-manager starts.
//
// The ServiceAccount admission plugin is off and no kubelet runs: Pods can be created, but stay Pending.
//
// # Nothing is left behind
//
// [Environment.Stop] ends every process and removes the environment's folder. A process that dies without calling Stop
// (a panic, a test timeout, SIGKILL) can't do that, so each environment has a guard: a shell that waits for the end of a
// pipe whose other end only this process holds, and then does the same. It needs no cooperation from the control plane,
// and works wherever there is a POSIX shell, which a parent-death signal does not: Go binds that signal to the thread
// that forked the child, and threads come and go.
//
// # Counting requests
//
// With [Options.CountRequests] the API server records each request in its audit log, and [Environment.Requests] reads it.
// The audit log was preferred to a counting proxy for three reasons. It is the API server's own view: the verb, the
// resource and the user after parsing and authentication, for every client, whichever address and credentials it uses. It
// leaves the path of a request alone, so latency, HTTP/2 multiplexing and watch behaviour are what they are without
// counting. And it is exact: the API server writes the entry of a received request before it handles the request, so a
// response that a client has seen is always in the log. The cost is about a kilobyte of log per request, which is why
// counting is off by default.
package environment
