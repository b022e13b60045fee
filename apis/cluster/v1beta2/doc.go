// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1beta2 holds the API types of group cluster.x-k8s.io, version v1beta2, that Machinist works with:
// Machine, MachineDrainRule and Cluster.
//
// The wire format is that of Cluster API v1beta2, and so are the Go names of types, fields and constants. A
// program written against Cluster API's types can switch its import and needs no other change, with one
// exception: Cluster.spec.topology is carried as raw JSON, because Machinist neither reads nor changes it.
//
// Who may do what:
//   - Users write spec, labels and annotations of a Machine, and metadata of everything.
//   - The Machine controller writes Machine.status and, of the spec, only what a provider reports back:
//     providerID, failureDomain and bootstrap.dataSecretName.
//   - Cluster.status belongs to the Cluster controller; Machinist reads it.
//
// The files follow the kinds. For Machine: machine_types.go is what a user asks for, machine_status.go what was
// observed, machine_conditions.go and machine_phase.go are the vocabulary of that status, machine_deprecated.go is
// what only v1beta1 readers need. Labels, annotations and finalizers are in metadata.go, those on Nodes in node.go.
//
// Imports are k8s.io/apimachinery and, for NodeSystemInfo, ConditionStatus and TaintEffect, k8s.io/api/core/v1.
// Nothing here needs a client library.
//
// +kubebuilder:object:generate=true
// +groupName=cluster.x-k8s.io
package v1beta2
