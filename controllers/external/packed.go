// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"bytes"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	toolscache "k8s.io/client-go/tools/cache"
)

// packed is a pruned provider object as the store of an informer holds it: its JSON, and what the informer itself needs.
// The maps of an unstructured object take several times the bytes of its JSON, for every object, all the time; unpacking
// takes microseconds, for one object, when its Machine is reconciled.
type packed struct {
	namespace       string
	name            string
	uid             types.UID
	resourceVersion string
	// endsInitialEvents is true for the bookmark after which a watch has told of all objects that existed at its begin.
	endsInitialEvents bool
	json              []byte
}

// pack prunes the object for the role and packs it. The object is changed.
func pack(role *Role, object *unstructured.Unstructured) (*packed, error) {
	role.prune(object)
	data, err := utiljson.Marshal(object.Object)
	if err != nil {
		return nil, fmt.Errorf("packing %s %s/%s for the cache: %w", object.GetKind(), object.GetNamespace(), object.GetName(), err)
	}
	return &packed{
		namespace: object.GetNamespace(), name: object.GetName(), uid: object.GetUID(), resourceVersion: object.GetResourceVersion(),
		json: data,
	}, nil
}

// unpack returns an object of its own: nobody else holds it.
func (p *packed) unpack() (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(p.json, &object.Object); err != nil {
		return nil, fmt.Errorf("unpacking %s/%s from the cache: %w", p.namespace, p.name, err)
	}
	return object, nil
}

// GetObjectMeta lets informers find the key and the version of the object.
func (p *packed) GetObjectMeta() metav1.Object {
	meta := &metav1.ObjectMeta{Namespace: p.namespace, Name: p.name, UID: p.uid, ResourceVersion: p.resourceVersion}
	if p.endsInitialEvents {
		meta.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	return meta
}

// GetObjectKind implements runtime.Object. Whoever asks is not told: all objects of an informer are of one kind.
func (p *packed) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object. The JSON is shared: nobody writes to it.
func (p *packed) DeepCopyObject() runtime.Object { return new(*p) }

// equalButForVersion reports whether the two differ in nothing but their resourceVersion. That some equal objects are
// written differently is possible, and no more than unusual.
func (p *packed) equalButForVersion(other *packed) bool {
	// If all but one string is equal, and that is the resourceVersion of each, then it is the one of the metadata: that
	// one differs, unless all is equal.
	before, after, found := bytes.Cut(p.json, p.versionMember())
	rest, begins := bytes.CutPrefix(other.json, before)
	rest, continues := bytes.CutPrefix(rest, other.versionMember())
	return found && begins && continues && bytes.Equal(rest, after)
}

func (p *packed) versionMember() []byte {
	return []byte(`"resourceVersion":"` + p.resourceVersion + `"`)
}

// packedIn returns what an event of an informer is about, also if it was deleted while nobody watched.
func packedIn(obj any) (*packed, bool) {
	if tombstone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	p, ok := obj.(*packed)
	return p, ok
}
