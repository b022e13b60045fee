// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// Object is a built-in Kubernetes type that a workload cluster can store, for example *corev1.Node.
type Object interface {
	metav1.Object
	runtime.Object
	Marshal() ([]byte, error)
	Unmarshal(data []byte) error
}

// resource describes one kind that every workload cluster serves.
type resource struct {
	schema.GroupVersionKind
	plural     string
	namespaced bool
	// status says that the kind has a status subresource, so that the main resource ignores changes of status.
	status bool
	// eviction says that the kind has an eviction subresource.
	eviction bool
	// fields returns the fields, besides name and namespace, that a field selector may name. Nil for none.
	fields func(Object) fields.Set
}

// resources is everything that a workload cluster serves: what the Machine controller touches now (Nodes) and what
// draining a Node and waiting for its volumes look at.
var resources = []*resource{
	{GroupVersionKind: core("Node"), plural: "nodes", status: true},
	{GroupVersionKind: core("Pod"), plural: "pods", namespaced: true, status: true, eviction: true, fields: podFields},
	{GroupVersionKind: core("Namespace"), plural: "namespaces", status: true},
	{GroupVersionKind: core("ConfigMap"), plural: "configmaps", namespaced: true},
	{GroupVersionKind: core("Secret"), plural: "secrets", namespaced: true},
	{GroupVersionKind: core("PersistentVolume"), plural: "persistentvolumes", status: true},
	{GroupVersionKind: core("PersistentVolumeClaim"), plural: "persistentvolumeclaims", namespaced: true, status: true},
	{GroupVersionKind: apps("DaemonSet"), plural: "daemonsets", namespaced: true, status: true},
	{GroupVersionKind: policy("PodDisruptionBudget"), plural: "poddisruptionbudgets", namespaced: true, status: true},
	{GroupVersionKind: storage("VolumeAttachment"), plural: "volumeattachments", status: true},
}

func core(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Version: "v1", Kind: kind}
}

func apps(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: kind}
}

func policy(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "policy", Version: "v1", Kind: kind}
}

func storage(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "storage.k8s.io", Version: "v1", Kind: kind}
}

// podFields serves the selector by which a drain finds the Pods of a Node.
func podFields(obj Object) fields.Set {
	pod := obj.(*corev1.Pod)
	return fields.Set{"spec.nodeName": pod.Spec.NodeName, "status.phase": string(pod.Status.Phase)}
}

// resourceOf returns the resource that stores objects of obj's Go type.
func resourceOf(obj Object) (*resource, error) {
	kinds, _, err := scheme.Scheme.ObjectKinds(obj)
	if err != nil {
		return nil, fmt.Errorf("workload clusters store built-in Kubernetes types only: %w", err)
	}
	for _, res := range resources {
		if slices.Contains(kinds, res.GroupVersionKind) {
			return res, nil
		}
	}
	return nil, fmt.Errorf("workload clusters do not serve %s; add it to the list of resources", kinds[0])
}

func (r *resource) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: r.Group, Resource: r.plural}
}

// newObject returns an empty object of the resource's kind. A type in the list of resources that is not in client-go's
// scheme is a mistake in that list.
func (r *resource) newObject() Object {
	obj, err := scheme.Scheme.New(r.GroupVersionKind)
	if err != nil {
		panic(err)
	}
	return obj.(Object)
}

// keepStatus makes the status of sent that of current: the main resource ignores what a client says about status.
func keepStatus(sent, current Object) {
	const status = "Status"
	reflect.ValueOf(sent).Elem().FieldByName(status).Set(reflect.ValueOf(current).Elem().FieldByName(status))
}

// keepSpec makes everything of sent but status and metadata that of current: so does the status subresource.
func keepSpec(sent, current Object) {
	dst, src := reflect.ValueOf(sent).Elem(), reflect.ValueOf(current).Elem()
	for i := range dst.NumField() {
		switch dst.Type().Field(i).Name {
		case "TypeMeta", "ObjectMeta", "Status":
		default:
			dst.Field(i).Set(src.Field(i))
		}
	}
}

// root is the path below a cluster's prefix where the API group's resources are.
func (r *resource) root() string {
	if r.Group == "" {
		return "/api/" + r.Version
	}
	return "/apis/" + r.Group + "/" + r.Version
}

func (r *resource) verbs(subresource bool) metav1.Verbs {
	if subresource {
		return metav1.Verbs{"get", "patch", "update"}
	}
	return metav1.Verbs{"create", "delete", "get", "list", "patch", "update", "watch"}
}

// routeDiscovery registers the non-aggregated discovery documents.
func (s *Server) routeDiscovery() {
	versions := map[string]string{}
	for _, res := range resources {
		versions[res.Group] = res.Version
	}
	groups := &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	for _, res := range resources {
		version, first := versions[res.Group]
		if !first {
			continue
		}
		delete(versions, res.Group)
		gv := schema.GroupVersion{Group: res.Group, Version: version}
		s.document(res.root(), res.root(), resourceList(gv))
		if res.Group == "" {
			continue
		}
		forDiscovery := metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: version}
		group := metav1.APIGroup{
			TypeMeta:         metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"},
			Name:             res.Group,
			Versions:         []metav1.GroupVersionForDiscovery{forDiscovery},
			PreferredVersion: forDiscovery,
		}
		s.document("/apis/"+res.Group, "/apis/"+res.Group, &group)
		groups.Groups = append(groups.Groups, group)
	}
	s.document("/apis", "/apis", groups)
	s.document("/api", "/api", &metav1.APIVersions{
		TypeMeta: metav1.TypeMeta{Kind: "APIVersions", APIVersion: "v1"},
		Versions: []string{"v1"},
	})
}

func resourceList(gv schema.GroupVersion) *metav1.APIResourceList {
	list := &metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: gv.String(),
	}
	for _, res := range resources {
		if res.GroupVersion() != gv {
			continue
		}
		entry := metav1.APIResource{Name: res.plural, Kind: res.Kind, Namespaced: res.namespaced, Verbs: res.verbs(false)}
		list.APIResources = append(list.APIResources, entry)
		if res.status {
			entry.Name, entry.Verbs = res.plural+"/status", res.verbs(true)
			list.APIResources = append(list.APIResources, entry)
		}
		if res.eviction {
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Name: res.plural + "/eviction", Namespaced: res.namespaced, Verbs: metav1.Verbs{"create"},
				Group: evictionKind.Group, Version: evictionKind.Version, Kind: evictionKind.Kind,
			})
		}
	}
	return list
}
