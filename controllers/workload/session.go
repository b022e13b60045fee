// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/connrotation"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/machinist-dev/machinist/controllers/watchcache"
)

const (
	// dialTimeout bounds one attempt to open a TCP connection; a cluster that drops packets is found out by it.
	dialTimeout = 10 * time.Second
	// syncTimeout bounds the first list of Nodes.
	syncTimeout = 5 * time.Minute

	providerIDIndex = "spec.providerID"
)

// session is one established connection: clients, and a cache of Nodes that has synced.
type session struct {
	cluster.Cluster
	host   string
	root   rest.Interface
	live   client.Client
	coreV1 rest.Interface
	cancel context.CancelFunc
	// ended is closed when the cache has stopped.
	ended chan struct{}
	// writes are our patches that the cache may not show yet.
	writes nodeWrites
	// refused has what the API server refuses to the informer of Nodes.
	refused refusals
	// gate is what all requests pass.
	gate *gate
	// dialer knows the TCP connections.
	dialer *connrotation.Dialer
}

// connect reads the kubeconfig and returns when the Nodes have been listed.
func (c *connection) connect(ctx context.Context) (*session, error) {
	config, err := c.restConfig(ctx)
	if err != nil {
		return nil, err
	}
	if config, err = c.clusters.options.Self.preferred(ctx, config, c.clusters.options.Timing.timeout()); err != nil {
		return nil, err
	}
	refused, gate := make(refusals, 1), newGate()
	config.Wrap(gate.wrap)
	dialer := connrotation.NewDialer((&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext)
	config.Dial = dialer.DialContext
	remote, err := cluster.New(config, func(o *cluster.Options) {
		o.Scheme = scheme.Scheme
		o.Cache = watchcache.WorkloadOptions()
		o.Cache.DefaultWatchErrorHandler = refused.handle
		o.MapperProvider = knownKinds
	})
	if err != nil {
		return nil, fmt.Errorf("building the client of the workload cluster: %w", err)
	}
	root, err := rest.UnversionedRESTClientForConfigAndClient(withCodec(config), remote.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("building the prober of the workload cluster: %w", err)
	}
	live, coreV1, err := liveClients(config, remote)
	if err != nil {
		return nil, fmt.Errorf("building the live client of the workload cluster: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &session{
		Cluster: remote, host: config.Host, root: root, live: live, coreV1: coreV1, ended: make(chan struct{}), cancel: cancel,
		refused: refused, gate: gate, dialer: dialer,
	}
	if err := s.start(ctx, c); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// start runs the cache and waits for its first list.
func (s *session) start(ctx context.Context, c *connection) error {
	nodes, err := s.prepare(ctx, c.clusters.options.Timing.timeout())
	if err != nil {
		close(s.ended)
		return err
	}
	go func() {
		defer close(s.ended)
		if err := s.Start(ctx); err != nil {
			log.FromContext(ctx).Error(err, "The cache of Nodes has stopped")
		}
	}()
	syncCtx, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	if !s.GetCache().WaitForCacheSync(syncCtx) {
		return fmt.Errorf("the Nodes of the workload cluster could not be listed within %s", syncTimeout)
	}
	// Added after the sync: the Machines of the Cluster are woken once for all that was listed.
	if _, err := nodes.AddEventHandler(c.nodeHandler(ctx, &s.writes)); err != nil {
		return fmt.Errorf("watching Nodes: %w", err)
	}
	return nil
}

// prepare finds out whether the API server answers and sets up the informer of Nodes.
func (s *session) prepare(ctx context.Context, timeout time.Duration) (cache.Informer, error) {
	// A cheap request first: it tells within seconds, and better than a cache that doesn't sync, what is wrong.
	if err := s.probe(ctx, timeout); err != nil {
		return nil, fmt.Errorf("the API server of the workload cluster does not answer at %s: %w", s.host, err)
	}
	if err := s.mayListNodes(ctx); err != nil {
		return nil, fmt.Errorf("the Nodes of the workload cluster can't be listed: %w", err)
	}
	if err := s.GetFieldIndexer().IndexField(ctx, &corev1.Node{}, providerIDIndex, nodeProviderID); err != nil {
		return nil, fmt.Errorf("indexing Nodes: %w", err)
	}
	nodes, err := s.GetCache().GetInformer(ctx, &corev1.Node{}, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("watching Nodes: %w", err)
	}
	return nodes, nil
}

// mayListNodes lists one Node: a cache that isn't allowed to only never syncs, and doesn't tell.
func (s *session) mayListNodes(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, ProbeTimeout)
	defer cancel()
	return s.root.Get().AbsPath("/api/v1/nodes").Param("limit", "1").Do(ctx).Error()
}

// stop ends the cache, waits for it, and closes the TCP connections, which would be kept for a while otherwise. Whoever still
// waits for an answer gets an error.
func (s *session) stop() {
	s.cancel()
	s.dialer.CloseAll()
	<-s.ended
	s.dialer.CloseAll()
}

// restConfig builds the client configuration from the Secret <cluster>-kubeconfig.
func (c *connection) restConfig(ctx context.Context) (*rest.Config, error) {
	key, data, err := c.readKubeconfig(ctx)
	if err != nil {
		return nil, err
	}
	kubeconfig, err := clientcmd.Load(data)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig Secret %s: key %q is not a kubeconfig: %w", key, kubeconfigKey, err)
	}
	for name, user := range kubeconfig.AuthInfos {
		// These run programs, or code of others, inside the manager, on behalf of whoever may write the Secret.
		if user.Exec != nil || user.AuthProvider != nil {
			return nil, fmt.Errorf("kubeconfig Secret %s: user %q of the kubeconfig uses an exec or auth-provider plugin, which is not allowed: use certificates or a token", key, name)
		}
		// The same for files: they would be the manager's own, such as the token of its service account.
		if user.TokenFile != "" || user.ClientCertificate != "" || user.ClientKey != "" {
			return nil, fmt.Errorf("kubeconfig Secret %s: user %q of the kubeconfig names a file, which is not allowed: put the token, certificate and key into the kubeconfig itself", key, name)
		}
	}
	for name, server := range kubeconfig.Clusters {
		if server.CertificateAuthority != "" {
			return nil, fmt.Errorf("kubeconfig Secret %s: cluster %q of the kubeconfig names a file, which is not allowed: put the certificate authority into the kubeconfig itself", key, name)
		}
	}
	config, err := clientcmd.NewDefaultClientConfig(*kubeconfig, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig Secret %s: unusable kubeconfig: %w", key, err)
	}
	config.QPS, config.Burst = c.clusters.options.QPS, c.clusters.options.Burst
	config.UserAgent = c.clusters.options.UserAgent
	return config, nil
}

func withCodec(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	return config
}

// nodeHandler wakes the Machine of a Node that changed in something that a Machine shows or acts on, unless the change is
// our own patch: who made it knows already.
func (c *connection) nodeHandler(ctx context.Context, writes *nodeWrites) toolscache.ResourceEventHandler {
	wake := func(obj any) {
		if node, ok := obj.(*corev1.Node); ok {
			c.wakeNode(ctx, node)
		}
	}
	return toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, initial bool) {
			if !initial {
				wake(obj)
			}
		},
		UpdateFunc: func(before, after any) {
			old, okOld := before.(*corev1.Node)
			now, okNow := after.(*corev1.Node)
			if !okOld || !okNow {
				return
			}
			if old.UID != now.UID {
				writes.forget(old.UID) // deleted and created again while nobody watched
			}
			own, awaited := writes.observed(old, now)
			if awaited || !own && !c.sameForMachine(old, now) {
				wake(now)
			}
			if old.Spec.ProviderID != now.Spec.ProviderID {
				wake(old) // whoever it was taken for
			}
		},
		DeleteFunc: func(obj any) {
			if tombstone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
				obj = tombstone.Obj
			}
			if node, ok := obj.(*corev1.Node); ok {
				writes.forget(node.UID)
			}
			wake(obj)
		},
	}
}

