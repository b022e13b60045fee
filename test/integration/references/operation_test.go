// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package references

import (
	"context"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/apis/contract"
	"github.com/machinist-dev/machinist/controllers"
	"github.com/machinist-dev/machinist/test/builder"
	"github.com/machinist-dev/machinist/test/environment"
	"github.com/machinist-dev/machinist/test/manager"
	"github.com/machinist-dev/machinist/test/simulator"
	"github.com/machinist-dev/machinist/webhooks/references"
)

var _ = It("A Machine becomes Running without a call for anything that its controller writes", func(ctx SpecContext) {
	p := newPlace(ctx, enforce, unpaused)
	before := calls()
	for _, object := range simulator.Machines(builder.Cluster(p.namespace, "cluster").Build(), 0, 2, simulator.Shape{PayloadSize: -1}) {
		Expect(admin.creates(ctx, object)).To(saySilently())
	}
	for _, name := range []string{"cluster-worker-0", "cluster-worker-1"} {
		Eventually(p.get(ctx, name)).WithContext(ctx).Should(SatisfyAll(
			HaveField("Status.Phase", "Running"), HaveField("Spec.ProviderID", Not(BeEmpty())), HaveField("Spec.Bootstrap.DataSecretName", Not(BeNil()))))
	}

	By("not being called for what users change elsewhere")
	m := p.machine("cluster-worker-0").Build()
	Expect(admin.changes(ctx, m, func(m *clusterv1.Machine) { m.Labels["example.org/new"] = "" })).To(saySilently())
	Expect(admin.changes(ctx, m, func(m *clusterv1.Machine) { m.Spec.Version = "v1.99.0" })).To(saySilently())

	By("not being called for a deletion, with all that ends it")
	Expect(k8s.Delete(ctx, m)).To(Succeed())
	eventuallyGone(ctx, m)
	after := calls()
	Expect(after["create"] - before["create"]).To(Equal(2))
	Expect(after["update"]).To(Equal(before["update"]))

	By("being called for a reference")
	other := p.machine("cluster-worker-1").Build()
	Expect(admin.changes(ctx, other, func(m *clusterv1.Machine) { m.Spec.FailureDomain = "nowhere" })).To(warnAbout("spec.failureDomain R16"))
	Expect(calls()["update"]).To(Equal(before["update"] + 1))
})

var _ = It("What the manager writes itself is not judged", func(ctx SpecContext) {
	p := newPlace(ctx, enforce)
	self := newUser(managerConfig().Impersonate)
	before := calls()
	Expect(self.tries(ctx, p.machine("m").With(infra(noContract, "m")).Build())).To(saySilently())
	Expect(calls()).To(Equal(before))
})

var _ = It("Nobody watches a kind only because somebody has tried it", func(ctx SpecContext) {
	p := newPlace(ctx, enforce)
	p.object(ctx, unwatched, "m", func(o *unstructured.Unstructured) {
		o.SetLabels(map[string]string{clusterv1.ClusterNameLabel: "red"})
	})
	Expect(admin.tries(ctx, p.machine("m").With(infra(unwatched, "m")).Build())).To(denyFor("spec.infrastructureRef.name R6"))
	resource, _, _ := strings.Cut(contract.CRDName(unwatched.Group, unwatched.Kind), ".")
	requests, err := env.Requests(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(requests.From(controllers.UserAgent).Where(func(r environment.Request) bool { return r.Resource == resource }).Counts()).
		To(Equal(map[string]int{"get " + resource: 1}))
})

var _ = It("While the webhook server is down Machines are created", func(ctx SpecContext) {
	register("down")
	p := newNamespace(ctx, "down")
	Consistently(func() answer { return admin.tries(ctx, p.machine("m").With(infra(noContract, "m")).Build()) }).WithContext(ctx).Should(saySilently())
	Expect(failedOpen(ctx, "references.machine.cluster.x-k8s.io")).To(BeNumerically(">", 0), "the API server has tried")
})

var _ = It("A replica that does not lead judges, too", func(ctx SpecContext) {
	p := newNamespace(ctx, "standby")
	Expect(k8s.Create(ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "controller-leader-election-machinist"},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new("somebody else"), LeaseDurationSeconds: new(int32(3600)),
			AcquireTime: new(metav1.NowMicro()), RenewTime: new(metav1.NowMicro()),
		},
	})).To(Succeed())
	options := manager.Options()
	options.LeaderElect, options.LeaderElectNamespace = true, p.namespace
	options.LeaderElectLeaseDuration = time.Hour
	mgr := manager.Start(managerConfig(), options)
	serve(ctx, mgr, references.Enforce, "standby")
	p = newPlace(ctx, "standby")
	p.stored(ctx, p.machine("first").With(infra(simulator.SimMachine, "m")).Build(), nil)
	Expect(admin.tries(ctx, p.machine("m").Build())).To(denyFor("spec.infrastructureRef.name R8"))
	Expect(mgr.Elected()).NotTo(BeClosed())
})

