// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// Timing of connections; the values are Cluster API's.
const (
	// ProbeInterval is the time between two health probes of a connection.
	ProbeInterval = 10 * time.Second
	// ProbeTimeout bounds one probe.
	ProbeTimeout = 5 * time.Second
	// ProbeFailures is the number of probes that must fail in a row before a connection is given up.
	ProbeFailures = 5
)

// Timing changes when connections are probed, for tests that can't wait for so long. The zero value is what the constants
// say.
type Timing struct {
	// ProbeInterval is used instead of the constant if it is positive.
	ProbeInterval time.Duration
	// ProbeTimeout is used instead of the constant if it is positive.
	ProbeTimeout time.Duration
}

func (t Timing) interval() time.Duration { return positive(t.ProbeInterval, ProbeInterval) }

func (t Timing) timeout() time.Duration { return positive(t.ProbeTimeout, ProbeTimeout) }

func positive(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

// ErrNotConnected says that there is no connection to the workload cluster now. The Machines of the Cluster are enqueued
// when there is one.
var ErrNotConnected = errors.New("connection to the workload cluster is down")

// ErrNoKubeconfig says, beside ErrNotConnected, that at the last attempt to connect there was no Secret with a kubeconfig:
// nobody can reach the workload cluster before somebody creates one.
var ErrNoKubeconfig = errors.New("there is no kubeconfig Secret")

// noKubeconfigError is an error that wraps ErrNoKubeconfig without repeating its text.
type noKubeconfigError struct{ error }

// Is implements what errors.Is looks for.
func (noKubeconfigError) Is(target error) bool { return target == ErrNoKubeconfig }

// Referrers finds the requests of the Machines of a Cluster. Implementations answer from memory.
type Referrers interface {
	// OfCluster returns the requests of all Machines of the Cluster.
	OfCluster(ctx context.Context, cluster types.NamespacedName) []reconcile.Request
	// OfNode returns the requests of the Machines that the Node belongs to.
	OfNode(ctx context.Context, cluster types.NamespacedName, node *corev1.Node) []reconcile.Request
}

// Options configure Clusters; all but Self, Wanted and Timing are required.
type Options struct {
	// Secrets reads the kubeconfig Secrets. It must read from the API server: a client that reads from a cache, or waits
	// for one, would list and keep all Secrets.
	Secrets client.Reader
	// Cache tells whether a Cluster exists.
	Cache cache.Cache
	// Referrers maps clusters and Nodes to what must be reconciled.
	Referrers Referrers
	// SameNode reports whether two versions of a Node are alike in what a Machine writes to it. What a Machine reads from it
	// is compared here.
	SameNode func(before, after *corev1.Node) bool
	// QPS and Burst limit the requests to each workload cluster.
	QPS   float32
	Burst int
	// UserAgent is sent to the workload clusters.
	UserAgent string
	// Self is the Pod that the manager runs in.
	Self Self
	// Wanted reports whether a Machine needs the connection to the Cluster. Connections that are wanted are made before
	// anybody asks for them; so a manager that waits to become the leader has them. Nil means that none is.
	Wanted func(ctx context.Context, cluster *clusterv1.Cluster) bool
	// Timing is meant for tests.
	Timing Timing
}

// Clusters holds the connections to the workload clusters. It is safe for concurrent use.
type Clusters struct {
	options Options

	mu          sync.Mutex
	connections map[types.NamespacedName]*connection
	// ctx and queue are set once, when the source starts; that is before the first reconcile.
	ctx   context.Context //nolint:containedctx // lifetime of the connections, which outlive the call that starts them
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// NewClusters returns Clusters without a connection.
func NewClusters(options Options) *Clusters {
	return &Clusters{options: options, connections: map[types.NamespacedName]*connection{}}
}

// Source turns events of connections and of Nodes into requests of one controller's queue.
func (c *Clusters) Source() source.Source {
	return source.TypedFunc[reconcile.Request](func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		c.mu.Lock()
		c.ctx, c.queue = ctx, queue
		c.mu.Unlock()
		informer, err := c.options.Cache.GetInformer(ctx, &clusterv1.Cluster{}, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watching Clusters: %w", err)
		}
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(cluster any) { c.clusterChanged(ctx, cluster) },
			UpdateFunc: func(_, cluster any) { c.clusterChanged(ctx, cluster) },
			DeleteFunc: c.clusterDeleted,
		})
		return err
	})
}

// clusterChanged connects to the Cluster if that is wanted. Only the event handler waits for the answer, which comes when
// the caches are filled.
func (c *Clusters) clusterChanged(ctx context.Context, obj any) {
	if cluster, ok := obj.(*clusterv1.Cluster); ok && c.options.Wanted != nil && !c.has(cluster) && c.options.Wanted(ctx, cluster) {
		c.connectionOf(cluster)
	}
}

