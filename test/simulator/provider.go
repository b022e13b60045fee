// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/apis/contract"
)

// provider is the controller of one kind. It watches metadata only: an object's content is what the provider itself
// writes, so it needs no copy of it.
type provider struct {
	*Simulator
	role
	kind schema.GroupKind
	// statusPayload is what every provisioned object gets; nil for none.
	statusPayload []any
	memories      memories
}

// role is what differs between InfraMachines and BootstrapConfigs.
type role struct {
	name      string
	finalizer string
	fields    contractFields
	// payloadItem is what objects of this role are full of.
	payloadItem func(index int) map[string]any
	// reference is how a Machine names its object of this role.
	reference func(machine *clusterv1.Machine) clusterv1.ContractVersionedObjectReference
	// advance finds out how far the object is, and takes it as far as it can go now.
	advance func(ctx context.Context, p *provider, o *occasion) (progress, error)
	// finish, if not nil, runs once the status of a provisioned object is written. It returns when to run again.
	finish func(ctx context.Context, p *provider, o *occasion) (time.Duration, error)
	// deletionDelay is how long the finalizer stays after the deletion.
	deletionDelay func(p *provider, o *occasion) (time.Duration, error)
}

// occasion is one look at one object, with everything that belongs to it.
type occasion struct {
	object  *metav1.PartialObjectMetadata
	key     types.NamespacedName
	memory  *memory
	fault   Fault
	machine *clusterv1.Machine
	cluster *clusterv1.Cluster
	// contracts are those that the CRD declares, newest first; never empty.
	contracts []contract.Version
}

