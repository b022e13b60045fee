// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package staleness

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/apis/contract"
	"github.com/machinist-dev/machinist/test/builder"
	"github.com/machinist-dev/machinist/test/environment/delay"
	"github.com/machinist-dev/machinist/test/simulator/workload"
)

const (
	subjects = 36
	// stepsInTurmoil and stepsAfterwards are how much happens to each Machine while everything else changes, too, and then.
	stepsInTurmoil  = 10
	stepsAfterwards = 8
	longestPause    = 500 * time.Millisecond
	longestDelay    = 1500 * time.Millisecond
	// quiet is how long nothing must have changed for everything to have come to rest: longer than anything waits before
	// it is written.
	quiet = 2500 * time.Millisecond
)

// The seed's argument, on a real API server: an informer changes its store before it calls its handlers, so the last
// reconcile has seen the last version of everything. Here are stores that are late by different times, and lists that
// swallow what came in between.
var _ = It("Whatever happens to its objects, a Machine ends where a fresh computation ends", func(ctx SpecContext) {
	seed := newSeed()
	for round := range rounds() {
		converge(ctx, seed+uint64(round))
	}
})

func converge(ctx context.Context, seed uint64) {
	GinkgoHelper()
	By(fmt.Sprintf("seed %d", seed))
	w := newWorld(ctx)
	proxy := startProxy(ctx)
	stop := startManager(proxy.Config(), w.namespace)
	all := w.subjects(seed)
	meddler := &meddler{world: w, proxy: proxy, random: rand.New(rand.NewPCG(seed, subjects)), expired: map[string]int{}, diary: newDiary()}
	meddler.during(ctx, meddler.anything, func() {
		together(all, func(s *subject) { s.steps(ctx, stepsInTurmoil, longestPause) })
	})
	last := meddler.settle(ctx)
	meddler.during(ctx, meddler.delay, func() {
		together(all, func(s *subject) { s.steps(ctx, stepsAfterwards, longestPause) })
		together(all, func(s *subject) { s.prepareLast(ctx) })
		pause(ctx, longestDelay)
		together(all, func(s *subject) { s.last(ctx) }) // with nothing else under way that would wake the Machine
	})
	last()
	proxy.Delay(0)
	for _, p := range []provider{oldProvider, newProvider} {
		w.fence(ctx, p)
	}
	w.comeToRest(ctx)
	before := w.snapshot(ctx)
	checkJudgements(ctx, all)
	AddReportEntry("where the Machines ended", variety(before), ReportEntryVisibilityFailureOrVerbose)

	By("computing afresh")
	stop()
	connections := w.connections()
	stop = startManager(env.Config, w.namespace)
	defer stop()
	Eventually(w.connections).WithContext(ctx).Should(BeNumerically(">", connections))
	w.spoil(ctx)
	w.comeToRest(ctx)
	after := w.snapshot(ctx)
	Expect(slices.Sorted(maps.Keys(after))).To(Equal(slices.Sorted(maps.Keys(before))))
	for key, o := range before {
		difference := cmp.Diff(o.Object, after[key].Object)
		Expect(difference).To(BeEmpty(), "%s (seed %d)\n%s\nmeanwhile:\n%s", key, seed, diaries(all, o.GetName()), meddler)
	}
}

// together lets each subject do something at the same time, and waits for all.
func together(all []*subject, do func(*subject)) {
	var working sync.WaitGroup
	for _, s := range all {
		working.Go(func() {
			defer GinkgoRecover()
			do(s)
		})
	}
	working.Wait()
}

// checkJudgements makes sure that no condition of another controller was overwritten.
func checkJudgements(ctx context.Context, all []*subject) {
	GinkgoHelper()
	for _, s := range all {
		m := s.newMachine()
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(m), m); !apierrors.IsNotFound(err) {
			Expect(err).NotTo(HaveOccurred())
			Expect(s.keptJudgement(m)).To(BeTrue(), "a condition of Machine %s is lost: %v\n%s", s.name, m.Status.Conditions, s)
		}
	}
}

// subjects makes Machines of both providers. Every sixth one references the InfraMachine of another.
func (w *world) subjects(seed uint64) []*subject {
	all := make([]*subject, 0, subjects)
	for i := range subjects {
		s := &subject{world: w, provider: []provider{oldProvider, newProvider}[i/2%2], name: fmt.Sprintf("m-%d", i), random: rand.New(rand.NewPCG(seed, uint64(i))), diary: newDiary()}
		if i%6 == 5 {
			s.shares, s.provider = all[i-1].name, all[i-1].provider
		}
		all = append(all, s)
	}
	return all
}