// Prepare connects to the Cluster if that is wanted and hasn't happened yet. It is to be called when a Machine appears, which
// may be after the last event of its Cluster.
func (c *Clusters) Prepare(ctx context.Context, key types.NamespacedName) {
	c.mu.Lock()
	_, known := c.connections[key]
	started := c.ctx != nil // if not, all Clusters are still to come
	c.mu.Unlock()
	cluster := &clusterv1.Cluster{}
	if started && !known && c.options.Cache.Get(ctx, key, cluster) == nil {
		c.clusterChanged(ctx, cluster)
	}
}

func (c *Clusters) has(cluster *clusterv1.Cluster) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	existing, ok := c.connections[client.ObjectKeyFromObject(cluster)]
	return ok && existing.uid == cluster.UID
}

// Get returns the connection to the workload cluster, and starts to connect on first use. It never waits: while there is
// no connection, the error wraps ErrNotConnected and names the cause, and Health says since when. A Cluster that was
// deleted and created again, which its UID tells, gets a connection of its own.
func (c *Clusters) Get(cluster *clusterv1.Cluster) (*Connection, error) {
	connection := c.connectionOf(cluster)
	state := connection.state.Load()
	if state.session == nil {
		if state.err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNotConnected, state.err)
		}
		return nil, ErrNotConnected
	}
	return &Connection{
		client: state.session.GetClient(), live: state.session.live, coreV1: state.session.coreV1,
		writes: &state.session.writes, wake: connection.wakeNode,
	}, nil
}

// HasNode reports whether the cache of a workload cluster that is connected has a Node with this spec.providerID.
func (c *Clusters) HasNode(ctx context.Context, cluster types.NamespacedName, providerID string) bool {
	c.mu.Lock()
	connection := c.connections[cluster]
	c.mu.Unlock()
	if connection == nil || providerID == "" {
		return false
	}
	session := connection.state.Load().session
	if session == nil {
		return false
	}
	nodes := &corev1.NodeList{}
	err := session.GetClient().List(ctx, nodes, client.MatchingFields{providerIDIndex: providerID}, client.UnsafeDisableDeepCopy)
	return err == nil && len(nodes.Items) > 0
}

// Health returns what the probes of the cluster have seen.
func (c *Clusters) Health(cluster types.NamespacedName) Health {
	c.mu.Lock()
	defer c.mu.Unlock()
	if connection, ok := c.connections[cluster]; ok {
		return connection.state.Load().health
	}
	return Health{}
}

func (c *Clusters) connectionOf(cluster *clusterv1.Cluster) *connection {
	key := client.ObjectKeyFromObject(cluster)
	c.mu.Lock()
	defer c.mu.Unlock()
	if existing, ok := c.connections[key]; ok {
		if existing.uid == cluster.UID {
			return existing
		}
		existing.cancel()
	}
	ctx, cancel := context.WithCancel(c.ctx)
	connection := &connection{clusters: c, cluster: key, uid: cluster.UID, cancel: cancel}
	connection.state.Store(&connectionState{})
	c.connections[key] = connection
	go connection.run(ctx)
	return connection
}

// clusterDeleted ends the connection; everything that it holds is released.
func (c *Clusters) clusterDeleted(obj any) {
	if tombstone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	if cluster, ok := obj.(*clusterv1.Cluster); ok {
		c.drop(client.ObjectKeyFromObject(cluster), cluster.UID)
	}
}

// drop ends the connection of the Cluster with this UID, if there is one.
func (c *Clusters) drop(key types.NamespacedName, uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if connection, ok := c.connections[key]; ok && connection.uid == uid {
		connection.cancel()
		delete(c.connections, key)
	}
}

// Release ends the connection to the Cluster if it has no Machines any more that its Nodes could belong to; the next use
// makes it again. It is to be called when a Machine that may have been the last one is gone from the cache that the Referrers
// answer from.
func (c *Clusters) Release(ctx context.Context, key types.NamespacedName) {
	if len(c.options.Referrers.OfCluster(ctx, key)) > 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if connection, ok := c.connections[key]; ok {
		connection.cancel()
		delete(c.connections, key)
	}
}

// exists reports whether the cache has the Cluster with this UID.
func (c *Clusters) exists(ctx context.Context, key types.NamespacedName, uid types.UID) bool {
	cluster := &clusterv1.Cluster{}
	err := c.options.Cache.Get(ctx, key, cluster)
	return err == nil && cluster.UID == uid
}

func (c *Clusters) enqueue(requests []reconcile.Request) {
	for _, request := range requests {
		c.queue.Add(request)
	}
}