var _ = It("A replica whose caches are not filled lets Machines pass, and says so", func(ctx SpecContext) {
	mgr, err := controllers.NewManager(managerConfig(), manager.Options())
	Expect(err).NotTo(HaveOccurred())
	p := newNamespace(ctx, "starting")
	server := listen(mgr, references.Warn, "starting")
	serving, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Start(serving) }()
	DeferCleanup(func() {
		stop()
		Eventually(ended).Should(Receive(BeNil()))
	})
	before := verdicts("R15", "error")
	Eventually(func() answer { return admin.tries(ctx, p.machine("m").Build()) }).WithContext(ctx).Should(warnAbout(
		"spec.infrastructureRef could not be checked: the manager has just started",
		"spec.bootstrap.configRef could not be checked: the manager has just started",
		"spec.clusterName could not be checked: the manager has just started"))
	Expect(verdicts("R15", "error")).To(BeNumerically(">", before))
})

// "A second Machine that claims an InfraMachine says so and does not get it" in test/integration shows what the controller
// does with one that comes later; here both pass admission, or one is denied, as it happens.
var _ = It("Of Machines that claim an InfraMachine at the same moment one gets it, and each other that was let pass says so", func(ctx SpecContext) {
	p := newPlace(ctx, enforce, unpaused)
	p.object(ctx, simulator.SimMachine, "shared")
	names := []string{"a", "b", "c", "d"}
	users, answers := make([]*user, len(names)), make([]answer, len(names))
	for i := range names {
		users[i] = newUser(rest.ImpersonationConfig{})
	}
	var together sync.WaitGroup
	for i, name := range names {
		together.Go(func() {
			defer GinkgoRecover()
			answers[i] = users[i].creates(ctx, p.machine(name).With(infra(simulator.SimMachine, "shared")).WithoutBootstrapRef().WithDataSecretName("data").Build())
		})
	}
	together.Wait()
	var created []string
	for i, a := range answers {
		if a.Err == nil {
			created = append(created, names[i])
			continue
		}
		Expect(a).To(SatisfyAny(denyFor("spec.infrastructureRef.name R8"), denyFor("spec.infrastructureRef.name R7"),
			denyFor("spec.infrastructureRef.name R7", "spec.infrastructureRef.name R8")))
	}
	Expect(created).NotTo(BeEmpty())
	owner := ""
	Eventually(func(g Gomega) {
		owner = p.ownerOf(ctx, g, "shared")
		g.Expect(created).To(ContainElement(owner))
	}).WithContext(ctx).Should(Succeed())
	for _, name := range created {
		if name == owner {
			continue
		}
		Eventually(p.get(ctx, name)).WithContext(ctx).Should(HaveField("Status.Conditions", ContainElement(SatisfyAll(
			HaveField("Type", clusterv1.MachineInfrastructureReadyCondition), HaveField("Reason", "AlreadyOwned"),
			HaveField("Message", ContainSubstring("is already controlled by Machine "+owner))))))
	}
})

// ownerOf is the name of the controller of a SimMachine.
func (p place) ownerOf(ctx context.Context, g Gomega, name string) string {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(simulator.SimMachine.WithVersion(simulator.NewAPIVersion))
	g.Expect(k8s.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: name}, o)).To(Succeed())
	if owner := metav1.GetControllerOfNoCopy(o); owner != nil {
		return owner.Name
	}
	return ""
}
