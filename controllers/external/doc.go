// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package external gives the Machine controller the objects that a Machine references: the InfraMachine and the
// BootstrapConfig, of kinds that nobody knows before run time.
//
// For each kind in use the Tracker keeps exactly one informer, at the API version that the contract label of the kind's
// CustomResourceDefinition names now, and prunes every object to the contract's fields before it is stored. The
// informer that answers reads is the informer that notifies: client-go updates the store before it calls handlers, so
// the reconcile that an event triggers sees at least that event's object.
//
//	CRD label ──► resolve ──► start informer ──► synced: serve reads, enqueue every Machine of the kind
//	    ▲                                              │
//	    └── label moved: start the new one, swap when it has synced, stop the old one
//	    └── CRD deleted: stop; installed again: start
//
// Nothing here blocks a caller. While a kind can't be read, Get returns a *KindError that says why, and every Machine
// of that kind is enqueued when the answer changes.
package external
