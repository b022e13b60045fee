// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package watchcache

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// Guard returns a client that reads from a trimmed cache and refuses what would write a trimmed object back.
//
// It refuses every Update, as that deletes what it doesn't hold. It refuses a Patch of all kinds but Machine: a patch is
// computed from two objects, and one of lists that were shortened would shorten them. Of a Machine only managed fields
// and one annotation are trimmed, from both objects alike. Apply, Create and Delete hold nothing of a cached object.
func Guard(c client.Client) client.Client {
	return guarded{c}
}

type guarded struct{ client.Client }

// trimmedError says what was refused.
type trimmedError struct {
	verb   string
	object client.Object
}

func (e *trimmedError) Error() string {
	return fmt.Sprintf("%s of %T %s refused: it may come from the cache, and would delete what is trimmed there",
		e.verb, e.object, client.ObjectKeyFromObject(e.object))
}

// Update refuses.
func (guarded) Update(_ context.Context, object client.Object, _ ...client.UpdateOption) error {
	return &trimmedError{"Update", object}
}

// Patch refuses anything but a Machine.
func (g guarded) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	if !patchable(object) {
		return &trimmedError{"Patch", object}
	}
	return g.Client.Patch(ctx, object, patch, options...)
}

// Status guards in the same way.
func (g guarded) Status() client.SubResourceWriter {
	return g.SubResource("status")
}

// SubResource guards in the same way.
func (g guarded) SubResource(name string) client.SubResourceClient {
	return guardedSubResource{g.Client.SubResource(name)}
}

type guardedSubResource struct{ client.SubResourceClient }

// Update refuses.
func (guardedSubResource) Update(_ context.Context, object client.Object, _ ...client.SubResourceUpdateOption) error {
	return &trimmedError{"Update", object}
}

// Patch refuses anything but a Machine.
func (g guardedSubResource) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
	if !patchable(object) {
		return &trimmedError{"Patch", object}
	}
	return g.SubResourceClient.Patch(ctx, object, patch, options...)
}

func patchable(object client.Object) bool {
	_, ok := object.(*clusterv1.Machine)
	return ok
}
