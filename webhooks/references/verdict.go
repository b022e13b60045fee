// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package references

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// How long warnings may be, in characters.
const (
	// maxWarning is what Kubernetes recommends for one.
	maxWarning = 120
	// maxWarnings is for all that a request gets. Beyond it the API server cuts each to 256, and drops the last ones.
	maxWarnings = 4096
)

// throttled is in the error of client-go's rate limiter, which has no type, if there is no time left to wait for a turn.
const throttled = "would exceed context deadline"

// verdict is the answer to a request as it comes about.
type verdict struct {
	errors   field.ErrorList
	warnings []string
	length   int
}

func (v *verdict) deny(path *field.Path, value any, problem, id string) {
	v.errors = append(v.errors, field.Invalid(path, value, problem+" ("+id+")"))
}

// warn adds a warning that begins with the path and, if there is an ID, ends with it. The problem between them is cut.
func (v *verdict) warn(path *field.Path, problem, id string) {
	before, after := path.String()+": ", ""
	if id != "" {
		after = " (" + id + ")"
	}
	warning := before + cut(problem, maxWarning-len(before)-len(after)) + after
	length := utf8.RuneCountInString(warning)
	if slices.Contains(v.warnings, warning) || v.length+length > maxWarnings {
		return
	}
	v.warnings, v.length = append(v.warnings, warning), v.length+length
}

// cut keeps to the number of characters.
func cut(text string, limit int) string {
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	return string([]rune(text)[:limit-1]) + "…"
}

func (v *verdict) response(s subject) admission.Response {
	if len(v.errors) == 0 {
		return admission.Allowed("").WithWarnings(v.warnings...)
	}
	status := apierrors.NewInvalid(clusterv1.GroupVersion.WithKind("Machine").GroupKind(), s.Name, v.errors).Status()
	response := admission.Denied("").WithWarnings(v.warnings...)
	response.Result = &status
	return response
}

// causeOf says why a lookup failed in words that are always the same, and tell nothing about what was looked for.
func causeOf(err error) string {
	var notStarted *cache.ErrCacheNotStarted
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), apierrors.IsTimeout(err), apierrors.IsServerTimeout(err),
		strings.Contains(err.Error(), throttled):
		return "no answer in time"
	case errors.As(err, &notStarted):
		return "the manager has just started"
	case apierrors.IsForbidden(err):
		return "the manager may not read it"
	}
	if status := apierrors.APIStatus(nil); errors.As(err, &status) && status.Status().Code >= http.StatusInternalServerError {
		return "the API server can't answer"
	}
	return "the lookup failed; see the manager's log"
}
