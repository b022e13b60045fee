// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package references

import (
	"context"
	"errors"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers/external"
)

// How long a lookup may take. The API server waits 5 s for the answer to all of them.
const (
	// cacheTimeout is for a cache that is not filled yet; one that is answers at once.
	cacheTimeout = 500 * time.Millisecond
	// requestTimeout is for a request to the API server, or for a few of them that answer one question.
	requestTimeout = 1500 * time.Millisecond
	// totalTimeout is for everything, so that there is an answer in time whatever has failed.
	totalTimeout = 4 * time.Second
)

const machinesResource = "machines"

// Machines finds Machines of a namespace by what their spec says, other than by their name. Implementations answer from
// memory, in at most the time that the context has; what they return is for reading.
type Machines interface {
	// WithInfrastructure returns the Machines with that spec.infrastructureRef.
	WithInfrastructure(ctx context.Context, namespace string, ref clusterv1.ContractVersionedObjectReference) ([]clusterv1.Machine, error)
	// WithConfig returns the Machines with that spec.bootstrap.configRef.
	WithConfig(ctx context.Context, namespace string, ref clusterv1.ContractVersionedObjectReference) ([]clusterv1.Machine, error)
	// WithProviderID returns the Machines with that spec.providerID.
	WithProviderID(ctx context.Context, namespace, providerID string) ([]clusterv1.Machine, error)
}

// errUnserved says that the API server has no such resource in a namespace.
var errUnserved = errors.New("the API server does not serve this resource in namespaces")

// scope is how the API server serves a kind.
type scope int

const (
	served scope = iota
	notServed
	clusterScoped
)

// lookups are the sources of facts. They may be called concurrently, and each ends by itself.
type lookups struct {
	// definition is external.ReadDefinition.
	definition func(ctx context.Context, kind external.Kind) (*external.Definition, error)
	// object returns nil if there is no such object, and errUnserved.
	object func(ctx context.Context, resource schema.GroupVersionResource, key types.NamespacedName) (*metav1.PartialObjectMetadata, error)
	scope  func(ctx context.Context, resource schema.GroupVersionResource) (scope, error)
	// cluster returns nil if there is no such Cluster.
	cluster       func(ctx context.Context, key types.NamespacedName) (*clusterv1.Cluster, error)
	machineExists func(ctx context.Context, key types.NamespacedName) (bool, error)
	machines      Machines
	// missingVerbs are those that the manager needs and lacks.
	missingVerbs func(ctx context.Context, resource schema.GroupResource) ([]string, error)
	// mayGet is false if it can't be found out.
	mayGet func(ctx context.Context, user authenticationv1.UserInfo, attributes authorizationv1.ResourceAttributes) bool
	// isManager reports whether the user is the manager itself; false if it can't be found out.
	isManager func(ctx context.Context, user authenticationv1.UserInfo) bool
}

// newLookups returns lookups that read CRDs, Clusters and Machines in the manager's cache, and all else live, by clients of
// their own: what the controllers do must not use up the rate limit of admission.
func newLookups(mgr ctrl.Manager, o Options) (*lookups, error) {
	cfg := mgr.GetConfig()
	objects, err := metadata.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("building the metadata client of reference validation: %w", err)
	}
	resources, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("building the discovery client of reference validation: %w", err)
	}
	access, err := newAccess(cfg, o)
	if err != nil {
		return nil, err
	}
	l := live{cache: mgr.GetCache(), objects: objects, resources: resources}
	return &lookups{
		definition: l.definition, object: l.object, scope: l.scope, cluster: l.cluster, machineExists: l.machineExists,
		machines: o.Machines, missingVerbs: access.missingVerbs, mayGet: access.mayGet, isManager: access.isManager,
	}, nil
}

// live looks things up for real.
type live struct {
	cache     client.Reader
	objects   metadata.Interface
	resources *discovery.DiscoveryClient
}

func (l live) definition(ctx context.Context, kind external.Kind) (*external.Definition, error) {
	ctx, cancel := context.WithTimeout(ctx, cacheTimeout)
	defer cancel()
	return external.ReadDefinition(ctx, l.cache, kind)
}

func (l live) object(ctx context.Context, resource schema.GroupVersionResource, key types.NamespacedName) (*metav1.PartialObjectMetadata, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	object, err := l.objects.Resource(resource).Namespace(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		return nil, errUnserved // it was not the resource's handler that answered
	case apierrors.IsNotFound(err):
		return nil, nil
	}
	return object, err
}

func (l live) scope(ctx context.Context, resource schema.GroupVersionResource) (scope, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	list, err := l.resources.ServerResourcesForGroupVersionWithContext(ctx, resource.GroupVersion().String())
	if err != nil {
		return notServed, client.IgnoreNotFound(err)
	}
	for i := range list.APIResources {
		if found := &list.APIResources[i]; found.Name == resource.Resource {
			if found.Namespaced {
				return served, nil
			}
			return clusterScoped, nil
		}
	}
	return notServed, nil
}

func (l live) cluster(ctx context.Context, key types.NamespacedName) (*clusterv1.Cluster, error) {
	ctx, cancel := context.WithTimeout(ctx, cacheTimeout)
	defer cancel()
	cluster := &clusterv1.Cluster{}
	err := l.cache.Get(ctx, key, cluster)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return cluster, err
}

// machineExists asks the API server: the cache may hold only some of the Machines, or be behind.
func (l live) machineExists(ctx context.Context, key types.NamespacedName) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	// The manager may list Machines, and has no need to get one otherwise.
	named := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, key.Name).String(), Limit: 1}
	machines, err := l.objects.Resource(clusterv1.GroupVersion.WithResource(machinesResource)).Namespace(key.Namespace).List(ctx, named)
	if err != nil {
		return false, err
	}
	return len(machines.Items) > 0, nil
}
