// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"crypto/x509"
	"encoding/pem"
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/builder"
	"github.com/machinist-dev/machinist/test/simulator"
	"github.com/machinist-dev/machinist/test/simulator/workload"
)

const (
	backupHook = clusterv1.PreDrainDeleteHookAnnotationPrefix + "/backup"
	etcdHook   = clusterv1.PreTerminateDeleteHookAnnotationPrefix + "/etcd"
	volume     = "kubernetes.io/csi/disk.example.com^vol-1"
)

// One life, in order: each spec finds what the one before has left.
var _ = Describe("Machinist alone", Ordered, func() {
	var (
		machinist   *installation
		sim         *simulator.Simulator
		blue, green *fleet
		namespace   string
	)
	// worker is a Machine that is there all the time.
	const worker = "blue-worker-0"

	BeforeAll(func(ctx SpecContext) {
		installProviders(ctx)
		machinist = deploy(ctx, "default")
		namespace = newNamespace(ctx)
		sim = startSimulator(ctx, false)
	}, NodeTimeout(deployTimeout))

	It("is installed by make deploy, which changes nothing the second time", func(ctx SpecContext) {
		before := namesOf(pods(ctx))
		machinist.upgrade(ctx, target.first)
		Expect(namesOf(pods(ctx))).To(Equal(before))
		Expect(restarts(ctx)).To(BeZero(), describePods(ctx))
	}, NodeTimeout(deployTimeout))

	It("refuses a Machine that can't work", func(ctx SpecContext) { eventuallyRefused(ctx, metav1.NamespaceDefault) })

	It("warns of a Machine that refers to a kind that does not exist", func(ctx SpecContext) { expectWarned(ctx) })

	It("brings Machines of two providers to Running", func(ctx SpecContext) {
		blue = createFleet(ctx, sim, namespace, "blue", simMachine, 10)
		green = createFleet(ctx, sim, namespace, "green", metalMachine, 10)
		for _, f := range []*fleet{blue, green} {
			f.eventuallyRunning(ctx, 10)
			f.expectOneNodeEach(ctx)
		}
	}, NodeTimeout(2*eventuallyTimeout))

	It("serves Machines as v1beta1", func(ctx SpecContext) { expectConverted(ctx, blue.key(worker)) })

	It("renews its certificates, and answers meanwhile", func(ctx SpecContext) {
		key := types.NamespacedName{Namespace: system, Name: certificateName}
		secret := &corev1.Secret{}
		Expect(k8s.Get(ctx, key, secret)).To(Succeed())
		before := secret.DeepCopy()
		l := startLoad(blue, worker)
		// Empty means that all of it is to be made anew.
		secret.Data = nil
		Expect(k8s.Update(ctx, secret)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(k8s.Get(ctx, key, secret)).To(Succeed())
			g.Expect(secret.Data["ca.key"]).NotTo(Or(BeEmpty(), Equal(before.Data["ca.key"])), "the authority")
			g.Expect(secret.Data[corev1.TLSCertKey]).NotTo(Or(BeEmpty(), Equal(before.Data[corev1.TLSCertKey])), "the certificate")
			g.Expect(signedByFirst(secret)).To(Succeed())
		}).WithContext(ctx).WithTimeout(rotationTimeout).Should(Succeed())
		l.expectNoFailure()
	}, NodeTimeout(rotationTimeout+eventuallyTimeout))

	It("goes on when its leader is killed, and does nothing twice", func(ctx SpecContext) {
		killed := leader(ctx, Default, leaseName)
		green.create(ctx, "late", 0, 10)
		Expect(k8s.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: killed}},
			client.GracePeriodSeconds(0))).To(Succeed())
		Eventually(func(g Gomega) { g.Expect(leader(ctx, g, leaseName)).NotTo(Equal(killed)) }).WithContext(ctx).Should(Succeed())
		green.eventuallyRunning(ctx, 20)
		green.expectOneNodeEach(ctx)
		machinist.eventuallyReady(ctx, target.first)
	}, NodeTimeout(2*eventuallyTimeout))

	It("is upgraded by make deploy, without a request that fails or a Machine that changes", func(ctx SpecContext) {
		before := []map[string]string{blue.identities(ctx), green.identities(ctx)}
		l := startLoad(blue, worker)
		machinist.upgrade(ctx, target.second)
		Eventually(func(g Gomega) {
			name := leader(ctx, g, leaseName)
			g.Expect(namesOf(pods(ctx))).To(ContainElement(name), "the leader is one of the new pods")
		}).WithContext(ctx).Should(Succeed())
		l.expectNoFailure()
		Expect([]map[string]string{blue.identities(ctx), green.identities(ctx)}).To(Equal(before))
		blue.create(ctx, "after-upgrade", 0, 1)
		blue.eventuallyRunning(ctx, 11)
	}, NodeTimeout(deployTimeout))

	It("drains a Node, with hooks and a volume, before its Machine goes", func(ctx SpecContext) {
		const name = "doomed"
		blue.createOne(ctx, name, func(b builder.MachineBuilder) builder.MachineBuilder {
			return b.WithAnnotation(backupHook, "").WithAnnotation(etcdHook, "")
		})
		blue.eventuallyRunning(ctx, 12)
		web := types.NamespacedName{Namespace: "apps", Name: "web"}
		labels := map[string]string{"app": "web"}
		Expect(blue.workload().RunPod(web, name, func(pod *corev1.Pod) { pod.Labels = labels })).To(Succeed())
		Expect(blue.workload().SetBudget(web, labels, 0)).To(Succeed())
		updateNode := func(change func(*corev1.Node)) {
			Expect(workload.Update(blue.workload(), types.NamespacedName{Name: name}, change)).To(Succeed())
		}
		updateNode(func(node *corev1.Node) { node.Status.VolumesAttached = []corev1.AttachedVolume{{Name: volume}} })

		Expect(k8s.Delete(ctx, builder.Machine(namespace, name).Build())).To(Succeed())
		eventuallyDeleting(ctx, blue.key(name), "WaitingForPreDrainHook", backupHook)
		Expect(blue.annotate(ctx, name, backupHook, nil)).To(Succeed())
		eventuallyDeleting(ctx, blue.key(name), "DrainingNode", "Pod apps/web: cannot evict pod")
		Expect(blue.workload().SetBudget(web, labels, 1)).To(Succeed())
		eventuallyDeleting(ctx, blue.key(name), "WaitingForVolumeDetach", volume)
		updateNode(func(node *corev1.Node) { node.Status.VolumesAttached = nil })
		eventuallyDeleting(ctx, blue.key(name), "WaitingForPreTerminateHook", etcdHook)
		Expect(blue.annotate(ctx, name, etcdHook, nil)).To(Succeed())
		Eventually(func() error { return k8s.Get(ctx, blue.key(name), &clusterv1.Machine{}) }).WithContext(ctx).
			Should(Satisfy(apierrors.IsNotFound))
		Expect(blue.workload().Get(types.NamespacedName{Name: name}, &corev1.Node{})).To(Satisfy(apierrors.IsNotFound))
	}, NodeTimeout(3*eventuallyTimeout))

	It("has asked for nothing that its roles don't allow, and was not restarted", func(ctx SpecContext) {
		Expect(restarts(ctx)).To(BeZero(), describePods(ctx))
		machinist.expectNothingForbidden()
	})

	It("leaves nothing but the users' objects when it is undeployed", func(ctx SpecContext) {
		before := blue.identities(ctx)
		machinist.undeployLeaving(ctx, "Namespace "+namespace)
		Expect(blue.identities(ctx)).To(Equal(before))
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(blue.cluster), &clusterv1.Cluster{})).To(Succeed())
	}, NodeTimeout(deployTimeout))

	It("takes them up again when it comes back, and lets them go when they are deleted", func(ctx SpecContext) {
		machinist.audited = len(audited(0)) // the roles went before the pods did
		machinist.upgrade(ctx, target.second)
		eventuallyRefused(ctx, metav1.NamespaceDefault)
		blue.create(ctx, "after-return", 0, 1)
		blue.eventuallyRunning(ctx, 12)
		blue.delete(ctx)
		green.delete(ctx)
		machinist.expectNothingForbidden()
	}, NodeTimeout(deployTimeout+2*eventuallyTimeout))
})

func namesOf(pods []corev1.Pod) []string {
	var names []string
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	return names
}

// signedByFirst checks that the serving certificate of the Secret is signed by the newest authority of its bundle.
func signedByFirst(secret *corev1.Secret) error {
	authority, err := firstCertificate(secret.Data["ca.crt"])
	if err != nil {
		return err
	}
	serving, err := firstCertificate(secret.Data[corev1.TLSCertKey])
	if err != nil {
		return err
	}
	return serving.CheckSignatureFrom(authority)
}

func firstCertificate(content []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(content)
	if block == nil {
		return nil, errors.New("there is no certificate")
	}
	return x509.ParseCertificate(block.Bytes)
}
