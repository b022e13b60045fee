// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	toolscache "k8s.io/client-go/tools/cache"
)

// refusals hold what the API server refuses to the informer of Nodes, which would only try again for ever: without the
// right to list or watch, what is in the cache gets old although all probes succeed. There is room for one.
type refusals chan error

// handle is told of each list or watch that ends with an error. Most errors pass, or are found out by the probes.
func (r refusals) handle(ctx context.Context, reflector *toolscache.Reflector, err error) {
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		select {
		case r <- err:
		default:
		}
	}
	toolscache.DefaultWatchErrorHandler(ctx, reflector, err)
}

// refusal is why the session must be given up.
func refusal(err error) error {
	if apierrors.IsUnauthorized(err) {
		return errUnauthorized
	}
	return fmt.Errorf("the Nodes of the workload cluster can't be watched: %w", err)
}
