// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/builder"
	"github.com/machinist-dev/machinist/test/simulator/workload"
)

// Shape varies the objects that Machines builds. The zero value is SimMachines and SimConfigs of the default size.
type Shape struct {
	// InfraMachine and BootstrapConfig are the kinds to refer to. Empty means SimMachine and SimConfig.
	InfraMachine    schema.GroupKind
	BootstrapConfig schema.GroupKind
	// PayloadSize is how much content outside the contract each provider object has in its spec, in bytes of JSON.
	// 0 means half of DefaultPayloadSize, less than 0 means none.
	PayloadSize int
	// Annotations are put on the provider objects, for example FaultAnnotation.
	Annotations map[string]string
	// Prefix of the names. Empty means the Cluster's name.
	Prefix string
}

// Machines builds the objects of a number of Machines of a Cluster: for each a BootstrapConfig, an InfraMachine and the
// Machine, in this order, all of the same name: <prefix>-control-plane-0 …, <prefix>-worker-0 …. The payload is one for
// all of them, so that many thousands fit into memory: don't change it in place.
func Machines(cluster *clusterv1.Cluster, controlPlane, workers int, shape Shape) []client.Object {
	if shape.InfraMachine.Empty() {
		shape.InfraMachine = SimMachine
	}
	if shape.BootstrapConfig.Empty() {
		shape.BootstrapConfig = SimConfig
	}
	if shape.PayloadSize == 0 {
		shape.PayloadSize = DefaultPayloadSize / 2
	}
	if shape.Prefix == "" {
		shape.Prefix = cluster.Name
	}
	devices, files := payload(shape.PayloadSize, device), payload(shape.PayloadSize, file)
	objects := make([]client.Object, 0, 3*(controlPlane+workers))
	add := func(machine builder.MachineBuilder) {
		built := machine.WithClusterName(cluster.Name).WithVersion(workload.KubernetesVersion).Build()
		built.Spec.InfrastructureRef.Kind, built.Spec.InfrastructureRef.APIGroup = shape.InfraMachine.Kind, shape.InfraMachine.Group
		built.Spec.Bootstrap.ConfigRef.Kind, built.Spec.Bootstrap.ConfigRef.APIGroup = shape.BootstrapConfig.Kind, shape.BootstrapConfig.Group
		objects = append(objects,
			shape.object(shape.BootstrapConfig, built, files), shape.object(shape.InfraMachine, built, devices), built)
	}
	for i := range controlPlane {
		add(builder.Machine(cluster.Namespace, fmt.Sprintf("%s-control-plane-%d", shape.Prefix, i)).WithControlPlane())
	}
	for i := range workers {
		add(builder.Machine(cluster.Namespace, fmt.Sprintf("%s-worker-%d", shape.Prefix, i)))
	}
	return objects
}

func (s Shape) object(kind schema.GroupKind, machine *clusterv1.Machine, payload []any) *unstructured.Unstructured {
	spec := map[string]any{}
	if payload != nil {
		spec["payload"] = payload
	}
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	obj.SetGroupVersionKind(kind.WithVersion(NewAPIVersion))
	obj.SetNamespace(machine.Namespace)
	obj.SetName(machine.Name)
	obj.SetAnnotations(maps.Clone(s.Annotations))
	obj.SetLabels(map[string]string{clusterv1.ClusterNameLabel: machine.Spec.ClusterName})
	return obj
}

// Create creates objects, up to parallel at the same time. Those that exist already are left as they are, so that an
// interrupted Create can be repeated. The first error ends it. Unlike a client's, it doesn't write the result into the
// objects: they stay small.
func Create(ctx context.Context, c client.Client, parallel int, objects ...client.Object) error {
	if parallel < 1 {
		return errors.New("simulator: Create needs at least 1 worker")
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for _, obj := range objects {
		group.Go(func() error {
			if err := c.Create(ctx, shallowCopy(obj)); err != nil && !apierrors.IsAlreadyExists(err) {
				return fmt.Errorf("create %s %s: %w", obj.GetObjectKind().GroupVersionKind().Kind, client.ObjectKeyFromObject(obj), err)
			}
			return nil
		})
	}
	return group.Wait()
}

// shallowCopy copies what a client replaces by the API server's answer.
func shallowCopy(obj client.Object) client.Object {
	if untyped, ok := obj.(*unstructured.Unstructured); ok {
		return &unstructured.Unstructured{Object: maps.Clone(untyped.Object)}
	}
	return obj.DeepCopyObject().(client.Object)
}
