// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package ha

import (
	"context"
	"fmt"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers"
	"github.com/machinist-dev/machinist/test/builder"
	"github.com/machinist-dev/machinist/test/environment"
	"github.com/machinist-dev/machinist/test/environment/suite"
	"github.com/machinist-dev/machinist/test/simulator"
	"github.com/machinist-dev/machinist/test/simulator/workload"
)

// The times of the election are the defaults. With shorter ones a busy computer loses leaders that nobody has killed.
const (
	leaseDuration = 15 * time.Second
	retryPeriod   = 2 * time.Second
)

// parallel is how many requests of ours are under way at the same time.
const parallel = 8

// clusters are those of a world. Others go on with keeper, whose Machine stays.
var clusters = []string{"blue", "green", "red"}

// world is a namespace with managers of its own.
type world struct {
	namespace string
	machines  int // in each Cluster
}

func newWorld(ctx context.Context, total int) world {
	GinkgoHelper()
	return world{suite.Namespace(ctx, env), total / len(clusters)}
}

func (w world) total() int { return w.machines * len(clusters) }

func (w world) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: w.namespace, Name: name}
}

// manager starts one that takes part in the election, and returns when it is at work, or follows what another one does.
func (w world) manager(ctx context.Context, flags ...string) *process {
	GinkgoHelper()
	before := w.watches(ctx)
	p := start(ctx, append([]string{
		"--namespace=" + w.namespace, "--leader-elect", "--leader-elect-resource-namespace=" + w.namespace,
		"--leader-elect-lease-duration=" + leaseDuration.String(), "--leader-elect-retry-period=" + retryPeriod.String(), "--webhook-port=0",
	}, flags...)...)
	Eventually(func(g Gomega) {
		g.Expect(p.exited).NotTo(BeClosed())
		g.Expect(p.ready(ctx)).To(Succeed())
		g.Expect(w.watches(ctx)).To(BeNumerically(">", before))
		g.Expect(w.holder(ctx, g)).NotTo(BeEmpty())
	}).WithContext(ctx).Should(Succeed())
	return p
}

// watches is how many watches of Machines the managers have opened.
func (w world) watches(ctx context.Context) int {
	GinkgoHelper()
	return len(w.requests(ctx, func(r environment.Request) bool { return r.Verb == "watch" && r.Resource == "machines" }))
}

func (w world) lease(ctx context.Context, g Gomega) *coordinationv1.Lease {
	lease := &coordinationv1.Lease{}
	g.Expect(k8s.Get(ctx, w.key("controller-leader-election-machinist"), lease)).To(Succeed())
	return lease
}

func (w world) holder(ctx context.Context, g Gomega) string {
	holder := w.lease(ctx, g).Spec.HolderIdentity
	g.Expect(holder).NotTo(BeNil())
	return *holder
}

// eventuallyHeldByAnother waits until somebody else holds the Lease, and returns when that got it.
func (w world) eventuallyHeldByAnother(ctx context.Context, before string) time.Time {
	GinkgoHelper()
	var acquired time.Time
	Eventually(func(g Gomega) {
		lease := w.lease(ctx, g)
		g.Expect(lease.Spec.HolderIdentity).To(HaveValue(Not(BeElementOf("", before))))
		acquired = lease.Spec.AcquireTime.Time
	}).WithContext(ctx).WithTimeout(3 * leaseDuration).Should(Succeed())
	return acquired
}

// requests are those of all managers in the namespace.
func (w world) requests(ctx context.Context, match func(environment.Request) bool) environment.Requests {
	GinkgoHelper()
	all, err := env.Requests(ctx)
	Expect(err).NotTo(HaveOccurred())
	return all.From(controllers.UserAgent).Where(func(r environment.Request) bool { return r.Namespace == w.namespace && match(r) })
}

// create creates all Clusters and Machines, and goes on with that until the channel is closed.
func (w world) create(ctx context.Context) (done chan struct{}) {
	return w.inBackground(func() error {
		var objects []client.Object
		for _, name := range clusters {
			cluster := builder.Cluster(w.namespace, name).Build()
			if err := k8s.Create(ctx, cluster.DeepCopy()); err != nil {
				return err
			}
			objects = append(objects, simulator.Machines(cluster, 0, w.machines, simulator.Shape{PayloadSize: -1})...)
		}
		return simulator.Create(ctx, k8s, parallel, objects...)
	})
}

// deleteMachines deletes all Machines; their Clusters stay.
func (w world) deleteMachines(ctx context.Context) (done chan struct{}) {
	return w.inBackground(func() error {
		list := &clusterv1.MachineList{}
		if err := k8s.List(ctx, list, client.InNamespace(w.namespace)); err != nil {
			return err
		}
		for i := range list.Items {
			if err := k8s.Delete(ctx, &list.Items[i]); err != nil {
				return fmt.Errorf("deleting %s: %w", list.Items[i].Name, err)
			}
		}
		return nil
	})
}

