// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package references

import (
	"context"
	"errors"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers/external"
)

// request is what rules judge, with the facts that they need. A fact is looked up when the first rule asks for it, and once.
// A request is judged by one goroutine.
type request struct {
	operation admissionv1.Operation
	now       subject
	// before is nil on CREATE.
	before  *subject
	user    authenticationv1.UserInfo
	lookups *lookups

	definitions facts[external.Kind, *external.Definition]
	objects     facts[reference, found]
	scopes      facts[external.Kind, scope]
	clusters    facts[types.NamespacedName, *clusterv1.Cluster]
	machines    facts[types.NamespacedName, bool]
	permissions facts[authorizationv1.ResourceAttributes, bool]
}

// changed reports whether the part is new or differs from what it was.
func (r *request) changed(p *part) bool {
	return r.before == nil || p.value(r.now) != p.value(*r.before)
}

// facts remembers answers, errors as well.
type facts[K comparable, V any] map[K]answer[V]

type answer[V any] struct {
	value V
	err   error
}

func (f *facts[K, V]) get(key K, ask func() (V, error)) (V, error) {
	known, ok := (*f)[key]
	if !ok {
		known.value, known.err = ask()
		if *f == nil {
			*f = facts[K, V]{}
		}
		(*f)[key] = known
	}
	return known.value, known.err
}

// found is what is known about the object that a reference names.
type found struct {
	// object is nil if there is none.
	object *metav1.PartialObjectMetadata
	// unserved is true if the API server knows no such resource in a namespace.
	unserved bool
}

// definition returns what the CRD of the reference's kind says; the error may be an *external.KindError.
func (r *request) definition(ctx context.Context, ref *reference) (*external.Definition, error) {
	return r.definitions.get(ref.kind(), func() (*external.Definition, error) { return r.lookups.definition(ctx, ref.kind()) })
}

// usable is definition without the findings of others: it returns nil if the kind can't be used at all.
func (r *request) usable(ctx context.Context, ref *reference) (*external.Definition, error) {
	definition, err := r.definition(ctx, ref)
	if _, unusable := errors.AsType[*external.KindError](err); unusable {
		return nil, nil
	}
	return definition, err
}

// find looks for the object that the reference names.
func (r *request) find(ctx context.Context, ref *reference) (found, error) {
	definition, err := r.usable(ctx, ref)
	if definition == nil || err != nil {
		return found{}, err
	}
	return r.objects.get(*ref, func() (found, error) {
		object, err := r.lookups.object(ctx, definition.Resource(), r.inNamespace(ref.Name))
		if errors.Is(err, errUnserved) {
			return found{unserved: true}, nil
		}
		return found{object: object}, err
	})
}

// object is find for those who only care for an object that exists.
func (r *request) object(ctx context.Context, p *part) (*reference, *metav1.PartialObjectMetadata, error) {
	ref := p.reference(r.now)
	if ref == nil {
		return nil, nil, nil
	}
	found, err := r.find(ctx, ref)
	return ref, found.object, err
}

// scope returns how the API server serves the kind, if it could not be found in the namespace; the zero value otherwise.
func (r *request) scope(ctx context.Context, p *part) (scope, error) {
	ref := p.reference(r.now)
	if ref == nil {
		return served, nil
	}
	found, err := r.find(ctx, ref)
	if err != nil || !found.unserved {
		return served, err
	}
	return r.scopes.get(ref.kind(), func() (scope, error) {
		definition, err := r.usable(ctx, ref)
		if definition == nil || err != nil {
			return served, err
		}
		return r.lookups.scope(ctx, definition.Resource())
	})
}

// cluster returns the Cluster of the Machine, nil if there is none.
func (r *request) cluster(ctx context.Context) (*clusterv1.Cluster, error) {
	key := r.inNamespace(r.now.Spec.ClusterName)
	return r.clusters.get(key, func() (*clusterv1.Cluster, error) { return r.lookups.cluster(ctx, key) })
}

// machineExists reports whether there is a Machine of the name, beside the one that is judged.
func (r *request) machineExists(ctx context.Context, name string) (bool, error) {
	key := r.inNamespace(name)
	return r.machines.get(key, func() (bool, error) { return r.lookups.machineExists(ctx, key) })
}

func (r *request) inNamespace(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: r.now.Namespace, Name: name}
}

// mayGet reports whether the requester could read the object, so that telling what is in it reveals nothing.
func (r *request) mayGet(ctx context.Context, group, resource, name string) bool {
	attributes := authorizationv1.ResourceAttributes{Namespace: r.now.Namespace, Verb: "get", Group: group, Resource: resource, Name: name}
	may, err := r.permissions.get(attributes, func() (bool, error) { return r.lookups.mayGet(ctx, r.user, attributes), nil })
	return may && err == nil
}

// mayGetMachine is mayGet for another Machine.
func (r *request) mayGetMachine(ctx context.Context, name string) bool {
	return r.mayGet(ctx, clusterv1.GroupVersion.Group, machinesResource, name)
}

// mayGetReferenced is mayGet for the object that the reference names.
func (r *request) mayGetReferenced(ctx context.Context, ref *reference) bool {
	definition, err := r.usable(ctx, ref)
	return err == nil && definition != nil && r.mayGet(ctx, ref.APIGroup, definition.Resource().Resource, ref.Name)
}
