// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// encoding turns records into a response. Records are stored as protobuf messages, so to a client that accepts protobuf
// (controller-runtime asks for it with built-in types) they are sent without decoding.
type encoding interface {
	contentType() string
	// object encodes one object of the kind.
	object(res *resource, rec *record) ([]byte, error)
	// list encodes a list of the kind, given its metadata.
	list(res *resource, meta metav1.ListMeta, records []*record) ([]byte, error)
	// event encodes one watch event, framed as the media type's streams are, with an object that is already encoded.
	event(kind string, object []byte) ([]byte, error)
	// wrap encodes an object that is not a record: a bookmark or a Status.
	wrap(gvk schema.GroupVersionKind, obj runtime.Object) ([]byte, error)
}

// negotiate picks the first media type of the Accept header that the server has. Clauses that ask for a transformation
// (as=Table, as=PartialObjectMetadata) are skipped: clients list the plain type behind them.
func negotiate(r *http.Request) encoding {
	for clause := range strings.SplitSeq(r.Header.Get("Accept"), ",") {
		mediaType, params, _ := strings.Cut(strings.TrimSpace(clause), ";")
		switch {
		case strings.Contains(params, "as="):
		case mediaType == runtime.ContentTypeProtobuf:
			return protobufEncoding{}
		case mediaType == runtime.ContentTypeJSON:
			return jsonEncoding{}
		}
	}
	return jsonEncoding{}
}

type jsonEncoding struct{}

func (jsonEncoding) contentType() string { return runtime.ContentTypeJSON }

func (e jsonEncoding) object(res *resource, rec *record) ([]byte, error) {
	obj, err := res.decode(rec)
	if err != nil {
		return nil, err
	}
	return e.wrap(res.GroupVersionKind, obj)
}

func (e jsonEncoding) list(res *resource, meta metav1.ListMeta, records []*record) ([]byte, error) {
	list := struct {
		metav1.TypeMeta
		Metadata metav1.ListMeta   `json:"metadata"`
		Items    []json.RawMessage `json:"items"`
	}{Metadata: meta, Items: make([]json.RawMessage, 0, len(records))}
	list.SetGroupVersionKind(listKind(res))
	for _, rec := range records {
		item, err := e.object(res, rec)
		if err != nil {
			return nil, err
		}
		list.Items = append(list.Items, item)
	}
	return json.Marshal(list)
}

func (jsonEncoding) event(kind string, object []byte) ([]byte, error) {
	return json.Marshal(metav1.WatchEvent{Type: kind, Object: runtime.RawExtension{Raw: object}})
}

func (jsonEncoding) wrap(gvk schema.GroupVersionKind, obj runtime.Object) ([]byte, error) {
	obj.GetObjectKind().SetGroupVersionKind(gvk)
	return json.Marshal(obj)
}

type protobufEncoding struct{}

// protobufMagic starts every Kubernetes protobuf body.
const protobufMagic = "k8s\x00"

func (protobufEncoding) contentType() string { return runtime.ContentTypeProtobuf }

func (protobufEncoding) object(res *resource, rec *record) ([]byte, error) {
	return envelope(res.GroupVersionKind, rec.raw)
}

// list writes the message of a list by hand: in every Kubernetes list type field 1 is the metadata and the repeated
// field 2 the items, so the stored messages can be copied as they are.
func (protobufEncoding) list(res *resource, meta metav1.ListMeta, records []*record) ([]byte, error) {
	metadata, err := meta.Marshal()
	if err != nil {
		return nil, err
	}
	size := len(metadata) + 2*binary.MaxVarintLen64
	for _, rec := range records {
		size += len(rec.raw) + binary.MaxVarintLen64
	}
	message := appendField(make([]byte, 0, size), 1, metadata)
	for _, rec := range records {
		message = appendField(message, 2, rec.raw)
	}
	return envelope(listKind(res), message)
}

func (protobufEncoding) event(kind string, object []byte) ([]byte, error) {
	event := metav1.WatchEvent{Type: kind, Object: runtime.RawExtension{Raw: object}}
	message, err := event.Marshal()
	if err != nil {
		return nil, err
	}
	frame := binary.BigEndian.AppendUint32(make([]byte, 0, len(message)+4), uint32(len(message)))
	return append(frame, message...), nil
}

func (protobufEncoding) wrap(gvk schema.GroupVersionKind, obj runtime.Object) ([]byte, error) {
	marshaler, ok := obj.(interface{ Marshal() ([]byte, error) })
	if !ok {
		return nil, fmt.Errorf("%T has no protobuf form", obj)
	}
	message, err := marshaler.Marshal()
	if err != nil {
		return nil, err
	}
	return envelope(gvk, message)
}

func envelope(gvk schema.GroupVersionKind, message []byte) ([]byte, error) {
	apiVersion, kind := gvk.ToAPIVersionAndKind()
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: apiVersion, Kind: kind}, Raw: message}
	body := make([]byte, len(protobufMagic)+unknown.Size())
	copy(body, protobufMagic)
	if _, err := unknown.MarshalTo(body[len(protobufMagic):]); err != nil {
		return nil, err
	}
	return body, nil
}

// appendField appends a length-delimited field (wire type 2).
func appendField(message []byte, number int, value []byte) []byte {
	message = append(message, byte(number<<3|2))
	message = binary.AppendUvarint(message, uint64(len(value)))
	return append(message, value...)
}

func listKind(res *resource) schema.GroupVersionKind {
	return res.GroupVersion().WithKind(res.Kind + "List")
}

// maxBody is the most that a request body may have, as in a real API server.
const maxBody = 3 << 20

func readBody(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("read the request's body: %v", err))
	}
	if len(body) > maxBody {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d bytes", maxBody))
	}
	return body, nil
}

// decodeBody decodes JSON, YAML or protobuf into an object of the resource's kind.
func decodeBody(body []byte, res *resource) (Object, error) {
	obj := res.newObject()
	decoded, gvk, err := scheme.Codecs.UniversalDeserializer().Decode(body, &res.GroupVersionKind, obj)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("decode a %s: %v", res.Kind, err))
	}
	if decoded != runtime.Object(obj) {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("expected a %s, the request's body is a %s", res.GroupVersionKind, gvk))
	}
	return obj, nil
}

func writeJSON(w http.ResponseWriter, code int, document any) error {
	body, err := json.Marshal(document)
	if err != nil {
		return err
	}
	return writeBody(w, code, runtime.ContentTypeJSON, body)
}

// writeBody ignores a failed write: the client is gone, and there is nobody else to tell.
func writeBody(w http.ResponseWriter, code int, contentType string, body []byte) error {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(code)
	_, _ = w.Write(body)
	return nil
}

// statusOfError turns any error into what a client gets to see.
func statusOfError(err error) *metav1.Status {
	var apiStatus apierrors.APIStatus
	if !errors.As(err, &apiStatus) {
		apiStatus = apierrors.NewInternalError(err)
	}
	status := apiStatus.Status()
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	return &status
}

// continueToken is where the next page of a list starts. The version is that of the first page: a watch from there sees
// every change that later pages may have missed.
type continueToken struct {
	Version   uint64 `json:"v"`
	Namespace string `json:"ns,omitempty"`
	Name      string `json:"n"`
}

func (t continueToken) String() string {
	data, err := json.Marshal(t)
	if err != nil {
		panic(err) // two strings and a number always have a JSON form
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

func parseContinue(token string) (t continueToken, err error) {
	data, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		err = json.Unmarshal(data, &t)
	}
	if err != nil {
		return t, apierrors.NewBadRequest(fmt.Sprintf("continue token %q: %v", token, err))
	}
	return t, nil
}
