// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package staleness

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/builder"
	"github.com/machinist-dev/machinist/test/environment"
	"github.com/machinist-dev/machinist/test/environment/suite"
	"github.com/machinist-dev/machinist/test/simulator"
)

const (
	// heldBack is by how much every event comes too late.
	heldBack = 5 * time.Second
	// steps is how many events have to come one after the other until a Machine is Running, or gone, with some to spare.
	steps = 8
	// userTime is how long the user goes on.
	userTime = 20 * time.Second
	// mostMachines is how many Machines the user creates.
	mostMachines = 30
)

var (
	simMachine = simulator.SimMachine.WithVersion(simulator.NewAPIVersion)
	simConfig  = simulator.SimConfig.WithVersion(simulator.NewAPIVersion)
)

// user does at random what people and their tools do to Machines and provider objects.
type user struct {
	*world
	random *rand.Rand
	// names are those of Machines that were created and not deleted.
	names   []string
	created int
	// robbed counts, by kind and name, how often the user took an object's ownership away.
	robbed map[string]int
	// writes counts what the user wrote to objects that exist.
	writes int
	log    []string
}

func (u *user) note(format string, args ...any) { u.log = append(u.log, fmt.Sprintf(format, args...)) }

func (u *user) do(ctx context.Context) {
	GinkgoHelper()
	if len(u.names) == 0 || (u.created < mostMachines && u.random.IntN(2) == 0) {
		u.createMachine(ctx)
		return
	}
	name := u.names[u.random.IntN(len(u.names))]
	what := u.random.IntN(100)
	u.writes++
	switch {
	case what < 15:
		u.note("label Machine %s", name)
		u.patch(ctx, u.machine(name), object{"metadata": object{"labels": object{"example.org/step": fmt.Sprint(u.writes)}}})
	case what < 25:
		u.note("annotate Machine %s", name)
		u.patch(ctx, u.machine(name), object{"metadata": object{"annotations": object{"example.org/step": fmt.Sprint(u.writes)}}})
	case what < 40:
		u.note("change the spec of Machine %s", name)
		u.patch(ctx, u.machine(name), object{"spec": object{"deletion": object{"nodeDeletionTimeoutSeconds": 10 + u.random.IntN(100)}}})
	case what < 60:
		o := u.provided(name)
		u.note("annotate %s %s", o.GetKind(), name)
		u.patch(ctx, o, object{"metadata": object{"annotations": object{"example.org/step": fmt.Sprint(u.writes)}}})
	case what < 70:
		o := u.provided(name)
		u.note("rob %s %s of its owner", o.GetKind(), name)
		u.robbed[o.GetKind()+" "+name]++
		u.patch(ctx, o, object{"metadata": object{"ownerReferences": nil}})
	case what < 75:
		o := u.provided(name)
		u.note("rob %s %s of its label", o.GetKind(), name)
		u.robbed[o.GetKind()+" "+name]++
		u.patch(ctx, o, object{"metadata": object{"labels": object{clusterv1.ClusterNameLabel: nil}}})
	case what < 80:
		u.replace(ctx, u.provided(name))
	default:
		if u.random.IntN(4) > 0 { // usually one that is further than its first event
			name = u.names[u.random.IntN((len(u.names)+2)/3)]
		}
		u.note("delete Machine %s", name)
		Expect(client.IgnoreNotFound(k8s.Delete(ctx, u.machine(name)))).To(Succeed())
		u.names = without(u.names, name)
	}
}

func without(names []string, name string) []string {
	var left []string
	for _, n := range names {
		if n != name {
			left = append(left, n)
		}
	}
	return left
}

