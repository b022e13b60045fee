// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/scale/report"
	"github.com/machinist-dev/machinist/test/simulator"
	"github.com/machinist-dev/machinist/test/simulator/workload"
)

const (
	// parallel is how many requests we make at the same time: enough to keep an API server with two CPUs busy.
	parallel = 8
	// controlPlaneMachines is how many Machines of a Cluster, if it has many, are its control plane.
	controlPlaneMachines = 3
)

// member is one Machine with all that belongs to it. All of it has one name.
type member struct {
	key     types.NamespacedName
	cluster types.NamespacedName
	// objects are what has to be created, in this order.
	objects []client.Object
	// created is when we began to.
	created time.Time
}

// owner is what Machines belong to, as nearly all do. It does not exist, nor does anything here look for it. The peer writes
// to the Node of a Machine without an owner at each reconcile, which would make every comparison one of that defect.
var owner = metav1.OwnerReference{
	APIVersion: "controlplane.cluster.x-k8s.io/v1beta2", Kind: "SimControlPlane", Name: "scale",
	UID: "00000000-0000-4000-8000-000000000000", Controller: new(true), BlockOwnerDeletion: new(true),
}

// populate builds the members of all Clusters, each Cluster's control plane first and the Clusters in turn.
func populate(clusters []*clusterv1.Cluster, settings report.Settings) []*member {
	var byCluster [][]*member
	for i, cluster := range clusters {
		count := settings.Machines / len(clusters)
		if i < settings.Machines%len(clusters) {
			count++
		}
		byCluster = append(byCluster, membersOf(cluster, count, settings.PayloadSize/2))
	}
	var all []*member
	for i := range byCluster[0] { // no Cluster has more than the first
		for _, members := range byCluster {
			if i < len(members) {
				all = append(all, members[i])
			}
		}
	}
	return all
}

func membersOf(cluster *clusterv1.Cluster, count, payload int) []*member {
	controlPlane := controlPlaneMachines
	if count < 2*controlPlaneMachines {
		controlPlane = 1
	}
	objects := simulator.Machines(cluster, controlPlane, count-controlPlane, simulator.Shape{PayloadSize: payload})
	var members []*member
	for len(objects) > 0 {
		// A BootstrapConfig, an InfraMachine and the Machine.
		m := &member{cluster: client.ObjectKeyFromObject(cluster), objects: objects[:3:3]}
		objects = objects[3:]
		machine := m.objects[2]
		machine.SetOwnerReferences([]metav1.OwnerReference{owner})
		m.key = client.ObjectKeyFromObject(machine)
		members = append(members, m)
	}
	return members
}

// create creates the objects of a member.
func (m *member) create(ctx context.Context, c client.Client) error {
	m.created = time.Now()
	for _, object := range m.objects {
		if err := c.Create(ctx, object); err != nil {
			return fmt.Errorf("creating %s %s: %w", object.GetObjectKind().GroupVersionKind().Kind, m.key, err)
		}
	}
	m.objects = nil // they would be kept for the whole run
	return nil
}

// machine returns an empty Machine of the member's name, for patches and deletion.
func (m *member) machine() *clusterv1.Machine {
	return &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: m.key.Namespace, Name: m.key.Name}}
}

// providerObject returns the metadata of a provider object, for patches, deletion and watches.
func providerObject(kind schema.GroupKind, key types.NamespacedName) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	object.SetGroupVersionKind(kind.WithVersion(simulator.NewAPIVersion))
	return object
}

// mergePatch returns a patch that changes what content says.
func mergePatch(content map[string]any) (client.Patch, error) {
	data, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("encoding a patch: %w", err)
	}
	return client.RawPatch(types.MergePatchType, data), nil
}

// sizes returns the mean sizes of the objects of some members.
func (w *world) sizes(ctx context.Context, members []*member) (report.Sizes, error) {
	const most = 20
	var total report.Sizes
	members = members[:min(most, len(members))]
	for _, m := range members {
		for gvk, size := range map[schema.GroupVersionKind]*int{
			clusterv1.GroupVersion.WithKind("Machine"):                &total.Machine,
			simulator.SimMachine.WithVersion(simulator.NewAPIVersion): &total.InfraMachine,
			simulator.SimConfig.WithVersion(simulator.NewAPIVersion):  &total.BootstrapConfig,
		} {
			object := &unstructured.Unstructured{}
			object.SetGroupVersionKind(gvk)
			if err := w.client.Get(ctx, m.key, object); err != nil {
				return total, fmt.Errorf("reading %s %s: %w", gvk.Kind, m.key, err)
			}
			if err := addSize(size, object.Object); err != nil {
				return total, err
			}
		}
		var node corev1.Node
		cluster, err := w.workloadCluster(m)
		if err != nil {
			return total, err
		}
		if err := cluster.Get(types.NamespacedName{Name: m.key.Name}, &node); err != nil {
			return total, fmt.Errorf("reading Node %s: %w", m.key.Name, err)
		}
		if err := addSize(&total.Node, node); err != nil {
			return total, err
		}
	}
	for _, size := range []*int{&total.Machine, &total.InfraMachine, &total.BootstrapConfig, &total.Node} {
		*size /= len(members)
	}
	return total, nil
}

func addSize(total *int, object any) error {
	content, err := json.Marshal(object)
	*total += len(content)
	return err
}

// workloadCluster returns the simulated cluster in which the member's Node is.
func (w *world) workloadCluster(m *member) (*workload.Cluster, error) {
	cluster, found := w.simulator.Workload().Cluster(m.cluster)
	if !found {
		return nil, fmt.Errorf("the simulator has no workload cluster %s", m.cluster)
	}
	return cluster, nil
}