func diaries(all []*subject, name string) (text string) {
	for _, s := range all {
		if s.name == name || s.infraName() == name {
			text += s.name + ":\n" + s.String() + "\n"
		}
	}
	return text
}

// meddler changes what all Machines have in common: the delays of watches, the Cluster, the labels of CRDs.
type meddler struct {
	*world
	diary
	proxy   *delay.Proxy
	random  *rand.Rand
	expired map[string]int
}

var (
	machineKind = clusterv1.GroupVersion.WithKind("Machine")
	watched     = []string{"machines", "clusters", "newmachines", "oldmachines", "newconfigs", "oldconfigs", "customresourcedefinitions"}
)

// during meddles as long as the work takes.
func (m *meddler) during(ctx context.Context, meddle func(ctx context.Context), work func()) {
	done := make(chan struct{})
	var meddling sync.WaitGroup
	meddling.Go(func() {
		defer GinkgoRecover()
		for {
			select {
			case <-done:
				return
			case <-time.After(time.Duration(m.random.Int64N(int64(longestPause)))):
				meddle(ctx)
			}
		}
	})
	work()
	close(done)
	meddling.Wait()
}

func (m *meddler) anything(ctx context.Context) {
	switch what := m.random.IntN(100); {
	case what < 60:
		m.delay(ctx)
	case what < 75:
		// client-go waits longer each time before it lists again.
		resource := watched[m.random.IntN(len(watched))]
		if m.expired[resource]++; m.expired[resource] < 3 {
			m.note("expire %s", resource)
			m.proxy.Expire(resource)
		}
	case what < 85:
		m.setUp(ctx, m.random.IntN(3) > 0, m.random.IntN(3) > 0)
	case what < 92:
		m.pause(ctx, m.random.IntN(2) == 0)
	default:
		m.follow(ctx, []provider{oldProvider, newProvider}[m.random.IntN(2)], contract.Versions()[m.random.IntN(2)])
	}
}

func (m *meddler) delay(context.Context) {
	resource, by := watched[m.random.IntN(len(watched))], time.Duration(m.random.Int64N(int64(longestDelay)))
	m.note("delay %s by %s", resource, by)
	m.proxy.Delay(by, resource)
}

func (m *meddler) setUp(ctx context.Context, provisioned, initialized bool) {
	m.note("Cluster: infrastructure provisioned %t, control plane initialized %t", provisioned, initialized)
	m.setCluster(ctx, provisioned, initialized)
}

func (m *meddler) pause(ctx context.Context, paused bool) {
	m.note("Cluster: paused %t", paused)
	patch(ctx, builder.Cluster(m.namespace, "blue").Build(), object{"spec": object{"paused": paused}})
}

func (m *meddler) follow(ctx context.Context, p provider, version contract.Version) {
	m.note("%s follows contract %s", p.infra.Kind, version)
	p.follow(ctx, version)
}

// settle ends what the meddler has begun. In half of the rounds one thing is left for the end: then it wakes all Machines,
// while in the others nothing does but their own objects.
func (m *meddler) settle(ctx context.Context) (last func()) {
	GinkgoHelper()
	upset := []func(){
		func() { m.setUp(ctx, false, true) },
		func() { m.setUp(ctx, true, false) },
		func() { m.pause(ctx, true) },
		func() { m.follow(ctx, oldProvider, newProvider.contract) },
		func() { m.follow(ctx, newProvider, oldProvider.contract) },
	}
	settled := []func(){
		func() { m.setUp(ctx, true, true) },
		func() { m.setUp(ctx, true, true) },
		func() { m.pause(ctx, false) },
		func() { m.follow(ctx, oldProvider, oldProvider.contract) },
		func() { m.follow(ctx, newProvider, newProvider.contract) },
	}
	for _, end := range settled {
		end()
	}
	which := m.random.IntN(2 * len(upset))
	if which >= len(upset) {
		return func() {}
	}
	upset[which]()
	return settled[which]
}

// follow labels the CRD of the provider's InfraMachine for a contract version.
func (p provider) follow(ctx context.Context, version contract.Version) {
	GinkgoHelper()
	crd := p.crds()[0]
	labels := object{}
	for _, other := range contract.Versions() {
		labels[contract.LabelPrefix+string(other)] = nil
	}
	labels[contract.LabelPrefix+string(version)] = map[contract.Version]string{
		oldProvider.contract: oldProvider.infra.Version, newProvider.contract: newProvider.infra.Version,
	}[version]
	patch(ctx, crd, object{"metadata": object{"labels": labels}})
}

