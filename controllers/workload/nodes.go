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
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Connection reads and deletes the Nodes of one workload cluster, and lends its clients to what needs more of it.
type Connection struct {
	client client.Client
	live   client.Client
	coreV1 rest.Interface
}

// Live returns a client whose reads the API server answers, for the kinds in knownKinds. It has no timeout of its own: a
// worker must bound what it waits for by a context.
func (c *Connection) Live() client.Client { return c.live }

// CoreV1 returns a client of the API group core/v1, for requests that Live can't make, such as one without retries. What
// is said of Live about time holds for it too.
func (c *Connection) CoreV1() rest.Interface { return c.coreV1 }

// ErrSeveralNodes says that nobody can tell which of several Nodes is the Machine's. It ends with an event of one of them.
var ErrSeveralNodes = errors.New("unexpectedly found more than one Node")

// NodeByProviderID returns the Node with exactly this spec.providerID from the cache, nil if there is none. More than
// one is an error that wraps ErrSeveralNodes.
func (c *Connection) NodeByProviderID(ctx context.Context, providerID string) (*corev1.Node, error) {
	nodes := &corev1.NodeList{}
	if err := c.client.List(ctx, nodes, client.MatchingFields{providerIDIndex: providerID}); err != nil {
		return nil, fmt.Errorf("looking up the Node with spec.providerID %s: %w", providerID, err)
	}
	switch len(nodes.Items) {
	case 0:
		return nil, nil //nolint:nilnil // "no Node" is an ordinary answer here
	case 1:
		return &nodes.Items[0], nil
	default:
		// The cache returns them in any order, and the text must not change as long as they are the same.
		slices.SortFunc(nodes.Items, func(a, b corev1.Node) int { return strings.Compare(a.Name, b.Name) })
		return nil, fmt.Errorf("%w matching the providerID %s: %s and %s; delete the one that does not belong to the Machine",
			ErrSeveralNodes, providerID, nodes.Items[0].Name, nodes.Items[1].Name)
	}
}

// deleteTimeout bounds a request that a worker waits for, so that a cluster that doesn't answer can't hold up the others.
const deleteTimeout = 10 * time.Second

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
	ctx, cancel := context.WithTimeout(ctx, deleteTimeout)
	defer cancel()
	if err := c.client.Delete(ctx, node, client.Preconditions{UID: &node.UID}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting Node %s: %w", name, err)
	}
	return nil
}
