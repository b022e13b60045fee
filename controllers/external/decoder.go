// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	toolscache "k8s.io/client-go/tools/cache"
)

// decoder reads what an API server answers about objects of a role: objects become *packed, lists become *packedList, and
// errors *metav1.Status. The fields that the contract does not name are passed over as bytes.
type decoder struct{ role *Role }

// head is what decoder has to know of an object.
type head struct {
	metav1.TypeMeta
	Metadata struct {
		Namespace       string    `json:"namespace"`
		Name            string    `json:"name"`
		UID             types.UID `json:"uid"`
		ResourceVersion string    `json:"resourceVersion"`
	} `json:"metadata"`
}

func serializerFor(role *Role) runtime.NegotiatedSerializer {
	return runtime.NewSimpleNegotiatedSerializer(runtime.SerializerInfo{
		MediaType:        runtime.ContentTypeJSON,
		MediaTypeType:    "application",
		MediaTypeSubType: "json",
		EncodesAsText:    true,
		Serializer:       decoder{role},
		StreamSerializer: &runtime.StreamSerializerInfo{EncodesAsText: true, Serializer: eventDecoder{decoder{role}}, Framer: framer{}},
	})
}

// Decode implements runtime.Decoder. Into nothing but a *packedList is decoded.
func (d decoder) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	if list, ok := into.(*packedList); ok {
		object, err := d.list(data, list)
		return object, nil, err
	}
	object, err := d.object(data, defaults)
	return object, nil, err
}

func (d decoder) object(data []byte, defaults *schema.GroupVersionKind) (runtime.Object, error) {
	pruned, rest, err := d.role.pruneJSON(nil, data)
	if err != nil {
		return nil, err
	}
	if rest = bytes.TrimSpace(rest); len(rest) > 0 {
		return nil, fmt.Errorf("expected one object, found %.20q after it", rest)
	}
	object, h, err := packJSON(pruned)
	if err != nil {
		return nil, err
	}
	if defaults != nil {
		h.APIVersion = cmp.Or(h.APIVersion, defaults.GroupVersion().String())
	}
	switch {
	case h.Kind == "":
		return nil, runtime.NewMissingKindErr(string(pruned))
	case isStatus(h.TypeMeta):
		return decodeStatus(data)
	case object.name == "":
		return object, decodeBookmark(data, object)
	}
	return object, nil
}

// packJSON packs an object that is pruned already. The bytes are not held.
func packJSON(pruned []byte) (*packed, head, error) {
	var h head
	if err := utiljson.Unmarshal(pruned, &h); err != nil {
		return nil, h, fmt.Errorf("reading the metadata of an object: %w", err)
	}
	m := h.Metadata
	return &packed{
		namespace: m.Namespace, name: m.Name, uid: m.UID, resourceVersion: m.ResourceVersion, json: bytes.Clone(pruned),
	}, h, nil
}

func isStatus(meta metav1.TypeMeta) bool { return meta.Kind == "Status" && meta.APIVersion == "v1" }

func decodeStatus(data []byte) (runtime.Object, error) {
	status := &metav1.Status{}
	if err := utiljson.Unmarshal(data, status); err != nil {
		return nil, fmt.Errorf("reading a status: %w", err)
	}
	return status, nil
}

// decodeBookmark reads what only bookmarks have, the objects without a name.
func decodeBookmark(data []byte, object *packed) error {
	var bookmark struct {
		Metadata struct {
			Annotations map[string]any `json:"annotations"`
		} `json:"metadata"`
	}
	if err := utiljson.Unmarshal(data, &bookmark); err != nil {
		return fmt.Errorf("reading a bookmark: %w", err)
	}
	object.endsInitialEvents = bookmark.Metadata.Annotations[metav1.InitialEventsAnnotationKey] == "true"
	return nil
}

// list returns the list, or a status if the data is one.
func (d decoder) list(data []byte, list *packedList) (runtime.Object, error) {
	rest, items, err := d.role.pruneListJSON(data)
	if err != nil {
		return nil, err
	}
	if err := utiljson.Unmarshal(rest, list); err != nil {
		return nil, fmt.Errorf("reading the metadata of a list: %w", err)
	}
	if isStatus(list.TypeMeta) {
		return decodeStatus(data)
	}
	if items == nil {
		return nil, fmt.Errorf("expected a list, found a %s without items", cmp.Or(list.Kind, "JSON object"))
	}
	list.Items = make([]*packed, len(items))
	for i, item := range items {
		if list.Items[i], _, err = packJSON(item); err != nil {
			return nil, fmt.Errorf("item %d of the list: %w", i, err)
		}
	}
	return list, nil
}

// Encode implements runtime.Encoder, and fails: the clients of these decoders only read.
func (d decoder) Encode(runtime.Object, io.Writer) error {
	return errors.New("this client only reads, it can't send objects")
}

// Identifier implements runtime.Encoder.
func (d decoder) Identifier() runtime.Identifier { return runtime.Identifier("packed" + d.role.name) }

// packedList is a list of packed objects, in the form that client-go's reflector and pager expect.
type packedList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`

	Items []*packed `json:"-"`
}

// DeepCopyObject implements runtime.Object. The items are shared: nobody writes to them.
func (l *packedList) DeepCopyObject() runtime.Object {
	out := &packedList{TypeMeta: l.TypeMeta, Items: append([]*packed(nil), l.Items...)}
	l.DeepCopyInto(&out.ListMeta)
	return out
}

var _ toolscache.ListerWatcherWithContext = (*resourceClient)(nil)
