// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"context"
	"encoding/json"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers"
	"github.com/machinist-dev/machinist/test/builder"
	"github.com/machinist-dev/machinist/test/environment"
	"github.com/machinist-dev/machinist/test/environment/suite"
	"github.com/machinist-dev/machinist/test/manager"
	"github.com/machinist-dev/machinist/test/simulator"
)

// replica is a manager with its line to the API server.
type replica struct {
	*line
	*manager.Manager
}

// start starts a manager of a namespace, which ends with the node that calls it, without waiting until it is the leader.
func start(namespace string, changes ...func(*controllers.Options)) *replica {
	GinkgoHelper()
	options := manager.Options()
	options.Namespace = namespace
	for _, change := range changes {
		change(&options)
	}
	Expect(options.Validate()).To(Succeed())
	cfg, line := rest.CopyConfig(env.Config), &line{}
	line.attach(cfg)
	return &replica{line: line, Manager: manager.Start(cfg, options)}
}

// run starts a manager and waits until it is at work.
func run(ctx context.Context, namespace string, changes ...func(*controllers.Options)) *replica {
	GinkgoHelper()
	r := start(namespace, changes...)
	Eventually(r.Elected()).WithContext(ctx).Should(BeClosed())
	return r
}

// world is a namespace.
type world struct{ namespace string }

func newWorld(ctx context.Context) world {
	GinkgoHelper()
	return world{suite.Namespace(ctx, env)}
}

// cluster creates a Cluster with a number of Machines and their objects; each Machine has been changed as said.
func (w world) cluster(ctx context.Context, name string, machines int, changes ...func(*clusterv1.Machine)) {
	GinkgoHelper()
	cluster := builder.Cluster(w.namespace, name).Build()
	objects := append([]client.Object{cluster}, simulator.Machines(cluster, 0, machines, simulator.Shape{PayloadSize: -1})...)
	for _, object := range objects {
		if machine, ok := object.(*clusterv1.Machine); ok {
			for _, change := range changes {
				change(machine)
			}
		}
	}
	Expect(simulator.Create(ctx, k8s, 8, objects...)).To(Succeed())
}

func worker(cluster string, i int) string { return fmt.Sprintf("%s-worker-%d", cluster, i) }

func (w world) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: w.namespace, Name: name}
}

func (w world) machine(ctx context.Context, g Gomega, name string) *clusterv1.Machine {
	machine := &clusterv1.Machine{}
	g.Expect(k8s.Get(ctx, w.key(name), machine)).To(Succeed())
	return machine
}

func (w world) machines(ctx context.Context, g Gomega) []clusterv1.Machine {
	list := &clusterv1.MachineList{}
	g.Expect(k8s.List(ctx, list, client.InNamespace(w.namespace))).To(Succeed())
	return list.Items
}

// eventuallyRunning waits until the namespace has that many Machines, and all of them are Running and Ready.
func (w world) eventuallyRunning(ctx context.Context, count int) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		machines := w.machines(ctx, g)
		g.Expect(machines).To(HaveLen(count))
		for i := range machines {
			g.Expect(machines[i]).To(beRunning(), machines[i].Name)
		}
	}).WithContext(ctx).Should(Succeed())
}

func (w world) eventuallyEmpty(ctx context.Context) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(w.machines(ctx, g)).To(BeEmpty())
		for _, kind := range []schema.GroupKind{simulator.SimMachine, simulator.SimConfig} {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(kind.WithVersion(simulator.NewAPIVersion))
			g.Expect(k8s.List(ctx, list, client.InNamespace(w.namespace))).To(Succeed())
			g.Expect(list.Items).To(BeEmpty())
		}
	}).WithContext(ctx).Should(Succeed())
}

// object reads a provider object.
func (w world) object(ctx context.Context, kind schema.GroupKind, name string) *unstructured.Unstructured {
	GinkgoHelper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind.WithVersion(simulator.NewAPIVersion))
	Expect(k8s.Get(ctx, w.key(name), object)).To(Succeed())
	return object
}

// requests are those of all managers in the namespace, as the API server has counted them.
func (w world) requests(ctx context.Context, match func(environment.Request) bool) environment.Requests {
	GinkgoHelper()
	all, err := env.Requests(ctx)
	Expect(err).NotTo(HaveOccurred())
	return all.From(controllers.UserAgent).Where(func(r environment.Request) bool {
		return r.Namespace == w.namespace && r.Resource != "leases" && match(r)
	})
}

// patch merges into an object.
func patch(ctx context.Context, object client.Object, content map[string]any) {
	GinkgoHelper()
	data, err := json.Marshal(content)
	Expect(err).NotTo(HaveOccurred())
	Expect(k8s.Patch(ctx, object, client.RawPatch(types.MergePatchType, data))).To(Succeed())
}

func metadata(content map[string]any) map[string]any { return map[string]any{"metadata": content} }

func labelled(value string) func(*clusterv1.Machine) {
	return func(m *clusterv1.Machine) { m.Labels[clusterv1.WatchLabel] = value }
}