func (w world) inBackground(work func() error) (done chan struct{}) {
	done = make(chan struct{})
	go func() {
		defer GinkgoRecover()
		defer close(done)
		Expect(work()).To(Succeed())
	}()
	return done
}

// states is how many Machines are in which phase, and if that isn't Running, for which reason they are not ready.
func (w world) states(ctx context.Context, g Gomega) map[string]int {
	list := &clusterv1.MachineList{}
	g.Expect(k8s.List(ctx, list, client.InNamespace(w.namespace))).To(Succeed())
	states := map[string]int{}
	for i := range list.Items {
		machine := &list.Items[i]
		state := machine.Status.Phase
		if ready := meta.FindStatusCondition(machine.Status.Conditions, clusterv1.MachineReadyCondition); state != running && ready != nil {
			state += ": " + ready.Message
		}
		states[state]++
	}
	return states
}

const running = string(clusterv1.MachinePhaseRunning)

// eventuallyRunning waits until all Machines are Running, as long as that manager is at work.
func (w world) eventuallyRunning(ctx context.Context, by *process) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		by.expectAlive()
		g.Expect(w.states(ctx, g)).To(Equal(map[string]int{running: w.total()}))
	}).
		WithContext(ctx).WithTimeout(convergenceTimeout).WithPolling(countInterval).Should(Succeed())
}

// eventuallyEmpty waits until Machines and their objects are gone, as long as that manager is at work.
func (w world) eventuallyEmpty(ctx context.Context, by *process) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		by.expectAlive()
		list := &clusterv1.MachineList{}
		g.Expect(k8s.List(ctx, list, client.InNamespace(w.namespace))).To(Succeed())
		g.Expect(list.Items).To(BeEmpty())
		for _, kind := range []schema.GroupKind{simulator.SimMachine, simulator.SimConfig} {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(kind.WithVersion(simulator.NewAPIVersion))
			g.Expect(k8s.List(ctx, list, client.InNamespace(w.namespace))).To(Succeed())
			g.Expect(list.Items).To(BeEmpty())
		}
	}).WithContext(ctx).WithTimeout(convergenceTimeout).WithPolling(countInterval).Should(Succeed())
}

// provided matches requests of that verb for provider objects which have succeeded.
func provided(verb string) func(environment.Request) bool {
	return func(r environment.Request) bool {
		return r.Verb == verb && (r.Resource == "simmachines" || r.Resource == "simconfigs") && r.Code == http.StatusOK
	}
}

// adoptions are the patches that made provider objects their Machines'.
func (w world) adoptions(ctx context.Context) int {
	GinkgoHelper()
	return len(w.requests(ctx, provided("patch")))
}

func (w world) deletions(ctx context.Context) int {
	GinkgoHelper()
	return len(w.requests(ctx, provided("delete")))
}

// workers is how many requests about provider objects a manager has under way at most: the default of --machine-concurrency.
const workers = 100

// expectOnce checks that no provider object has had two requests of that verb, and that all have had theirs. One whose answer
// a leader that was killed has not got may be missing from the log: that is one for each of its workers at most.
func (w world) expectOnce(ctx context.Context, verb string, missing int) {
	GinkgoHelper()
	seen := map[string]int{}
	for _, r := range w.requests(ctx, provided(verb)) {
		seen[r.Resource+" "+r.Name]++
	}
	for object, count := range seen {
		Expect(count).To(Equal(1), "%s of %s", verb, object)
	}
	Expect(len(seen)).To(BeNumerically("~", 2*w.total(), missing))
}

// expectNoConflict checks that no write of a manager has met another's. Events are not looked at: client-go sends one again
// when the manager stops before it has the answer.
func (w world) expectNoConflict(ctx context.Context) {
	GinkgoHelper()
	Expect(w.requests(ctx, func(r environment.Request) bool {
		return r.Code == http.StatusConflict && r.Resource != "events" && r.Resource != "leases"
	}).Counts()).To(BeEmpty())
}

// nodes is how many Nodes the Cluster has, and how many the managers have deleted.
func (w world) nodes(cluster string) (now, deleted int) {
	GinkgoHelper()
	served, ok := providers.Workload().Cluster(w.key(cluster))
	Expect(ok).To(BeTrue())
	now, err := served.Count(&corev1.Node{})
	Expect(err).NotTo(HaveOccurred())
	return now, served.Requests()[workload.Request{UserAgent: controllers.UserAgent, Verb: "delete", Resource: "nodes"}]
}
