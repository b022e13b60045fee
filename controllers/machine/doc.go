// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package machine reconciles Machines.
//
//	fetch            Machine and Cluster, from the cache
//	  │
//	work             phases, in order; all of them run, a later one copes with what an earlier one didn't find
//	  ├─ owner           finalizer, label and owner reference of the Machine itself
//	  ├─ bootstrap       BootstrapConfig → spec.bootstrap.dataSecretName
//	  ├─ infrastructure  InfraMachine    → spec.providerID, addresses, failure domain
//	  ├─ node            Node            → status.nodeRef, nodeInfo; Machine → labels, annotations, taints of the Node
//	  └─ deletion        only with a deletionTimestamp, step by step; the first that is not done ends it
//	       ├─ pre-drain hooks, drain, volumes     only while there is a Node and somebody needs it to go
//	       ├─ pre-terminate hooks
//	       ├─ InfraMachine, then BootstrapConfig  each waits until the API server says that it is gone
//	       └─ Node, then the finalizer
//	  │
//	persist          status is computed from the scope by pure functions and written once, only if it changed, also
//	                 after an error; then the events
//
// Three things are kept apart. Waiting for somebody else is a condition that says for what: the change that ends the
// wait wakes the Machine, so there is no polling. A mistake in an object is a condition that says where: it is not
// retried either, because only a change of the object can help. Anything else is an error and is retried with backoff.
//
// What a reconcile reads comes from caches that are updated before they notify, so the reconcile that an event triggers
// sees the event's object. The live reads are the kubeconfig, once for each connection, and in deletion what is left on a
// Node, and whether an object is gone, where a stale answer could leave a machine behind.
package machine