// Reconcile implements reconcile.Reconciler.
func (p *provider) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	object := p.empty(request.NamespacedName)
	if err := p.client.Get(ctx, request.NamespacedName, object); err != nil {
		if client.IgnoreNotFound(err) == nil {
			p.memories.forget(request.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	fault, err := p.options.fault(p.kind, object)
	if err != nil {
		return ctrl.Result{}, err
	}
	o := &occasion{
		object: object,
		key:    request.NamespacedName,
		memory: p.memories.of(request.NamespacedName, object.UID),
		fault:  fault,
	}
	if !object.DeletionTimestamp.IsZero() {
		return p.delete(ctx, o)
	}
	complete, err := p.lookAround(ctx, o)
	if err != nil || !complete {
		return ctrl.Result{}, err
	}
	if err := p.ensureFinalizer(ctx, o); err != nil {
		return ctrl.Result{}, err
	}
	again, err := p.work(ctx, o)
	return ctrl.Result{RequeueAfter: again}, err
}

func (p *provider) work(ctx context.Context, o *occasion) (again time.Duration, err error) {
	progress, err := p.advance(ctx, p, o)
	if err != nil {
		return 0, err
	}
	if progress.done || progress.failed || !p.options.Quiet {
		if err := p.write(ctx, o, progress); err != nil {
			return 0, err
		}
	}
	if progress.done && p.finish != nil {
		return p.finish(ctx, p, o)
	}
	return progress.again, nil
}

// lookAround fills the occasion in. It returns false while the object is none of the provider's business: it has no
// Machine yet, its Cluster is missing, its CRD declares no contract, or one of them is paused. Each of these ends with an
// event.
func (p *provider) lookAround(ctx context.Context, o *occasion) (complete bool, err error) {
	owner := metav1.GetControllerOf(o.object)
	if owner == nil || owner.Kind != "Machine" {
		return false, nil
	}
	o.machine = &clusterv1.Machine{}
	if err := p.client.Get(ctx, types.NamespacedName{Namespace: o.key.Namespace, Name: owner.Name}, o.machine); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	o.cluster = &clusterv1.Cluster{}
	if err := p.client.Get(ctx, clusterKeyOf(o.machine), o.cluster); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	crd := crdMetadata()
	if err := p.client.Get(ctx, types.NamespacedName{Name: contract.CRDName(p.kind.Group, p.kind.Kind)}, crd); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	o.contracts = declaredContracts(crd)
	return len(o.contracts) > 0 && !isPaused(o.cluster) && !hasPausedAnnotation(o.object), nil
}

func declaredContracts(crd client.Object) (declared []contract.Version) {
	for _, version := range contract.Versions() {
		if crd.GetLabels()[contract.LabelPrefix+string(version)] != "" {
			declared = append(declared, version)
		}
	}
	return declared
}

func isPaused(cluster *clusterv1.Cluster) bool {
	return hasPausedAnnotation(cluster) || cluster.Spec.Paused != nil && *cluster.Spec.Paused
}

func hasPausedAnnotation(obj client.Object) bool {
	_, found := obj.GetAnnotations()[clusterv1.PausedAnnotation]
	return found
}

func clusterKeyOf(machine *clusterv1.Machine) types.NamespacedName {
	return types.NamespacedName{Namespace: machine.Namespace, Name: machine.Spec.ClusterName}
}

// ensureFinalizer comes after the owner reference, so that provider and Machine controller don't write to a fresh object
// at the same time.
func (p *provider) ensureFinalizer(ctx context.Context, o *occasion) error {
	if o.memory.finalizer || slices.Contains(o.object.Finalizers, p.finalizer) {
		return nil
	}
	if err := p.patchFinalizers(ctx, o, append(slices.Clone(o.object.Finalizers), p.finalizer)); err != nil {
		return err
	}
	o.memory.finalizer = true
	return nil
}

func (p *provider) delete(ctx context.Context, o *occasion) (ctrl.Result, error) {
	if !slices.Contains(o.object.Finalizers, p.finalizer) || o.fault == NeverDeletes || hasPausedAnnotation(o.object) {
		return ctrl.Result{}, nil
	}
	delay, err := p.deletionDelay(p, o)
	if err != nil {
		return ctrl.Result{}, err
	}
	if remaining := o.memory.remaining("deletion", delay); remaining > 0 {
		return ctrl.Result{RequeueAfter: remaining}, nil
	}
	left := slices.DeleteFunc(slices.Clone(o.object.Finalizers), func(f string) bool { return f == p.finalizer })
	return ctrl.Result{}, client.IgnoreNotFound(p.patchFinalizers(ctx, o, left))
}

// patchFinalizers replaces the list, so it insists on the version that the list was read at.
func (p *provider) patchFinalizers(ctx context.Context, o *occasion, finalizers []string) error {
	patch, err := mergePatch(map[string]any{"metadata": map[string]any{
		"finalizers": finalizers, "resourceVersion": o.object.ResourceVersion,
	}})
	if err != nil {
		return err
	}
	return p.client.Patch(ctx, p.empty(o.key), patch)
}

// empty returns an object of the provider's kind of which only metadata is read, and which can be patched as a whole.
func (p *provider) empty(key types.NamespacedName) *metav1.PartialObjectMetadata {
	obj := metadataOf(p.kind.WithVersion(NewAPIVersion))
	obj.Namespace, obj.Name = key.Namespace, key.Name
	return obj
}

func metadataOf(gvk schema.GroupVersionKind) *metav1.PartialObjectMetadata {
	obj := &metav1.PartialObjectMetadata{}
	obj.SetGroupVersionKind(gvk)
	return obj
}

func mergePatch(content map[string]any) (client.Patch, error) {
	data, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("encode a patch: %w", err)
	}
	return client.RawPatch(types.MergePatchType, data), nil
}

// delay is what the object's annotation says, or else the option with the object's jitter.
func (p *provider) delay(o *occasion, annotation string, option time.Duration) (time.Duration, error) {
	value, found := o.object.Annotations[annotation]
	if !found {
		return chance{p.options.Seed}.jitter(option, p.options.Jitter, o.key, annotation), nil
	}
	delay, err := time.ParseDuration(value)
	if err != nil || delay < 0 {
		return 0, fmt.Errorf("annotation %s of %s %s is %q, expected a duration such as 1m30s", annotation, p.kind.Kind, o.key, value)
	}
	return delay, nil
}