// fence returns when the manager has seen everything that happened before to Machines and their objects: one Machine after
// all others has become Running. It wakes no other.
func (w *world) fence(ctx context.Context, p provider) {
	GinkgoHelper()
	name := "fence-" + string(p.contract)
	create(ctx, p.machine(w.namespace, name),
		p.bootstrapConfig(w.namespace, name).WithDataSecretCreated(true).WithDataSecretName("data").Build(),
		p.infraMachine(w.namespace, name).WithProvisioned(true).WithProviderID("sim:///"+name).Build())
	Expect(w.workload.Create(newNode(name, "sim:///"+name, corev1.ConditionTrue))).To(Succeed())
	w.eventually(ctx, name, func(g Gomega, m *clusterv1.Machine) { g.Expect(m.Status.Phase).To(Equal("Running")) })
}

// comeToRest returns when no object has changed for a while.
func (w *world) comeToRest(ctx context.Context) {
	GinkgoHelper()
	versions := func() map[string]string {
		versions := map[string]string{}
		for key, o := range w.read(ctx) {
			versions[key] = o.GetResourceVersion()
		}
		return versions
	}
	last, since := versions(), time.Now()
	Eventually(func() time.Duration {
		if now := versions(); !maps.Equal(last, now) {
			last, since = now, time.Now()
		}
		return time.Since(since)
	}).WithContext(ctx).WithPolling(quiet / 10).Should(BeNumerically(">", quiet))
}

// read returns all Machines and their objects, as they are, by kind and name.
func (w *world) read(ctx context.Context) map[string]*unstructured.Unstructured {
	GinkgoHelper()
	objects := map[string]*unstructured.Unstructured{}
	for _, kind := range []schema.GroupVersionKind{machineKind, oldProvider.infra, oldProvider.bootstrap, newProvider.infra, newProvider.bootstrap} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		Expect(k8s.List(ctx, list, client.InNamespace(w.namespace))).To(Succeed())
		for i := range list.Items {
			objects[kind.Kind+" "+list.Items[i].GetName()] = &list.Items[i]
		}
	}
	return objects
}

// snapshot returns all that must not depend on how it came about: provider objects whole, and Machines but for their
// version.
func (w *world) snapshot(ctx context.Context) map[string]*unstructured.Unstructured {
	GinkgoHelper()
	objects := w.read(ctx)
	for _, o := range objects {
		o.SetManagedFields(nil)
		if o.GetKind() == machineKind.Kind {
			o.SetResourceVersion("")
		}
	}
	return objects
}

// variety counts the Machines by what they say, so that a reader can see whether the changes lead anywhere.
func variety(objects map[string]*unstructured.Unstructured) map[string]int {
	count := map[string]int{}
	for _, o := range objects {
		if o.GetKind() != machineKind.Kind {
			continue
		}
		phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
		count[phase]++
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		for _, c := range conditions {
			condition := c.(object)
			count[fmt.Sprint(condition["type"], " ", condition["reason"])]++
		}
	}
	return count
}

// spoil puts an untrue message into the condition Paused of each Machine and returns when the manager has corrected all:
// each Machine has been reconciled then by a manager that knows it only as it is now.
func (w *world) spoil(ctx context.Context) {
	GinkgoHelper()
	const untrue = "Nobody has looked at this Machine yet"
	machines := &clusterv1.MachineList{}
	Expect(k8s.List(ctx, machines, client.InNamespace(w.namespace))).To(Succeed())
	for i := range machines.Items {
		m := &machines.Items[i]
		// The manager may write at the same time: that there is no connection yet, and that there is one.
		Eventually(func() error {
			if err := k8s.Get(ctx, client.ObjectKeyFromObject(m), m); err != nil {
				return err
			}
			base := m.DeepCopy()
			meta.FindStatusCondition(m.Status.Conditions, clusterv1.PausedCondition).Message = untrue
			return k8s.Status().Patch(ctx, m, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
		}).WithContext(ctx).Should(Succeed())
	}
	Eventually(func(g Gomega) {
		g.Expect(k8s.List(ctx, machines, client.InNamespace(w.namespace))).To(Succeed())
		for _, m := range machines.Items {
			g.Expect(m.Status.Conditions).NotTo(ContainElement(HaveField("Message", untrue)), m.Name)
		}
	}).WithContext(ctx).Should(Succeed())
}

// connections returns how often the Nodes of the workload cluster have been watched.
func (w *world) connections() int {
	count := 0
	for request, n := range w.workload.Requests() {
		if (request == workload.Request{UserAgent: request.UserAgent, Verb: "watch", Resource: "nodes"}) {
			count += n
		}
	}
	return count
}
