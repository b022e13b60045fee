// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator_test

import (
	"encoding/json"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/apis/contract"
	"github.com/machinist-dev/machinist/generated/facade"
	"github.com/machinist-dev/machinist/test/simulator"
	"github.com/machinist-dev/machinist/test/simulator/workload"
)

const (
	controlPlane0 = "blue-control-plane-0"
	worker0       = "blue-worker-0"
)

var _ = Describe("Simulator", func() {
	It("takes control plane and workers to Nodes", func(ctx SpecContext) {
		w := newWorld(ctx, simulator.Options{})
		w.create(ctx, 1, 2, simulator.Shape{})

		By("the Nodes are there, and carry the provider IDs of their servers")
		var cluster *workload.Cluster
		Eventually(func() bool {
			var found bool
			cluster, found = w.simulator.Workload().Cluster(w.key("blue"))
			return found
		}).Should(BeTrue())
		for _, name := range []string{controlPlane0, worker0, "blue-worker-1"} {
			node := &corev1.Node{}
			Eventually(func() error { return cluster.Get(types.NamespacedName{Name: name}, node) }).Should(Succeed())
			server, err := w.object(ctx, simulator.SimMachine, name)()
			Expect(err).NotTo(HaveOccurred())
			Expect(server).To(field(node.Spec.ProviderID, "spec", "providerID"))
			Expect(server).To(field(true, "status", "initialization", "provisioned"))
			Expect(server.GetFinalizers()).To(HaveLen(1))
		}

		By("control plane Nodes have the role, workers are not initialized yet")
		node := &corev1.Node{}
		Expect(cluster.Get(types.NamespacedName{Name: controlPlane0}, node)).To(Succeed())
		Expect(node.Labels).To(HaveKey("node-role.kubernetes.io/control-plane"))
		Expect(cluster.Get(types.NamespacedName{Name: worker0}, node)).To(Succeed())
		Expect(node.Spec.Taints).To(ConsistOf(HaveField("Key", "node.cluster.x-k8s.io/uninitialized")))

		By("the bootstrap data is in a Secret that belongs to its config")
		secret := &corev1.Secret{}
		Expect(k8sClient.Get(ctx, w.key(worker0), secret)).To(Succeed())
		Expect(secret.Type).To(Equal(clusterv1.ClusterSecretType))
		Expect(secret.Labels).To(HaveKeyWithValue(clusterv1.ClusterNameLabel, "blue"))
		Expect(secret.Data).To(HaveKeyWithValue("value", Not(BeEmpty())))
		Expect(metav1.GetControllerOf(secret)).To(HaveField("Kind", "SimConfig"))

		By("the Cluster is provisioned and initialized")
		got := &clusterv1.Cluster{}
		Eventually(func() bool {
			Expect(k8sClient.Get(ctx, w.key("blue"), got)).To(Succeed())
			return apimeta.IsStatusConditionTrue(got.Status.Conditions, clusterv1.ClusterControlPlaneInitializedCondition)
		}).Should(BeTrue())
		Expect(got.Status.Initialization.InfrastructureProvisioned).To(HaveValue(BeTrue()))
		Expect(got.Spec.ControlPlaneEndpoint.IsValid()).To(BeTrue())
		Expect(got.Status.Phase).To(Equal("Provisioned"))

		By("the kubeconfig works")
		Expect(k8sClient.Get(ctx, w.key("blue-kubeconfig"), secret)).To(Succeed())
		config, err := clientcmd.RESTConfigFromKubeConfig(secret.Data["value"])
		Expect(err).NotTo(HaveOccurred())
		workloadClient, err := client.New(config, client.Options{})
		Expect(err).NotTo(HaveOccurred())
		var nodes corev1.NodeList
		Expect(workloadClient.List(ctx, &nodes)).To(Succeed())
		Expect(nodes.Items).To(HaveLen(3))
	})

	It("leaves the status of a Cluster to others when asked", func(ctx SpecContext) {
		w := newWorld(ctx, simulator.Options{NoClusterStatus: true})
		w.create(ctx, 1, 0, simulator.Shape{})
		Eventually(func() error { return k8sClient.Get(ctx, w.key("blue-kubeconfig"), &corev1.Secret{}) }).Should(Succeed())
		cluster := &clusterv1.Cluster{}
		Consistently(func() clusterv1.ClusterStatus {
			Expect(k8sClient.Get(ctx, w.key("blue"), cluster)).To(Succeed())
			return cluster.Status
		}).WithTimeout(time.Second).Should(BeZero())
		Expect(cluster.Spec.ControlPlaneEndpoint.IsValid()).To(BeTrue())
	})

	It("makes objects of a realistic size", func(ctx SpecContext) {
		w := newWorld(ctx, simulator.Options{ControlPlaneInitialized: true})
		w.create(ctx, 0, 1, simulator.Shape{})
		size := func(obj any, err error) (int, error) {
			encoded, _ := json.Marshal(obj)
			return len(encoded), err
		}
		for _, kind := range []schema.GroupKind{simulator.SimConfig, simulator.SimMachine} {
			Eventually(func() (int, error) { return size(w.object(ctx, kind, worker0)()) }).
				Should(BeNumerically("~", simulator.DefaultPayloadSize+1500, 1500), kind.Kind)
		}
		Eventually(func() (int, error) {
			node := &corev1.Node{}
			cluster, found := w.simulator.Workload().Cluster(w.key("blue"))
			if !found {
				return 0, nil
			}
			return size(node, cluster.Get(types.NamespacedName{Name: worker0}, node))
		}).Should(BeNumerically("~", 8000, 500))
	})

	It("beats the hearts of objects and Nodes", func(ctx SpecContext) {
		w := newWorld(ctx, simulator.Options{
			ControlPlaneInitialized: true, HeartbeatInterval: 100 * time.Millisecond, NodeHeartbeatInterval: 100 * time.Millisecond,
		})
		w.create(ctx, 0, 1, simulator.Shape{})
		Eventually(w.object(ctx, simulator.SimMachine, worker0)).Should(field(true, "status", "ready"))
		heartbeat := func() (string, error) {
			obj, err := w.object(ctx, simulator.SimMachine, worker0)()
			beat, _, _ := unstructured.NestedString(obj.Object, "status", "heartbeat")
			return beat, err
		}
		first, err := heartbeat()
		Expect(err).NotTo(HaveOccurred())
		Eventually(heartbeat).ShouldNot(Equal(first))

		cluster, _ := w.simulator.Workload().Cluster(w.key("blue"))
		nodeVersion := func() (string, error) {
			node := &corev1.Node{}
			err := cluster.Get(types.NamespacedName{Name: worker0}, node)
			return node.ResourceVersion, err
		}
		version, err := nodeVersion()
		Expect(err).NotTo(HaveOccurred())
		Eventually(nodeVersion).ShouldNot(Equal(version))
	})

	It("keeps the contract, whatever the contract versions", func(ctx SpecContext) {
		w := newWorld(ctx, simulator.Options{Quiet: true, ControlPlaneInitialized: true})
		w.create(ctx, 0, 1, simulator.Shape{})
		Eventually(w.object(ctx, simulator.SimMachine, worker0)).Should(field(true, "status", "initialization", "provisioned"))
		for _, version := range contract.Versions() {
			obj, err := w.object(ctx, simulator.SimMachine, worker0)()
			Expect(err).NotTo(HaveOccurred())
			server, err := facade.WrapInfraMachine(obj, version)
			Expect(err).NotTo(HaveOccurred())
			Expect(server.Provisioned()).To(BeTrue())
			Expect(server.Findings()).To(BeEmpty())
			addresses, found := server.Addresses()
			Expect(found).To(BeTrue())
			Expect(addresses).To(ContainElement(HaveField("Type", "InternalIP")))
			conditions, found := server.Conditions()
			Expect(found).To(BeTrue())
			Expect(conditions).To(ContainElement(And(HaveField("Type", "Ready"), HaveField("Status", "True"))))

			obj, err = w.object(ctx, simulator.SimConfig, worker0)()
			Expect(err).NotTo(HaveOccurred())
			config, err := facade.WrapBootstrapConfig(obj, version)
			Expect(err).NotTo(HaveOccurred())
			Expect(config.DataSecretCreated()).To(BeTrue())
		}
	})

	It("says what it waits for", func(ctx SpecContext) {
		w := newWorld(ctx, simulator.Options{})
		w.create(ctx, 0, 1, simulator.Shape{})
		ready := func(reason string) OmegaMatcher {
			return WithTransform(func(obj *unstructured.Unstructured) any {
				conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
				return conditions
			}, ContainElement(And(HaveKeyWithValue("type", "Ready"), HaveKeyWithValue("reason", reason))))
		}
		Eventually(w.object(ctx, simulator.SimConfig, worker0)).Should(ready("WaitingForControlPlaneInitialized"))
		Eventually(w.object(ctx, simulator.SimMachine, worker0)).Should(ready("WaitingForBootstrapData"))
	})

	It("waits while it is paused", func(ctx SpecContext) {
		w := newWorld(ctx, simulator.Options{ControlPlaneInitialized: true})
		w.create(ctx, 0, 1, simulator.Shape{Annotations: map[string]string{clusterv1.PausedAnnotation: ""}})
		unpause := []byte(`{"metadata":{"annotations":{"cluster.x-k8s.io/paused":null}}}`)
		obj, err := w.object(ctx, simulator.SimConfig, worker0)()
		Expect(err).NotTo(HaveOccurred())
		Consistently(w.object(ctx, simulator.SimConfig, worker0)).WithTimeout(300 * time.Millisecond).Should(field(nil, "status"))
		Expect(k8sClient.Patch(ctx, obj, client.RawPatch(types.MergePatchType, unpause))).To(Succeed())
		Eventually(w.object(ctx, simulator.SimConfig, worker0)).Should(field(worker0, "status", "dataSecretName"))
	})

	It("takes its time", func(ctx SpecContext) {
		const delay = 400 * time.Millisecond
		w := newWorld(ctx, simulator.Options{
			ControlPlaneInitialized: true, BootstrapDelay: delay, ProvisionDelay: delay, NodeDelay: delay, DeletionDelay: time.Hour,
		})
		begin := time.Now()
		w.create(ctx, 0, 1, simulator.Shape{Annotations: map[string]string{simulator.DeletionDelayAnnotation: delay.String()}})
		Eventually(func() (int, error) {
			cluster, found := w.simulator.Workload().Cluster(w.key("blue"))
			if !found {
				return 0, nil
			}
			return cluster.Count(&corev1.Node{})
		}).Should(Equal(1))
		Expect(time.Since(begin)).To(BeNumerically(">=", 3*delay))

		begin = time.Now()
		Expect(k8sClient.Delete(ctx, &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: worker0}})).To(Succeed())
		Eventually(func() error { return k8sClient.Get(ctx, w.key(worker0), &clusterv1.Machine{}) }).
			Should(MatchError(apierrors.IsNotFound, "NotFound"))
		Expect(time.Since(begin)).To(BeNumerically(">=", delay))
	})

	It("deletes a Cluster with its Machines, and the workload cluster", func(ctx SpecContext) {
		w := newWorld(ctx, simulator.Options{})
		w.create(ctx, 1, 1, simulator.Shape{})
		Eventually(w.object(ctx, simulator.SimMachine, worker0)).Should(field(true, "status", "ready"))
		Expect(k8sClient.Delete(ctx, w.cluster)).To(Succeed())
		Eventually(func() error { return k8sClient.Get(ctx, w.key("blue"), w.cluster) }).Should(MatchError(apierrors.IsNotFound, "NotFound"))
		var machines clusterv1.MachineList
		Expect(k8sClient.List(ctx, &machines, client.InNamespace(w.namespace))).To(Succeed())
		Expect(machines.Items).To(BeEmpty())
		Eventually(func() bool { _, found := w.simulator.Workload().Cluster(w.key("blue")); return found }).Should(BeFalse())
	})

	It("goes on where another simulator stopped", func(ctx SpecContext) {
		w := newWorld(ctx, simulator.Options{ControlPlaneInitialized: true, ProvisionDelay: time.Millisecond})
		w.create(ctx, 0, 1, simulator.Shape{})
		Eventually(w.object(ctx, simulator.SimMachine, worker0)).Should(field(true, "status", "ready"))
		before, err := w.object(ctx, simulator.SimMachine, worker0)()
		Expect(err).NotTo(HaveOccurred())
		Expect(w.simulator.Stop()).To(Succeed())

		second, err := simulator.Start(ctx, env.Config, simulator.Options{
			Namespaces: []string{w.namespace}, ControlPlaneInitialized: true, ProvisionDelay: time.Hour,
		})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(second.Stop)
		node := &corev1.Node{}
		Eventually(func() error {
			cluster, found := second.Workload().Cluster(w.key("blue"))
			if !found {
				return apierrors.NewNotFound(clusterv1.Resource("clusters"), "blue")
			}
			return cluster.Get(types.NamespacedName{Name: worker0}, node)
		}).Should(Succeed())
		after, err := w.object(ctx, simulator.SimMachine, worker0)()
		Expect(err).NotTo(HaveOccurred())
		Expect(after.GetResourceVersion()).To(Equal(before.GetResourceVersion()))
		Expect(after).To(field(node.Spec.ProviderID, "spec", "providerID"))
	})

	It("doesn't start without the CRDs of its kinds", func(ctx SpecContext) {
		_, err := simulator.Start(ctx, env.Config, simulator.Options{InfraMachines: []schema.GroupKind{{Group: "example.org", Kind: "Missing"}}})
		Expect(err).To(MatchError(ContainSubstring("provide Missing.example.org at v1beta1: is its CRD installed?")))
	})

	It("keeps a finalizer for ever when it is asked to", func(ctx SpecContext) {
		w := newWorld(ctx, simulator.Options{ControlPlaneInitialized: true})
		w.create(ctx, 0, 1, simulator.Shape{Annotations: map[string]string{simulator.FaultAnnotation: string(simulator.NeverDeletes)}})
		Eventually(w.object(ctx, simulator.SimMachine, worker0)).Should(field(true, "status", "ready"))
		server, err := w.object(ctx, simulator.SimMachine, worker0)()
		Expect(err).NotTo(HaveOccurred())
		Expect(k8sClient.Delete(ctx, server)).To(Succeed())
		Consistently(w.object(ctx, simulator.SimMachine, worker0)).WithTimeout(500 * time.Millisecond).
			Should(HaveField("GetFinalizers()", HaveLen(1)))
	})

	It("writes new credentials when asked", func(ctx SpecContext) {
		w := newWorld(ctx, simulator.Options{})
		secret := &corev1.Secret{}
		Eventually(func() error { return k8sClient.Get(ctx, w.key("blue-kubeconfig"), secret) }).Should(Succeed())
		former := secret.Data["value"]
		cluster, _ := w.simulator.Workload().Cluster(w.key("blue"))
		cluster.RotateToken()
		Expect(w.simulator.ApplyKubeconfig(ctx, w.key("blue"))).To(Succeed())
		Expect(k8sClient.Get(ctx, w.key("blue-kubeconfig"), secret)).To(Succeed())
		Expect(secret.Data["value"]).NotTo(Equal(former))
	})
})
