// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/simulator"
)

// standIn does what providers need of the Machine controller, and no more: it owns the provider objects, hands the name
// of the data Secret over, and deletes. It reads the paths of contract v1beta2 only.
type standIn struct{ client client.Client }

func startStandIn(namespace string, kinds []schema.GroupKind) {
	GinkgoHelper()
	mgr, err := ctrl.NewManager(env.Config, ctrl.Options{
		Scheme:  objects,
		Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
	})
	Expect(err).NotTo(HaveOccurred())
	owner := handler.EnqueueRequestForOwner(objects, mgr.GetRESTMapper(), &clusterv1.Machine{})
	machines := ctrl.NewControllerManagedBy(mgr).
		For(&clusterv1.Machine{}, builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})).
		WithOptions(controller.Options{SkipNameValidation: new(true), MaxConcurrentReconciles: 4})
	for _, kind := range kinds {
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(kind.WithVersion(simulator.NewAPIVersion))
		machines = machines.Watches(obj, owner)
	}
	Expect(machines.Complete(&standIn{client: mgr.GetClient()})).To(Succeed())

	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	DeferCleanup(func() {
		cancel()
		Eventually(ended).Should(Receive(BeNil()))
	})
}

func (s *standIn) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	machine := &clusterv1.Machine{}
	if err := s.client.Get(ctx, request.NamespacedName, machine); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	config := objectOf(machine, machine.Spec.Bootstrap.ConfigRef)
	server := objectOf(machine, machine.Spec.InfrastructureRef)
	if !machine.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, s.delete(ctx, machine, server, config)
	}
	before := machine.DeepCopy()
	machine.Finalizers = []string{clusterv1.MachineFinalizer}
	for _, obj := range []*unstructured.Unstructured{config, server} {
		if err := s.own(ctx, machine, obj); err != nil {
			return ctrl.Result{}, err // not found: the cache doesn't have it yet
		}
	}
	if name, found, _ := unstructured.NestedString(config.Object, "status", "dataSecretName"); found {
		machine.Spec.Bootstrap.DataSecretName = new(name)
	}
	if id, found, _ := unstructured.NestedString(server.Object, "spec", "providerID"); found {
		machine.Spec.ProviderID = id
	}
	return ctrl.Result{}, s.client.Patch(ctx, machine, client.MergeFrom(before))
}

func objectOf(machine *clusterv1.Machine, ref clusterv1.ContractVersionedObjectReference) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(ref.GroupKind().WithVersion(simulator.NewAPIVersion))
	obj.SetNamespace(machine.Namespace)
	obj.SetName(ref.Name)
	return obj
}

func (s *standIn) own(ctx context.Context, machine *clusterv1.Machine, obj *unstructured.Unstructured) error {
	if err := s.client.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
		return err
	}
	if metav1.IsControlledBy(obj, machine) {
		return nil
	}
	before := obj.DeepCopy()
	obj.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(machine, clusterv1.GroupVersion.WithKind("Machine"))})
	return s.client.Patch(ctx, obj, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

func (s *standIn) delete(ctx context.Context, machine *clusterv1.Machine, objects ...*unstructured.Unstructured) error {
	for _, obj := range objects {
		if err := s.client.Delete(ctx, obj); !apierrors.IsNotFound(err) {
			return err
		}
	}
	before := machine.DeepCopy()
	machine.Finalizers = nil
	return client.IgnoreNotFound(s.client.Patch(ctx, machine, client.MergeFrom(before)))
}
