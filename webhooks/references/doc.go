// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package references tells the authors of Machines at admission what the controller would only find out later: that a
// reference leads nowhere, to somebody else's object, or away from a machine that exists.
//
// The list of rules is in rules.go. A rule is a small function over a request: what it needs to know beyond the Machine it
// asks the request for, which looks it up once, in memory or with a bounded request, and never through the cache of provider
// objects, as that would start an informer for whatever kind a user has written.
//
//	AdmissionReview ──► parts that changed ──► their rules ──► findings ──► errors (enforce) and warnings
//	                                             │
//	                                             └── facts: CRDs and Machines from the caches, objects by a live GET
//
// Nothing here may stand in the way: what can't be looked up in time is allowed, and the controller copes with everything
// that is denied here, because all of it can also happen past a webhook.
package references
