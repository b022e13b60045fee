// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// Options configure Revisions. All but Namespace are required.
type Options struct {
	Config *rest.Config
	HTTP   *http.Client
	// Cache serves CustomResourceDefinitions in the form of CRD.
	Cache cache.Cache
	CRD   *metav1.PartialObjectMetadata
	// Machines returns the requests of the Machines of a MachineSet, from memory.
	Machines func(ctx context.Context, machineSet types.NamespacedName) []reconcile.Request
	// Namespace limits what is watched; empty means all.
	Namespace string
}

// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machinedeployments;machinesets,verbs=list;watch

// Revisions watch MachineSets and MachineDeployments while they are installed. They are safe for concurrent use.
type Revisions struct {
	options           Options
	sets, deployments *kind
}

// New returns Revisions that know nothing before their source has started.
func New(options Options) (*Revisions, error) {
	dynamicClient, err := dynamic.NewForConfigAndClient(options.Config, options.HTTP)
	if err != nil {
		return nil, fmt.Errorf("building the client for MachineSets and MachineDeployments: %w", err)
	}
	return &Revisions{
		options:     options,
		sets:        newKind(dynamicClient, options.Namespace, "machinesets"),
		deployments: newKind(dynamicClient, options.Namespace, "machinedeployments"),
	}, nil
}

// Source wakes the Machines whose answer may have changed.
func (r *Revisions) Source() source.Source {
	return source.TypedFunc[reconcile.Request](func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		wake := func(machineSet types.NamespacedName) {
			for _, request := range r.options.Machines(ctx, machineSet) {
				queue.Add(request)
			}
		}
		r.sets.changed = func(set metav1.Object) { wake(keyOf(set)) }
		r.deployments.changed = func(deployment metav1.Object) {
			for _, set := range r.sets.labelled(deployment.GetNamespace(), deployment.GetName()) {
				wake(keyOf(set))
			}
		}
		informer, err := r.options.Cache.GetInformer(ctx, r.options.CRD, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watching CustomResourceDefinitions: %w", err)
		}
		follow := func(obj any) { r.crdChanged(ctx, obj, true) }
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    follow,
			UpdateFunc: func(_, after any) { follow(after) },
			DeleteFunc: func(obj any) { r.crdChanged(ctx, obj, false) },
		})
		return err
	})
}

func (r *Revisions) crdChanged(ctx context.Context, obj any, exists bool) {
	if tombstone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	crd, ok := obj.(client.Object)
	if !ok {
		return
	}
	for _, k := range []*kind{r.sets, r.deployments} {
		switch {
		case crd.GetName() != k.resource.GroupResource().String():
		case exists:
			k.start(ctx)
		default:
			k.stop()
		}
	}
}

// owners returns the MachineSet that owns the Machine and the MachineDeployment above it. known is false if they may be there
// without having been listed; nil is one that is not there.
func (r *Revisions) owners(machine *clusterv1.Machine) (set, deployment *object, known bool) {
	name := MachineSetOf(machine)
	if name == "" {
		return nil, nil, true
	}
	set, known = r.sets.get(machine.Namespace, name)
	if !known || set == nil || set.deployment() == "" {
		return set, nil, known
	}
	deployment, known = r.deployments.get(machine.Namespace, set.deployment())
	return set, deployment, known
}

// State returns what the MachineDeployment above the Machine thinks of it, nil if there is none, or if it isn't known.
func (r *Revisions) State(machine *clusterv1.Machine) *State {
	set, deployment, known := r.owners(machine)
	if !known || deployment == nil || set.template == nil || deployment.template == nil {
		return nil
	}
	return &State{Current: *set.template, Created: set.CreationTimestamp.Time, Desired: *deployment.template, After: deployment.after}
}

// Outdated reports whether a rollout is about to replace the Machine; nil if that isn't known. A Machine without MachineSet,
// and one whose MachineSet or MachineDeployment does not exist, is never replaced by one. The error says which revision can't
// be read; a change of it wakes the Machine.
func (r *Revisions) Outdated(machine *clusterv1.Machine) (*bool, error) {
	set, deployment, known := r.owners(machine)
	switch {
	case !known:
		return nil, nil //nolint:nilnil // "not known" is an ordinary answer here
	case deployment == nil:
		return new(false), nil
	}
	have, err := revisionOf("MachineSet", set)
	if err != nil {
		return nil, err
	}
	newest, err := revisionOf("MachineDeployment", deployment)
	if err != nil {
		return nil, err
	}
	return new(have < newest), nil
}

// MachineSetOf returns the name of the MachineSet that owns the Machine, "" if none does.
func MachineSetOf(machine *clusterv1.Machine) string {
	for _, ref := range machine.OwnerReferences {
		gv, err := schema.ParseGroupVersion(ref.APIVersion)
		if err == nil && gv.Group == clusterv1.GroupVersion.Group && ref.Kind == "MachineSet" {
			return ref.Name
		}
	}
	return ""
}

// revisionOf reads the revision; without one it is 0.
func revisionOf(kind string, of *object) (int, error) {
	text, ok := of.Annotations[clusterv1.RevisionAnnotation]
	if !ok {
		return 0, nil
	}
	revision, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("annotation %s of %s %s is %q, expected a decimal number: correct it, or the Node keeps or lacks the taint %s as it is",
			clusterv1.RevisionAnnotation, kind, keyOf(of), text, clusterv1.NodeOutdatedRevisionTaint.Key)
	}
	return revision, nil
}

func keyOf(object metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
}
