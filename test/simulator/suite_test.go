// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/builder"
	"github.com/machinist-dev/machinist/test/environment"
	"github.com/machinist-dev/machinist/test/simulator"
)

var (
	env       *environment.Environment
	k8sClient client.WithWatch
	objects   = runtime.NewScheme()
)

func TestSimulator(t *testing.T) {
	RegisterFailHandler(Fail)
	// Everything here follows an event within milliseconds; the rest is for a busy machine.
	SetDefaultEventuallyTimeout(30 * time.Second)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	logf.SetLogger(GinkgoLogr)
	klog.SetLogger(GinkgoLogr)
	RunSpecs(t, "Simulator")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, clusterv1.AddToScheme, apiextensionsv1.AddToScheme} {
		Expect(add(objects)).To(Succeed())
	}
	var err error
	env, err = environment.Start(ctx, environment.Options{
		CRDPaths: []string{filepath.Join("..", "..", "config", "crd", "bases")},
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() error { return env.Stop() })
	k8sClient, err = client.NewWithWatch(env.Config, client.Options{Scheme: objects})
	Expect(err).NotTo(HaveOccurred())
	install(simulator.InfraMachineCRD(simulator.CRDOptions{}), simulator.BootstrapConfigCRD(simulator.CRDOptions{}))
})

func install(crds ...*apiextensionsv1.CustomResourceDefinition) {
	GinkgoHelper()
	_, err := envtest.InstallCRDs(env.Config, envtest.CRDInstallOptions{CRDs: crds})
	Expect(err).NotTo(HaveOccurred())
}

// world is a namespace with a simulator and a stand-in for the Machine controller, and one Cluster.
type world struct {
	namespace string
	simulator *simulator.Simulator
	cluster   *clusterv1.Cluster
}

// newWorld starts everything and ends it with the spec.
func newWorld(ctx context.Context, opts simulator.Options) *world {
	GinkgoHelper()
	namespace, err := env.CreateNamespace(ctx, "simulator")
	Expect(err).NotTo(HaveOccurred())
	w := &world{namespace: namespace}
	opts.Namespaces = []string{namespace}
	if opts.InfraMachines == nil {
		opts.InfraMachines = []schema.GroupKind{simulator.SimMachine}
	}
	if opts.BootstrapConfigs == nil {
		opts.BootstrapConfigs = []schema.GroupKind{simulator.SimConfig}
	}
	w.simulator, err = simulator.Start(ctx, env.Config, opts)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(w.simulator.Stop)
	startStandIn(namespace, slices.Concat(opts.InfraMachines, opts.BootstrapConfigs))
	w.cluster = builder.Cluster(namespace, "blue").Build()
	Expect(k8sClient.Create(ctx, w.cluster)).To(Succeed())
	return w
}

func (w *world) create(ctx context.Context, controlPlane, workers int, shape simulator.Shape) {
	GinkgoHelper()
	Expect(simulator.Create(ctx, k8sClient, 4, simulator.Machines(w.cluster, controlPlane, workers, shape)...)).To(Succeed())
}

func (w *world) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: w.namespace, Name: name}
}

// object reads a provider object with a live client.
func (w *world) object(ctx context.Context, kind schema.GroupKind, name string) func() (*unstructured.Unstructured, error) {
	return func() (*unstructured.Unstructured, error) {
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(kind.WithVersion(simulator.NewAPIVersion))
		return obj, k8sClient.Get(ctx, w.key(name), obj)
	}
}

// field matches an object with a JSON value at a path; nil means that there is none.
func field(expected any, path ...string) OmegaMatcher {
	matcher := BeNil()
	if expected != nil {
		matcher = Equal(expected)
	}
	return WithTransform(func(obj *unstructured.Unstructured) any {
		value, _, _ := unstructured.NestedFieldNoCopy(obj.Object, path...)
		return value
	}, matcher)
}