func (c *connection) wakeNode(ctx context.Context, node *corev1.Node) {
	c.clusters.enqueue(c.clusters.options.Referrers.OfNode(ctx, c.cluster, node))
}

// sameForMachine compares Nodes as the cache holds them: without heartbeats.
func (c *connection) sameForMachine(a, b *corev1.Node) bool {
	return a.UID == b.UID &&
		a.DeletionTimestamp.Equal(b.DeletionTimestamp) &&
		a.Spec.ProviderID == b.Spec.ProviderID &&
		apiequality.Semantic.DeepEqual(a.Status.NodeInfo, b.Status.NodeInfo) &&
		apiequality.Semantic.DeepEqual(a.Status.Conditions, b.Status.Conditions) &&
		c.clusters.options.SameNode(a, b)
}

func nodeProviderID(obj client.Object) []string {
	if node, ok := obj.(*corev1.Node); ok && node.Spec.ProviderID != "" {
		return []string{node.Spec.ProviderID}
	}
	return nil
}

// liveClients make clients that never ask the cache. Each has a rate limit of its own, so that a drain can't hold up the
// probes.
func liveClients(config *rest.Config, remote cluster.Cluster) (client.Client, rest.Interface, error) {
	live, err := client.New(config, client.Options{
		HTTPClient: remote.GetHTTPClient(), Scheme: remote.GetScheme(), Mapper: remote.GetRESTMapper(),
	})
	if err != nil {
		return nil, nil, err
	}
	coreV1, err := corev1client.NewForConfigAndClient(config, remote.GetHTTPClient())
	if err != nil {
		return nil, nil, err
	}
	return live, coreV1.RESTClient(), nil
}

// knownKinds are the kinds that we use in workload clusters, so that connecting needs no discovery requests.
func knownKinds(*rest.Config, *http.Client) (meta.RESTMapper, error) {
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{
		corev1.SchemeGroupVersion, appsv1.SchemeGroupVersion, storagev1.SchemeGroupVersion,
	})
	for _, kind := range []schema.GroupVersionKind{
		corev1.SchemeGroupVersion.WithKind("Node"),
		corev1.SchemeGroupVersion.WithKind("Namespace"),
		corev1.SchemeGroupVersion.WithKind("PersistentVolume"),
		storagev1.SchemeGroupVersion.WithKind("VolumeAttachment"),
	} {
		mapper.Add(kind, meta.RESTScopeRoot)
	}
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	mapper.Add(appsv1.SchemeGroupVersion.WithKind("DaemonSet"), meta.RESTScopeNamespace)
	return mapper, nil
}
