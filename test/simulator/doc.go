// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package simulator plays everything around a Machine, so that the Machine controller can run for real against a real API
// server, without a cloud: the infrastructure provider, the bootstrap provider, the controllers of the Cluster, and the
// workload clusters with their Nodes (package workload).
//
//	sim, err := simulator.Start(ctx, config, simulator.Options{ProvisionDelay: time.Second, Jitter: 0.5})
//	defer sim.Stop()
//	cluster := builder.Cluster("default", "blue").Build()
//	err = client.Create(ctx, cluster)
//	err = simulator.Create(ctx, client, 8, simulator.Machines(cluster, 3, 7, simulator.Shape{})...)
//
// # What it does, in order
//
// For a Cluster: finalizer, control plane endpoint, kubeconfig Secret and an empty workload cluster; after
// Options.ClusterDelay infrastructureProvisioned; ControlPlaneInitialized when the first control plane Machine has its
// Node. A deleted Cluster deletes its Machines and goes when they are gone.
//
// For a BootstrapConfig: it waits until a Machine owns it, and the Cluster's infrastructure is provisioned, and for workers
// until the control plane is initialized. After Options.BootstrapDelay it creates the data Secret and reports it.
//
// For an InfraMachine: it waits until a Machine owns it, and the Cluster's infrastructure is provisioned, and the Machine
// names its data Secret. After Options.ProvisionDelay it is provisioned, after Options.NodeDelay the Node exists. When it
// is deleted its finalizer stays for Options.DeletionDelay; its Node is left for the Machine controller to delete.
//
// Both follow the contract versions that the labels of their CRD declare, each at its own paths, also when the labels
// change. Both leave paused objects and objects of paused Clusters alone.
//
// # What makes it cheap
//
// The simulator runs next to what is measured. It watches the metadata of provider objects only, keeps no content in
// memory, waits by events and one delaying queue per kind, and writes a patch only if it differs from what it wrote last.
// Nothing runs periodically but the heartbeats that the options ask for.
package simulator
