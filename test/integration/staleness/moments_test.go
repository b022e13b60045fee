// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package staleness

import (
	"context"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/apis/contract"
	"github.com/machinist-dev/machinist/test/environment"
	"github.com/machinist-dev/machinist/test/environment/delay"
)

// Each spec stops one watch at the moment in which an old answer would do harm, and lets it go in the end.
var _ = Describe("While a cache is behind", func() {
	const (
		never        = time.Hour // as a delay: not before the spec says so
		infras       = "newmachines"
		machines     = "machines"
		providerHold = "example.org/provider"
	)
	var (
		w     *world
		proxy *delay.Proxy
		p     provider
	)
	BeforeEach(func(ctx SpecContext) {
		p = newProvider
		w = newWorld(ctx)
		proxy = startProxy(ctx)
	})

	// infra and machine are those that the specs are about.
	infra := func() *unstructured.Unstructured { return p.infraMachine(w.namespace, "m").Build() }
	machine := func() *clusterv1.Machine { return p.machine(w.namespace, "m") }
	live := func(ctx context.Context) *unstructured.Unstructured {
		GinkgoHelper()
		o := infra()
		Expect(k8s.Get(ctx, w.key("m"), o)).To(Succeed())
		return o
	}
	// start starts the manager and returns when its caches have what was created before.
	start := func(ctx context.Context) {
		GinkgoHelper()
		startManager(proxy.Config(), w.namespace)
		create(ctx, p.infraMachine(w.namespace, "first").Build(), p.bootstrapConfig(w.namespace, "first").Build(), p.machine(w.namespace, "first"))
		eventuallyOwned(ctx, p.infraMachine(w.namespace, "first").Build(), "first")
		eventuallyOwned(ctx, p.bootstrapConfig(w.namespace, "first").Build(), "first")
		w.eventually(ctx, "first", func(g Gomega, m *clusterv1.Machine) { // so there is a connection to the workload cluster
			g.Expect(m.Status.Conditions).To(ContainElement(And(HaveField("Type", "NodeReady"), HaveField("Message", "Waiting for NewMachine to report spec.providerID"))))
		})
	}
	// wake changes the Machine in a way that shows when it has been reconciled.
	wake := func(ctx context.Context, minReadySeconds int) {
		GinkgoHelper()
		patch(ctx, machine(), object{"spec": object{"minReadySeconds": minReadySeconds}})
		w.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) {
			g.Expect(m.Spec.MinReadySeconds).To(HaveValue(BeEquivalentTo(minReadySeconds)))
			g.Expect(m.Status.ObservedGeneration).To(Equal(m.Generation))
		})
	}
	about := func(ctx context.Context, verb, resource string) environment.Requests {
		GinkgoHelper()
		return w.requests(ctx, verb, resource).Where(func(r environment.Request) bool { return r.Name == "m" })
	}

	It("an object is adopted once", func(ctx SpecContext) {
		create(ctx, infra())
		start(ctx)
		proxy.Delay(never, infras)
		create(ctx, machine())
		eventuallyOwned(ctx, infra(), "m")
		wake(ctx, 1)
		wake(ctx, 2)
		Expect(about(ctx, "patch", infras)).To(ConsistOf(HaveField("Code", http.StatusOK)))
		proxy.Delay(0)
		wake(ctx, 3)
		Expect(about(ctx, "patch", infras)).To(HaveLen(1))
	})

	It("a condition that another writer has changed is not changed back", func(ctx SpecContext) {
		setForeign := func(status metav1.ConditionStatus) {
			GinkgoHelper()
			m := machine()
			Expect(k8s.Get(ctx, w.key("m"), m)).To(Succeed())
			base := m.DeepCopy()
			meta.SetStatusCondition(&m.Status.Conditions, metav1.Condition{Type: "HealthCheckSucceeded", Status: status, Reason: "Checked"})
			Expect(k8s.Status().Patch(ctx, m, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))).To(Succeed())
		}
		foreign := func() metav1.ConditionStatus {
			GinkgoHelper()
			m := machine()
			Expect(k8s.Get(ctx, w.key("m"), m)).To(Succeed())
			return meta.FindStatusCondition(m.Status.Conditions, "HealthCheckSucceeded").Status
		}
		provisioned := p.infraMachine(w.namespace, "m").WithProvisioned(true)
		create(ctx, provisioned.WithProviderID("sim:///1").Build(), machine())
		start(ctx)
		Expect(w.workload.Create(newNode("m", "sim:///1", corev1.ConditionTrue))).To(Succeed())
		w.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) { // its status is written at once from now on
			g.Expect(m.Status.Phase).To(Equal("Running"))
		})
		setForeign(metav1.ConditionTrue)
		wake(ctx, 2) // so the manager knows it
		proxy.Delay(never, machines)
		setForeign(metav1.ConditionFalse)
		By("writing spec and status from what the cache has")
		report(ctx, provisioned.WithProviderID("sim:///2").WithFailureDomain("zone-b").Build())
		w.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) { g.Expect(m.Spec.ProviderID).To(Equal("sim:///2")) })
		Consistently(foreign).WithContext(ctx).Should(Equal(metav1.ConditionFalse))
		proxy.Delay(0)
		wake(ctx, 3)
		w.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) { g.Expect(m.Status.FailureDomain).To(Equal("zone-b")) })
		Expect(foreign()).To(Equal(metav1.ConditionFalse))
	})

	It("an object is deleted once", func(ctx SpecContext) {
		held := infra()
		held.SetFinalizers([]string{providerHold})
		create(ctx, held, machine())
		start(ctx)
		eventuallyOwned(ctx, infra(), "m")
		proxy.Delay(never, infras)
		Expect(k8s.Delete(ctx, machine())).To(Succeed())
		Eventually(func() *metav1.Time { return live(ctx).GetDeletionTimestamp() }).WithContext(ctx).ShouldNot(BeNil())
		wake(ctx, 1)
		wake(ctx, 2)
		Expect(about(ctx, "delete", infras)).To(ConsistOf(HaveField("Code", http.StatusOK)))
		By("going on when the provider is done")
		patch(ctx, infra(), object{"metadata": object{"finalizers": nil}})
		proxy.Delay(0)
		eventuallyGone(ctx, machine())
		Expect(about(ctx, "delete", infras)).To(HaveLen(1))
	})

	It("an object that was created again under the same name is left alone until it is known", func(ctx SpecContext) {
		create(ctx, infra(), machine())
		start(ctx)
		eventuallyOwned(ctx, infra(), "m")
		proxy.Delay(never, infras)
		Expect(k8s.Delete(ctx, infra())).To(Succeed())
		another := infra()
		another.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "example.org/v1", Kind: "Pool", Name: "pool", UID: "1", Controller: new(true)}})
		create(ctx, another)
		Expect(k8s.Delete(ctx, machine())).To(Succeed())
		w.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) { g.Expect(m.Status.Phase).To(Equal("Deleting")) })
		Consistently(func() *metav1.Time { return live(ctx).GetDeletionTimestamp() }).WithContext(ctx).Should(BeNil())
		Expect(len(about(ctx, "delete", infras))).To(BeNumerically("<=", 1))
		proxy.Delay(0)
		eventuallyGone(ctx, machine())
		Expect(live(ctx).GetUID()).To(Equal(another.GetUID()))
	})

	It("a Machine stays until the API server says that its InfraMachine is gone", func(ctx SpecContext) {
		create(ctx, machine())
		start(ctx)
		w.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) { g.Expect(m.Finalizers).NotTo(BeEmpty()) })
		proxy.Delay(never, infras)
		create(ctx, infra())
		Expect(k8s.Delete(ctx, machine())).To(Succeed())
		w.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) { g.Expect(m.Status.Phase).To(Equal("Deleting")) })
		Consistently(func() error { return k8s.Get(ctx, w.key("m"), machine()) }).WithContext(ctx).Should(Succeed())
		proxy.Delay(0)
		eventuallyGone(ctx, machine())
		Expect(apierrors.IsNotFound(k8s.Get(ctx, w.key("m"), infra()))).To(BeTrue())
	})

	It("a Machine stays when its InfraMachine has just become its own", func(ctx SpecContext) {
		others := infra()
		others.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "example.org/v1", Kind: "Pool", Name: "pool", UID: "1", Controller: new(true)}})
		create(ctx, others, machine())
		start(ctx)
		w.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) {
			g.Expect(m.Status.Conditions).To(ContainElement(And(HaveField("Type", "InfrastructureReady"), HaveField("Reason", "AlreadyOwned"))))
		})
		proxy.Delay(never, infras)
		m := machine()
		Expect(k8s.Get(ctx, w.key("m"), m)).To(Succeed())
		patch(ctx, infra(), object{"metadata": object{"ownerReferences": []metav1.OwnerReference{
			*metav1.NewControllerRef(m, clusterv1.GroupVersion.WithKind("Machine")),
		}}})
		Expect(k8s.Delete(ctx, machine())).To(Succeed())
		w.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) { g.Expect(m.Status.Phase).To(Equal("Deleting")) })
		Consistently(func() error { return k8s.Get(ctx, w.key("m"), machine()) }).WithContext(ctx).Should(Succeed())
		proxy.Delay(0)
		eventuallyGone(ctx, machine())
		Expect(apierrors.IsNotFound(k8s.Get(ctx, w.key("m"), infra()))).To(BeTrue())
	})

	It("a Machine goes on from its own writes", func(ctx SpecContext) {
		create(ctx, infra(), machine())
		start(ctx)
		wake(ctx, 1)
		before := len(about(ctx, "patch", machines)) // the first status may have met the change that has woken it
		proxy.Delay(never, machines)
		report(ctx, p.infraMachine(w.namespace, "m").WithProvisioned(true).WithProviderID("sim:///m").Build())
		w.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) { g.Expect(m.Status.Phase).To(Equal("Provisioned")) })
		for _, address := range []string{"10.0.0.1", "10.0.0.2"} {
			report(ctx, p.infraMachine(w.namespace, "m").WithAddresses([]contract.MachineAddress{{Type: "InternalIP", Address: address}}).Build())
			w.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) {
				g.Expect(m.Status.Addresses).To(ConsistOf(HaveField("Address", address)))
			})
		}
		Expect(about(ctx, "patch", machines)[before:]).To(And(Not(BeEmpty()), HaveEach(HaveField("Code", http.StatusOK))))
	})

	It("a Machine that was created again under the same name gets nothing of the one before it", func(ctx SpecContext) {
		create(ctx, infra(), machine())
		start(ctx)
		wake(ctx, 1)
		proxy.Delay(never, machines)
		patch(ctx, machine(), object{"metadata": object{"finalizers": nil}}) // as people do who lose patience
		Expect(k8s.Delete(ctx, machine())).To(Succeed())
		another := machine()
		another.Spec.InfrastructureRef.Name = "another"
		create(ctx, another)
		report(ctx, p.infraMachine(w.namespace, "m").WithProvisioned(true).WithProviderID("sim:///m").Build())
		Eventually(func() environment.Requests {
			return about(ctx, "patch", machines).Where(func(r environment.Request) bool { return r.Code == http.StatusConflict })
		}).WithContext(ctx).ShouldNot(BeEmpty())
		proxy.Delay(0)
		w.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) {
			g.Expect(m.Status.Conditions).To(ContainElement(And(HaveField("Type", "InfrastructureReady"), HaveField("Reason", "ObjectDoesNotExist"))))
			g.Expect(m.Spec.ProviderID).To(BeEmpty())
			g.Expect(m.Status.Initialization.InfrastructureProvisioned).To(BeNil())
		})
	})

	It("a Node that comes before the cache knows the provider ID of its Machine is found", func(ctx SpecContext) {
		create(ctx, infra(), machine())
		start(ctx)
		wake(ctx, 1)
		proxy.Delay(never, machines)
		report(ctx, p.infraMachine(w.namespace, "m").WithProvisioned(true).WithProviderID("sim:///m").Build())
		w.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) {
			g.Expect(m.Status.Phase).To(Equal("Provisioned"))
			g.Expect(m.Status.Conditions).To(ContainElement(And(HaveField("Type", "NodeReady"), HaveField("Message", ContainSubstring("Waiting for a Node")))))
		})
		Expect(w.workload.Create(newNode("m", "sim:///m", corev1.ConditionTrue))).To(Succeed())
		Consistently(func(g Gomega) {
			m := machine()
			g.Expect(k8s.Get(ctx, w.key("m"), m)).To(Succeed())
			g.Expect(m.Status.NodeRef.Name).To(BeEmpty(), "otherwise this spec shows nothing")
		}).WithContext(ctx).Should(Succeed())
		proxy.Delay(0)
		w.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) { g.Expect(m.Status.Phase).To(Equal("Running")) })
	})

	It("an adoption that was undone is made again, also when the cache never sees it in between", func(ctx SpecContext) {
		create(ctx, infra())
		start(ctx)
		proxy.Delay(never, infras)
		create(ctx, machine())
		eventuallyOwned(ctx, infra(), "m")
		wake(ctx, 1)
		patch(ctx, infra(), object{"metadata": object{"ownerReferences": nil, "labels": nil}})
		proxy.Expire(infras)
		proxy.Delay(0)
		eventuallyOwned(ctx, infra(), "m")
	})

	It("what the API server refuses is tried again when there is something new, not before", func(ctx SpecContext) {
		create(ctx, infra())
		start(ctx)
		proxy.Delay(never, infras)
		patch(ctx, infra(), object{"metadata": object{"annotations": object{"a": "b"}}})
		create(ctx, machine())
		adoptions := func() environment.Requests { return about(ctx, "patch", infras) }
		Eventually(adoptions).WithContext(ctx).ShouldNot(BeEmpty())
		patch(ctx, machine(), object{"metadata": object{"annotations": object{"wakes": "it"}}})
		Consistently(adoptions).WithContext(ctx).Should(ConsistOf(HaveField("Code", http.StatusConflict)))
		proxy.Delay(0)
		eventuallyOwned(ctx, infra(), "m")

		By("also for the Machine itself")
		wake(ctx, 2)
		proxy.Delay(never, machines)
		before := len(about(ctx, "patch", machines))
		patch(ctx, machine(), object{"metadata": object{"annotations": object{"a": "b"}}})
		patchStatus(ctx, infra(), object{"conditions": []any{object{"type": "Ready", "status": "False", "reason": "Broken", "message": "broken"}}})
		refused := func() environment.Requests { return about(ctx, "patch", machines)[before:] }
		Eventually(refused).WithContext(ctx).ShouldNot(BeEmpty())
		Consistently(refused).WithContext(ctx).Should(ConsistOf(HaveField("Code", http.StatusConflict)))
		proxy.Delay(0)
		w.eventually(ctx, "m", func(g Gomega, m *clusterv1.Machine) {
			g.Expect(m.Status.Conditions).To(ContainElement(And(HaveField("Type", "InfrastructureReady"), HaveField("Reason", "Broken"))))
		})
	})
})

// eventuallyOwned polls until the object has the Machine for its controller, and the label of its Cluster.
func eventuallyOwned(ctx context.Context, o client.Object, machine string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
		g.Expect(metav1.GetControllerOf(o)).To(HaveValue(And(HaveField("Kind", "Machine"), HaveField("Name", machine))))
		g.Expect(o.GetLabels()).To(HaveKeyWithValue(clusterv1.ClusterNameLabel, "blue"))
	}).WithContext(ctx).Should(Succeed())
}

// eventuallyGone polls until the API server has no such object.
func eventuallyGone(ctx context.Context, o client.Object) {
	GinkgoHelper()
	Eventually(func() bool {
		return apierrors.IsNotFound(k8s.Get(ctx, client.ObjectKeyFromObject(o), o))
	}).WithContext(ctx).Should(BeTrue(), "%T %s should be gone", o, client.ObjectKeyFromObject(o))
}