// createMachine creates a Machine and its objects in any order.
func (u *user) createMachine(ctx context.Context) {
	GinkgoHelper()
	name := fmt.Sprintf("m-%d", u.created)
	u.created++
	m := u.machine(name)
	if u.created == 1 {
		m.Labels[clusterv1.MachineControlPlaneLabel] = ""
	}
	objects := []client.Object{u.infra(name), u.config(name), m}
	u.random.Shuffle(len(objects), func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
	u.note("create Machine %s", name)
	create(ctx, objects...)
	u.names = append(u.names, name)
}

// replace deletes a provider object and creates it again under the same name.
func (u *user) replace(ctx context.Context, o *unstructured.Unstructured) {
	GinkgoHelper()
	u.note("replace %s %s", o.GetKind(), o.GetName())
	Expect(client.IgnoreNotFound(k8s.Delete(ctx, o))).To(Succeed())
	eventuallyGone(ctx, o.DeepCopy())
	create(ctx, o)
}

// patch leaves alone what is gone.
func (u *user) patch(ctx context.Context, o client.Object, content object) {
	GinkgoHelper()
	Expect(client.IgnoreNotFound(k8s.Patch(ctx, nameOnly(o), merge(content)))).To(Succeed())
}

func (u *user) machine(name string) *clusterv1.Machine {
	return builder.Machine(u.namespace, name).WithClusterName("blue").Build()
}

func (u *user) infra(name string) *unstructured.Unstructured {
	return newProvider.infraMachine(u.namespace, name).WithGroupVersionKind(simMachine).Build()
}

func (u *user) config(name string) *unstructured.Unstructured {
	return newProvider.bootstrapConfig(u.namespace, name).WithGroupVersionKind(simConfig).Build()
}

// provided returns one of the two provider objects of a Machine.
func (u *user) provided(name string) *unstructured.Unstructured {
	if u.random.IntN(2) == 0 {
		return u.config(name)
	}
	return u.infra(name)
}

var _ = It("With all events held back by 5 s, no write is repeated and no Machine goes before its objects", func(ctx SpecContext) {
	seed := newSeed()
	u := &user{world: &world{namespace: suite.Namespace(ctx, env)}, random: rand.New(rand.NewPCG(seed, 0)), robbed: map[string]int{}}
	DeferCleanup(func() {
		if CurrentSpecReport().Failed() {
			AddReportEntry("what the user did", strings.Join(u.log, "\n"))
		}
	})
	sim, err := simulator.Start(ctx, env.Config, simulator.Options{
		Namespaces: []string{u.namespace}, Seed: seed, Jitter: 1, PayloadSize: 200, ControlPlaneInitialized: true,
		BootstrapDelay: 300 * time.Millisecond, ProvisionDelay: 500 * time.Millisecond, NodeDelay: 300 * time.Millisecond, DeletionDelay: 300 * time.Millisecond,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(sim.Stop)
	proxy := startProxy(ctx)
	startManager(proxy.Config(), u.namespace)
	h := follow(ctx, u.namespace, clusterv1.GroupVersion.WithKind("Machine"), simMachine, simConfig)
	create(ctx, builder.Cluster(u.namespace, "blue").Build())
	proxy.Delay(heldBack)
	for end := time.Now().Add(userTime); time.Now().Before(end); {
		u.do(ctx)
		pause(ctx, time.Duration(u.random.IntN(300))*time.Millisecond)
	}
	Eventually(func(g Gomega) {
		machines := &clusterv1.MachineList{}
		g.Expect(k8s.List(ctx, machines, client.InNamespace(u.namespace))).To(Succeed())
		g.Expect(machines.Items).To(HaveLen(len(u.names)))
		g.Expect(machines.Items).To(HaveEach(HaveField("Status.Phase", "Running")))
	}).WithContext(ctx).WithTimeout(steps * heldBack).WithPolling(heldBack / 10).Should(Succeed())

	By("adoption")
	for _, name := range u.names {
		for _, o := range []*unstructured.Unstructured{u.infra(name), u.config(name)} {
			eventuallyOwned(ctx, o, name)
		}
	}
	conflicts := u.requests(ctx, "patch").Where(func(r environment.Request) bool { return r.Code == http.StatusConflict })
	AddReportEntry("the user's and the manager's writes", fmt.Sprintf("%d Machines, %d deleted; user: %d; manager: %v; conflicts: %v",
		u.created, u.created-len(u.names), u.writes, append(u.requests(ctx, "patch"), u.requests(ctx, "delete")...).Counts(), conflicts.Counts()))
	By("requests")
	Expect(len(conflicts)).To(BeNumerically("<=", u.writes), "%v", conflicts.Counts())
	checkRequests(ctx, u, h, "SimMachine", "simmachines")
	checkRequests(ctx, u, h, "SimConfig", "simconfigs")
	By("order of deletion")
	checkOrder(h)
})

// checkRequests holds the requests of the manager against what has happened to the objects of a kind.
func checkRequests(ctx context.Context, u *user, h *history, kind, resource string) {
	GinkgoHelper()
	count := func(verb, name string) int { // what was refused has changed nothing
		return len(u.requests(ctx, verb, resource).Where(func(r environment.Request) bool {
			return r.Name == name && r.Code != http.StatusConflict && r.Code != http.StatusNotFound
		}))
	}
	for name, lives := range h.of(kind) {
		adopted := 0
		for _, l := range lives {
			adopted += l.adopted
		}
		Expect(count("patch", name)).To(Equal(adopted), "each patch of %s %s should have given it its owner: %+v", kind, name, lives)
		Expect(adopted).To(BeNumerically("<=", len(lives)+u.robbed[kind+" "+name]), "%s %s: %+v", kind, name, lives)
		Expect(count("delete", name)).To(BeNumerically("<=", len(lives)), "%s %s should be deleted once: %+v", kind, name, lives)
	}
}

// checkOrder makes sure that no object of a Machine existed when the Machine went.
func checkOrder(h *history) {
	GinkgoHelper()
	for name, machines := range h.of("Machine") {
		for _, machine := range machines {
			if machine.ended == 0 || !machine.held {
				continue
			}
			for _, kind := range []string{"SimMachine", "SimConfig"} {
				for _, l := range h.of(kind)[name] {
					alive := l.created < machine.ended && (l.ended == 0 || l.ended > machine.ended)
					Expect(alive).To(BeFalse(), "%s %s existed when its Machine went: %+v, %+v", kind, name, l, machine)
				}
			}
		}
	}
}
