// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ownwrites lets a controller that reads from a cache know its own writes, without waiting for the cache. It
// serves two ends.
//
// A reconcile that starts before the cache has caught up works on the object as the controller left it: nothing is done
// twice. And the events that the controller's own writes cause needn't be reconciled: what was written was computed from
// all that was known.
//
//	memory.Begin(uid)
//	defer func() {
//		if memory.End(uid) {
//			wake() // somebody else has written, too
//		}
//	}()
//	written, err := patch(...)
//	memory.Record(uid, before.ResourceVersion, written.ResourceVersion, written)
//
// The rule behind it is that an informer changes its store first and calls its handlers then: by the time of the call of
// Changed, the cache has at least what Changed is told of.
package ownwrites
