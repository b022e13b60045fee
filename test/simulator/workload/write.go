// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"slices"

	jsonpatch "github.com/evanphx/json-patch/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"
)

// part is what of an object a write may change.
type part int

const (
	mainResource   part = iota // everything but status, if the resource has a status subresource
	statusResource             // status and metadata
)

func (r *resource) create(c *Cluster, w http.ResponseWriter, req *http.Request) error {
	if err := refuseDryRun(req.URL.Query()["dryRun"]); err != nil {
		return err
	}
	body, err := readBody(req)
	if err != nil {
		return err
	}
	obj, err := decodeBody(body, r)
	if err != nil {
		return err
	}
	if namespace := req.PathValue("namespace"); obj.GetNamespace() == "" {
		obj.SetNamespace(namespace)
	} else if obj.GetNamespace() != namespace {
		return apierrors.NewBadRequest(fmt.Sprintf("the namespace of the object is %q, that of the request %q", obj.GetNamespace(), namespace))
	}
	rec, err := c.store.create(r, obj)
	if err != nil {
		return err
	}
	return r.write(w, req, http.StatusCreated, rec)
}

func (r *resource) update(of part) handler {
	return func(c *Cluster, w http.ResponseWriter, req *http.Request) error {
		return r.change(c, w, req, of, func(_ Object, body []byte) (Object, error) {
			return decodeBody(body, r)
		})
	}
}

func (r *resource) patch(of part) handler {
	return func(c *Cluster, w http.ResponseWriter, req *http.Request) error {
		contentType, _, err := mime.ParseMediaType(req.Header.Get("Content-Type"))
		if err != nil {
			return apierrors.NewBadRequest(fmt.Sprintf("Content-Type of the patch: %v", err))
		}
		return r.change(c, w, req, of, func(current Object, body []byte) (Object, error) {
			return r.applyPatch(current, types.PatchType(contentType), body)
		})
	}
}

// change is what update and patch have in common; desired works out the new object from the current one and the body.
func (r *resource) change(c *Cluster, w http.ResponseWriter, req *http.Request, of part,
	desired func(current Object, body []byte) (Object, error)) error {
	if err := refuseDryRun(req.URL.Query()["dryRun"]); err != nil {
		return err
	}
	body, err := readBody(req)
	if err != nil {
		return err
	}
	rec, err := c.store.update(r, pathKey(req), func(current Object) (Object, error) {
		obj, err := desired(current, body)
		if err != nil {
			return nil, err
		}
		switch {
		case of == statusResource:
			keepSpec(obj, current)
		case r.status:
			keepStatus(obj, current)
		}
		return obj, nil
	})
	if err != nil {
		return err
	}
	return r.write(w, req, http.StatusOK, rec)
}

func (r *resource) applyPatch(current Object, patchType types.PatchType, patch []byte) (Object, error) {
	original, err := json.Marshal(current)
	if err != nil {
		return nil, err
	}
	var patched []byte
	switch patchType {
	case types.MergePatchType:
		patched, err = jsonpatch.MergePatch(original, patch)
	case types.StrategicMergePatchType:
		patched, err = strategicpatch.StrategicMergePatch(original, patch, r.newObject())
	case types.JSONPatchType:
		patched, err = applyJSONPatch(original, patch)
	default:
		return nil, apierrors.NewGenericServerResponse(http.StatusUnsupportedMediaType, "patch", r.groupResource(), current.GetName(),
			fmt.Sprintf("simulated workload clusters do not support patches of type %s", patchType), 0, true)
	}
	if err != nil {
		return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "patch", r.groupResource(), current.GetName(),
			fmt.Sprintf("apply %s: %v", patchType, err), 0, true)
	}
	obj := r.newObject()
	if err := json.Unmarshal(patched, obj); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the patched %s %s can't be decoded: %v", r.Kind, keyOf(current), err))
	}
	return obj, nil
}

func applyJSONPatch(original, patch []byte) ([]byte, error) {
	operations, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return nil, err
	}
	return operations.Apply(original)
}

func (r *resource) delete(c *Cluster, w http.ResponseWriter, req *http.Request) error {
	body, err := readBody(req)
	if err != nil {
		return err
	}
	var options metav1.DeleteOptions
	if len(body) > 0 {
		kind := schema.GroupVersionKind{Version: "v1", Kind: "DeleteOptions"}
		if _, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, &kind, &options); err != nil {
			return apierrors.NewBadRequest(fmt.Sprintf("decode the DeleteOptions: %v", err))
		}
	}
	if err := refuseDryRun(slices.Concat(options.DryRun, req.URL.Query()["dryRun"])); err != nil {
		return err
	}
	rec, err := c.store.delete(r, pathKey(req), options.Preconditions)
	if err != nil {
		return err
	}
	return r.write(w, req, http.StatusOK, rec)
}

// refuseDryRun keeps a request that should change nothing from changing something.
func refuseDryRun(dryRun []string) error {
	if len(dryRun) == 0 {
		return nil
	}
	return apierrors.NewBadRequest("simulated workload clusters do not support dryRun")
}
