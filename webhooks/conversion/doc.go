// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conversion serves the API server's requests to convert Machines and Clusters between v1beta1 and v1beta2.
//
// The API server calls it for each object of the other version that it reads, writes or sends to a watch. While v1beta1 is
// served, the API server also keeps a watch cache of it, filled through this webhook, whether anybody reads v1beta1 or not;
// so an object is shown as it was converted when it was last written. One object that can't be converted fails the list
// that it is in, and the watch cache with it: it would take the version away from everybody. The conversion therefore fails
// only for what can't be read as v1beta1 at all, never for a kind that nobody knows; see package apis/cluster/v1beta1.
//
// The one thing that objects don't say themselves is in which API version to read the kinds that they reference. It
// comes from where the Machine controller has it: the contract labels of the CustomResourceDefinition, in the manager's
// cache of their metadata.
package conversion
