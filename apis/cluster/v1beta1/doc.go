// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1beta1 holds the API types of group cluster.x-k8s.io, version v1beta1, and their conversion to and from
// v1beta2, the version that is stored and that Machinist works with.
//
// The version is deprecated. It is there for clients that still speak it: providers of contract v1beta1, manifests in
// repositories, dashboards. The wire format is that of Cluster API v1beta1. New programs use package v1beta2, and so
// does this one for every type that looks the same in both; labels, annotations, condition types and reasons are the
// same, too, and are not repeated here.
//
// MachineToHub, MachineFromHub, ClusterToHub and ClusterFromHub convert. They are pure: what only a management cluster
// knows, they are given as Versions. MachineDrainRules are the same in both versions and need no conversion.
//
// What v1beta1 has no place for is kept in an annotation of the v1beta1 object, see ConversionDataAnnotation, so that a
// client of v1beta1 that reads an object and writes it back loses nothing.
//
// +kubebuilder:object:generate=true
// +groupName=cluster.x-k8s.io
package v1beta1
