// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package watchcache configures what the manager keeps in memory of the objects that it watches.
//
// Everything that no controller reads is removed before an object is stored: managed fields of everything, the topology
// of a Cluster, all but the metadata of a CustomResourceDefinition, and of a Node its images, its volumes and the
// heartbeats of its conditions. Provider objects are pruned to the fields of the provider contract by the package
// external. Secrets are never cached.
//
// A trimmed object must not be written back; Guard makes a client that refuses it. Transforms run before the store is
// changed, are idempotent and also see objects that were deleted while a watch was broken.
package watchcache
