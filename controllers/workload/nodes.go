// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/machinist-dev/machinist/controllers/ownwrites"
	"github.com/machinist-dev/machinist/controllers/watchcache"
)

// Connection reads, patches and deletes the Nodes of one workload cluster, and lends its clients to what needs more of it.
type Connection struct {
	// client reads from the cache of the session.
	client client.Client
	live   client.Client
	coreV1 rest.Interface
	writes *nodeWrites
	// wake enqueues the Machines of a Node.
	wake func(ctx context.Context, node *corev1.Node)
}

// Live returns a client whose reads the API server answers, for the kinds in knownKinds. It has no timeout of its own: a
// worker must bound what it waits for by a context.
func (c *Connection) Live() client.Client { return c.live }

// CoreV1 returns a client of the API group core/v1, for requests that Live can't make, such as one without retries. What
// is said of Live about time holds for it too.
func (c *Connection) CoreV1() rest.Interface { return c.coreV1 }

// ErrBehind says that the API server of the workload cluster knows more of a Node than the cache does. The Machine is
// enqueued when the cache does, too.
var ErrBehind = errors.New("the cache of Nodes is behind the API server of the workload cluster")

// ErrSeveralNodes says that nobody can tell which of several Nodes is the Machine's. It ends with an event of one of them.
var ErrSeveralNodes = errors.New("unexpectedly found more than one Node")

// NodeByProviderID returns the Node with exactly this spec.providerID, nil if there is none: from the cache, or as our last
// patch left it if the cache is behind that. It is shared, and for reading only. More than one is an error that wraps
// ErrSeveralNodes.
func (c *Connection) NodeByProviderID(ctx context.Context, providerID string) (*corev1.Node, error) {
	nodes := &corev1.NodeList{}
	if err := c.client.List(ctx, nodes, client.MatchingFields{providerIDIndex: providerID}); err != nil {
		return nil, fmt.Errorf("looking up the Node with spec.providerID %s: %w", providerID, err)
	}
	switch len(nodes.Items) {
	case 0:
		return nil, nil //nolint:nilnil // "no Node" is an ordinary answer here
	case 1:
		return c.writes.newest(&nodes.Items[0]), nil
	default:
		// The cache returns them in any order, and the text must not change as long as they are the same.
		slices.SortFunc(nodes.Items, func(a, b corev1.Node) int { return strings.Compare(a.Name, b.Name) })
		return nil, fmt.Errorf("%w matching the providerID %s: %s and %s; delete the one that does not belong to the Machine",
			ErrSeveralNodes, providerID, nodes.Items[0].Name, nodes.Items[1].Name)
	}
}

// LacksProviderID reports whether the cache has a Node of that name without a spec.providerID.
func (c *Connection) LacksProviderID(ctx context.Context, name string) bool {
	node := &corev1.Node{}
	err := c.client.Get(ctx, client.ObjectKey{Name: name}, node)
	return err == nil && node.Spec.ProviderID == ""
}

// writeTimeout bounds a request that a worker waits for, so that a cluster that doesn't answer can't hold up the others.
const writeTimeout = 10 * time.Second

// PatchNode changes labels, annotations and taints of a Node in one request, from what NodeByProviderID has returned to the
// target, and returns the Node as it is then; it is shared, and for reading only.
//
// The patch holds what differs, and the UID. A list is replaced whole, so with taints it also holds the resourceVersion: a
// taint that somebody else has added meanwhile makes it fail instead of being lost. The error then wraps ErrBehind, as it
// does when the Node is gone; the Machines of the Node are enqueued when the cache has heard of it.
func (c *Connection) PatchNode(ctx context.Context, node, target *corev1.Node) (*corev1.Node, error) {
	if c.writes.refused.Again(node.UID, node.ResourceVersion) {
		return nil, fmt.Errorf("patching Node %s: %w", node.Name, ErrBehind)
	}
	data, err := nodePatch(node, target)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	c.writes.accepted.Begin(node.UID)
	defer func() {
		if c.writes.accepted.End(node.UID) {
			c.wake(ctx, node)
		}
	}()
	written := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node.Name}}
	err = c.client.Patch(ctx, written, client.RawPatch(types.MergePatchType, data))
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		c.writes.refused.Add(node.UID, node.ResourceVersion)
		if cached := c.cached(ctx, node); cached == nil || ownwrites.Older(node.ResourceVersion, cached.ResourceVersion) {
			c.writes.refused.Forget(node.UID) // the event that was to be awaited has been here already
			c.wake(ctx, node)
		}
		return nil, fmt.Errorf("patching Node %s: %w: %w", node.Name, ErrBehind, err)
	case err != nil:
		return nil, fmt.Errorf("patching Node %s: %w", node.Name, err)
	}
	watchcache.TrimNode(written)
	from := node.ResourceVersion
	if !sameNode(target, written) {
		from = "" // there is somebody else's change in it, too, of which the Machine has to be told
	}
	c.writes.accepted.Record(node.UID, from, written.ResourceVersion, written)
	return written, nil
}

// nodePatch returns what differs between the two as a JSON merge patch.
func nodePatch(node, target *corev1.Node) ([]byte, error) {
	base := *node
	base.UID = "" // what differs is sent
	merge := client.MergeFrom(&base)
	if !apiequality.Semantic.DeepEqual(node.Spec.Taints, target.Spec.Taints) {
		merge = client.MergeFromWithOptions(&base, client.MergeFromWithOptimisticLock{})
	}
	data, err := merge.Data(target)
	if err != nil {
		return nil, fmt.Errorf("building the patch of Node %s: %w", node.Name, err)
	}
	return data, nil
}

// sameNode compares all that a cached Node has but its version.
func sameNode(a, b *corev1.Node) bool {
	return a.DeletionTimestamp.Equal(b.DeletionTimestamp) &&
		apiequality.Semantic.DeepEqual(a.Labels, b.Labels) &&
		apiequality.Semantic.DeepEqual(a.Annotations, b.Annotations) &&
		apiequality.Semantic.DeepEqual(a.Spec, b.Spec) &&
		apiequality.Semantic.DeepEqual(a.Status, b.Status)
}

// cached returns the Node as the cache has it, nil if it doesn't have it any more.
func (c *Connection) cached(ctx context.Context, node *corev1.Node) *corev1.Node {
	cached := &corev1.Node{}
	if err := c.client.Get(ctx, client.ObjectKeyFromObject(node), cached); err != nil || cached.UID != node.UID {
		return nil
	}
	return cached
}

// DeleteNode asks for the deletion of the Node. It sends nothing if the cache has no such Node, or one that is being
// deleted already: whatever its finalizers wait for may have gone with the machine, so nobody waits for them here.
func (c *Connection) DeleteNode(ctx context.Context, name string) error {
	node := &corev1.Node{}
	if err := c.client.Get(ctx, client.ObjectKey{Name: name}, node); err != nil {
		return client.IgnoreNotFound(err)
	}
	if node.DeletionTimestamp != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if err := c.client.Delete(ctx, node, client.Preconditions{UID: &node.UID}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting Node %s: %w", name, err)
	}
	return nil
}
