// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/builder"
	"github.com/machinist-dev/machinist/test/environment"
	"github.com/machinist-dev/machinist/test/simulator"
)

const (
	// namespace holds everything. Its name is the same in every run, as the simulator's random numbers depend on it.
	namespace = "scale"
	// userAgent is how we call ourselves in the audit log.
	userAgent = "machinist-scale"
	// worldTimeout bounds the start of the control plane, the simulator and the Clusters, without a build of binaries.
	worldTimeout = 3 * time.Minute
)

// world is what surrounds a manager: a control plane, the simulated providers, and Clusters without Machines.
type world struct {
	env        *environment.Environment
	config     *rest.Config
	client     client.Client
	kubernetes string
	simulator  *simulator.Simulator
	clusters   []*clusterv1.Cluster
	machines   *machines
}

// startWorld makes the world of a manager. Call stop also after an error.
func startWorld(ctx context.Context, options options, subject subject) (w *world, err error) {
	w = &world{}
	// etcd takes its options from the environment as well. Its default of 2 GB is less than what changes of many thousand
	// objects take until they are compacted.
	if err := os.Setenv("ETCD_QUOTA_BACKEND_BYTES", strconv.Itoa(8<<30)); err != nil {
		return w, fmt.Errorf("setting the quota of etcd: %w", err)
	}
	w.env, err = environment.Start(ctx, environment.Options{CRDPaths: []string{subject.crds}, CountRequests: true})
	if err != nil {
		return w, err
	}
	ctx, cancel := withDeadline(ctx, worldTimeout, "the start of the simulated providers")
	defer cancel()
	w.config = w.env.ConfigFor(userAgent)
	w.config.QPS, w.config.Burst = -1, -1 // we pace ourselves
	if w.client, err = client.New(w.config, client.Options{Scheme: scheme()}); err != nil {
		return w, fmt.Errorf("making a client: %w", err)
	}
	if w.kubernetes, err = serverVersion(w.config); err != nil {
		return w, err
	}
	crds := []*apiextensionsv1.CustomResourceDefinition{
		simulator.InfraMachineCRD(simulator.CRDOptions{OneVersion: true}), simulator.BootstrapConfigCRD(simulator.CRDOptions{OneVersion: true}),
	}
	if _, err := envtest.InstallCRDs(w.env.Config, envtest.CRDInstallOptions{CRDs: crds}); err != nil {
		return w, fmt.Errorf("installing the simulated kinds: %w", err)
	}
	w.simulator, err = simulator.Start(ctx, w.env.Config, simulator.Options{
		BootstrapDelay: options.ProviderDelay, ProvisionDelay: options.ProviderDelay,
		NodeDelay: options.ProviderDelay, DeletionDelay: options.ProviderDelay,
		NoClusterStatus: subject.ownClusterController,
		Jitter:          0.5, Seed: options.Seed, PayloadSize: options.PayloadSize / 2,
	})
	if err != nil {
		return w, err
	}
	if w.machines, err = followMachines(ctx, w.config); err != nil {
		return w, err
	}
	return w, w.createClusters(ctx, options.Clusters)
}

func scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, clusterv1.AddToScheme, metav1.AddMetaToScheme} {
		if err := add(scheme); err != nil {
			panic(err) // the kinds are fixed when this is compiled
		}
	}
	return scheme
}

func serverVersion(config *rest.Config) (string, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return "", fmt.Errorf("making a discovery client: %w", err)
	}
	version, err := client.ServerVersion()
	if err != nil {
		return "", fmt.Errorf("asking the API server for its version: %w", err)
	}
	return version.GitVersion, nil
}

// createClusters returns when each Cluster has an endpoint and the Secret with the access to it.
func (w *world) createClusters(ctx context.Context, count int) error {
	if err := w.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return fmt.Errorf("creating the namespace: %w", err)
	}
	for i := range count {
		cluster := builder.Cluster(namespace, fmt.Sprintf("cluster-%03d", i)).Build()
		if err := w.client.Create(ctx, cluster); err != nil {
			return fmt.Errorf("creating a Cluster: %w", err)
		}
		w.clusters = append(w.clusters, cluster)
	}
	for _, cluster := range w.clusters {
		key := types.NamespacedName{Namespace: namespace, Name: simulator.KubeconfigSecretName(cluster.Name)}
		err := poll(ctx, 50*time.Millisecond, func(ctx context.Context) (bool, error) {
			err := w.client.Get(ctx, key, &corev1.Secret{})
			return err == nil, client.IgnoreNotFound(err)
		})
		if err != nil {
			return fmt.Errorf("waiting for Secret %s: %w", key, err)
		}
	}
	return nil
}

// stop ends everything that was started.
func (w *world) stop() error {
	var errs []error
	if w.machines != nil {
		w.machines.stop()
	}
	if w.simulator != nil {
		errs = append(errs, w.simulator.Stop())
	}
	if w.env != nil {
		errs = append(errs, w.env.Stop())
	}
	return errors.Join(errs...)
}
