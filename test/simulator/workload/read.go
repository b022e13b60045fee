// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func (r *resource) get(c *Cluster, w http.ResponseWriter, req *http.Request) error {
	rec, err := c.store.get(r, pathKey(req))
	if err != nil {
		return err
	}
	return r.write(w, req, http.StatusOK, rec)
}

// list also answers watches, which differ by a parameter only.
func (r *resource) list(c *Cluster, w http.ResponseWriter, req *http.Request) error {
	query := req.URL.Query()
	sel, err := newSelection(r, req.PathValue("namespace"), query.Get("labelSelector"), query.Get("fieldSelector"))
	if err != nil {
		return err
	}
	if isWatch(req) {
		return r.watch(c, w, req, sel)
	}
	limit, err := queryNumber(req, "limit")
	if err != nil {
		return err
	}
	var from continueToken
	if token := query.Get("continue"); token != "" {
		if from, err = parseContinue(token); err != nil {
			return err
		}
	}
	after := types.NamespacedName{Namespace: from.Namespace, Name: from.Name}
	records, more, version := c.store.list(r, sel, after, int(limit))
	if from.Version != 0 {
		version = from.Version
	}
	meta := metav1.ListMeta{ResourceVersion: strconv.FormatUint(version, 10)}
	if more {
		last := records[len(records)-1].key
		meta.Continue = continueToken{Version: version, Namespace: last.Namespace, Name: last.Name}.String()
	}
	enc := negotiate(req)
	body, err := enc.list(r, meta, records)
	if err != nil {
		return err
	}
	return writeBody(w, http.StatusOK, enc.contentType(), body)
}

// write answers with one object.
func (r *resource) write(w http.ResponseWriter, req *http.Request, code int, rec *record) error {
	enc := negotiate(req)
	body, err := enc.object(r, rec)
	if err != nil {
		return err
	}
	return writeBody(w, code, enc.contentType(), body)
}

func pathKey(req *http.Request) types.NamespacedName {
	return types.NamespacedName{Namespace: req.PathValue("namespace"), Name: req.PathValue("name")}
}

func isWatch(req *http.Request) bool {
	return queryFlag(req, "watch")
}

func queryFlag(req *http.Request, name string) bool {
	set, err := strconv.ParseBool(req.URL.Query().Get(name))
	return err == nil && set
}

// queryNumber returns a parameter that is a number of 0 or more; absent is 0.
func queryNumber(req *http.Request, name string) (uint64, error) {
	value := req.URL.Query().Get(name)
	if value == "" {
		return 0, nil
	}
	number, err := strconv.ParseUint(value, 10, 63)
	if err != nil {
		return 0, apierrors.NewBadRequest(fmt.Sprintf("query parameter %s is %q, expected a number of 0 or more", name, value))
	}
	return number, nil
}
