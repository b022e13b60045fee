// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhooks registers what the API server asks before it stores a Machine or a MachineDrainRule; Setup is the list.
//
// The folder of a kind has a defaulter and a validator that need nothing but the object. Whatever has to look something up
// is a webhook of its own, which the API server may pass over, so that Machines can always be written.
//
// Three things hold of every validator. An update is judged by what it changes: a value that was stored before a rule
// existed, or past the webhooks, keeps nobody from changing something else. An object that is being deleted is not
// judged, or its finalizers could not be removed. And a deletion is never asked about.
package webhooks
