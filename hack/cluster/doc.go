// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Cluster runs a Kubernetes cluster of one node on this machine, whose pods really run, without a container engine, a
// virtual machine or a registry. It needs Linux and root.
//
// Usage:
//
//	go run ./hack/cluster check              see whether this machine allows one; built, it exits with 2 if not
//	go run ./hack/cluster up                 start it, and print the path of its kubeconfig
//	go run ./hack/cluster load-image FILE... give it container images, as tar files of `docker save` or of an OCI layout
//	go run ./hack/cluster down               stop it, and remove all that it left
//
// # What it consists of
//
// etcd and Kubernetes' own programs come from hack/controlplane. containerd, runc, nft and the CNI plugins are the
// packages of this machine's Debian or Ubuntu, downloaded and unpacked into the cache, not installed; elsewhere they are
// taken from PATH. The pause image is made here.
//
// # Where it is
//
// Everything runs in namespaces of its own: mounts, network, processes, host name, IPC. The first process in there is this
// program again; whoever kills it kills everything. On the machine there are besides:
//
//   - the veth pair of the node: the machine is 172.30.255.1, the node 172.30.255.2, and pods are reached through it
//   - a cgroup of the name machinist, in each hierarchy
//   - the folder cluster in the user's cache folder, or in the one that MACHINIST_CACHE names
//
// `down` takes away the first two, and of the last all but the unpacked packages. The sysctls
// that kubelet wants to set and that belong to the whole machine stay as they are, because it is shown files instead.
//
// There is no DNS in the cluster, and there are no volumes but those that kubelet makes by itself. One cluster runs at a
// time. If MACHINIST_LOG_DIR names a folder, `down` leaves the logs there.
package main
