// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
)

// watches lists and watches provider objects, which arrive packed.
type watches interface {
	of(role *Role, resource schema.GroupVersionResource, namespace string) toolscache.ListerWatcherWithContext
}

// Which kinds there are is known only when a Machine references them. Those of these groups are the usual ones; for others
// the provider brings a ClusterRole with the label cluster.x-k8s.io/aggregate-to-manager, as for Cluster API.
//
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io;bootstrap.cluster.x-k8s.io,resources=*,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=controlplane.cluster.x-k8s.io,resources=*,verbs=list;watch

// clients has a client for each role, since a client's decoder prunes what it reads. All share connections and rate limit.
type clients map[*Role]rest.Interface

// newClients returns clients of the config. As those of dynamic.NewForConfig, they speak JSON and know no API version.
func newClients(config *rest.Config) (clients, error) {
	config = rest.CopyConfig(config)
	config.GroupVersion = nil
	config.APIPath = "/" // requests have absolute paths
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	connections, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	all := clients{}
	for _, role := range roles {
		config.NegotiatedSerializer = serializerFor(role)
		client, err := rest.UnversionedRESTClientForConfigAndClient(config, connections)
		if err != nil {
			return nil, err
		}
		config.RateLimiter = client.GetRateLimiter()
		all[role] = client
	}
	return all, nil
}

func (c clients) of(role *Role, resource schema.GroupVersionResource, namespace string) toolscache.ListerWatcherWithContext {
	path := []string{"apis", resource.Group, resource.Version}
	if namespace != "" {
		path = append(path, "namespaces", namespace)
	}
	return &resourceClient{client: c[role], namespace: namespace, path: append(path, resource.Resource)}
}

// resourceClient lists and watches the objects of one resource.
type resourceClient struct {
	client    rest.Interface
	namespace string
	path      []string
}

// optionsCodec writes list options into the query of a request.
var optionsCodec = func() runtime.ParameterCodec {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, metav1.Unversioned)
	return runtime.NewParameterCodec(scheme)
}()

func (r *resourceClient) request(options metav1.ListOptions) (*rest.Request, error) {
	if problems := rest.IsValidPathSegmentName(r.namespace); len(problems) > 0 {
		return nil, fmt.Errorf("invalid namespace %q: it %s", r.namespace, strings.Join(problems, ", and "))
	}
	return r.client.Get().AbsPath(r.path...).SpecificallyVersionedParams(&options, optionsCodec, metav1.Unversioned), nil
}

// ListWithContext implements toolscache.ListerWatcherWithContext. It returns a *packedList.
func (r *resourceClient) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	request, err := r.request(options)
	if err != nil {
		return nil, err
	}
	list := &packedList{}
	if err := request.Do(ctx).Into(list); err != nil {
		return nil, err
	}
	return list, nil
}

// WatchWithContext implements toolscache.ListerWatcherWithContext. Its events have a *packed, or a *metav1.Status.
func (r *resourceClient) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.Watch = true
	request, err := r.request(options)
	if err != nil {
		return nil, err
	}
	return request.Watch(ctx)
}
