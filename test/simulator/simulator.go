// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"context"
	"errors"
	"fmt"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/simulator/workload"
)

// UserAgent is what the simulator calls itself to the API server, so that its requests can be told from others'.
const UserAgent = "machinist-simulator"

// Simulator plays the providers of Machines and what surrounds them. All methods may be called concurrently.
type Simulator struct {
	options  Options
	manager  manager.Manager
	client   client.Client
	workload *workload.Server
	clusters *clusters
	cancel   context.CancelFunc
	stopped  func() error
}

// Start starts a simulator and returns when it is at work. The context bounds the start only; end the simulator by Stop.
// The CRDs of Cluster, Machine and the provided kinds must be installed.
func Start(ctx context.Context, config *rest.Config, opts Options) (*Simulator, error) {
	opts, err := opts.complete()
	if err != nil {
		return nil, err
	}
	mgr, err := newManager(config, opts.Namespaces)
	if err != nil {
		return nil, fmt.Errorf("simulator: %w", err)
	}
	server, err := workload.Start(workload.Options{Address: opts.WorkloadAddress})
	if err != nil {
		return nil, fmt.Errorf("simulator: %w", err)
	}
	s := &Simulator{options: opts, manager: mgr, client: mgr.GetClient(), workload: server}
	s.clusters = &clusters{
		Simulator: s,
		memories:  map[types.NamespacedName]*clusterMemory{},
		joined:    make(chan event.TypedGenericEvent[*clusterv1.Cluster]),
	}
	if err := s.setUp(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("simulator: %w", err), server.Close())
	}
	if err := s.run(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("simulator: %w", err), server.Close())
	}
	return s, nil
}

func newManager(config *rest.Config, namespaces []string) (manager.Manager, error) {
	objects := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, clusterv1.AddToScheme, metav1.AddMetaToScheme} {
		if err := add(objects); err != nil {
			return nil, err
		}
	}
	config = rest.CopyConfig(config)
	config.UserAgent = UserAgent
	config.QPS, config.Burst = -1, -1
	config.WarningHandler = rest.NoWarnings{} // the finalizer of Clusters is old-fashioned, and that of Cluster API
	perNamespace := map[string]cache.Config{}
	for _, namespace := range namespaces {
		perNamespace[namespace] = cache.Config{}
	}
	return ctrl.NewManager(config, manager.Options{
		Scheme:  objects,
		Metrics: metricsserver.Options{BindAddress: "0"},
		Cache: cache.Options{
			DefaultNamespaces: perNamespace,
			DefaultTransform:  cache.TransformStripManagedFields(),
			ByObject: map[client.Object]cache.ByObject{
				&clusterv1.Machine{}: {Transform: pruneMachine},
			},
		},
	})
}

// pruneMachine keeps what the simulator reads of a Machine.
func pruneMachine(obj any) (any, error) {
	if machine, ok := obj.(*clusterv1.Machine); ok {
		machine.ManagedFields = nil
		machine.Status = clusterv1.MachineStatus{}
	}
	return obj, nil
}

func (s *Simulator) setUp(ctx context.Context) error {
	if err := s.clusters.setUp(ctx); err != nil {
		return err
	}
	for _, kind := range s.options.InfraMachines {
		if err := s.ProvideInfraMachine(ctx, kind); err != nil {
			return err
		}
	}
	for _, kind := range s.options.BootstrapConfigs {
		if err := s.ProvideBootstrapConfig(ctx, kind); err != nil {
			return err
		}
	}
	return s.setUpNodeHeartbeats()
}

// run starts the manager and waits until its caches are filled.
func (s *Simulator) run(ctx context.Context) error {
	running, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.manager.Start(running) }()
	s.cancel = cancel
	s.stopped = sync.OnceValue(func() error { return <-ended })

	select {
	case <-s.manager.Elected():
	case err := <-ended:
		cancel()
		return err
	case <-ctx.Done():
		cancel()
		return errors.Join(ctx.Err(), s.stopped())
	}
	if !s.manager.GetCache().WaitForCacheSync(ctx) {
		cancel()
		return errors.Join(errors.New("the caches were not filled in time; are all CRDs installed?"), ctx.Err(), s.stopped())
	}
	return nil
}

// Stop ends the simulator and its workload clusters, and waits for their end. It may be called more than once.
func (s *Simulator) Stop() error {
	s.cancel()
	return errors.Join(s.stopped(), s.workload.Close())
}

// Workload is the server of the workload clusters, each of which has the namespace and name of its Cluster.
func (s *Simulator) Workload() *workload.Server { return s.workload }

// ApplyKubeconfig writes the kubeconfig Secret of a Cluster again, after its workload cluster got another token or CA.
func (s *Simulator) ApplyKubeconfig(ctx context.Context, key types.NamespacedName) error {
	cluster := &clusterv1.Cluster{}
	if err := s.client.Get(ctx, key, cluster); err != nil {
		return fmt.Errorf("simulator: %w", err)
	}
	return s.clusters.applyKubeconfig(ctx, cluster)
}

// ProvideInfraMachine provides another kind of InfraMachine, whose CRD must be installed.
func (s *Simulator) ProvideInfraMachine(ctx context.Context, kind schema.GroupKind) error {
	return s.provide(ctx, kind, infraMachines)
}

// ProvideBootstrapConfig provides another kind of BootstrapConfig, whose CRD must be installed.
func (s *Simulator) ProvideBootstrapConfig(ctx context.Context, kind schema.GroupKind) error {
	return s.provide(ctx, kind, bootstrapConfigs)
}

func crdMetadata() *metav1.PartialObjectMetadata {
	return metadataOf(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
}
