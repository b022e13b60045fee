// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/generated/clientset/versioned"
	"github.com/machinist-dev/machinist/generated/clientset/versioned/fake"
	"github.com/machinist-dev/machinist/test/environment"
	"github.com/machinist-dev/machinist/test/environment/suite"
)

func TestProviderIDIndex(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Example providerid-index")
}

var (
	env    *environment.Environment
	client versioned.Interface
)

var _ = BeforeSuite(func(ctx SpecContext) {
	env = suite.Start(ctx, environment.Options{CRDPaths: []string{"../../config/crd/bases"}, CountRequests: true})
	client = versioned.NewForConfigOrDie(env.ConfigFor("set-up"))
})

var _ = Describe("the index on spec.providerID", func() {
	var namespace string

	BeforeEach(func(ctx SpecContext) {
		namespace = suite.Namespace(ctx, env)
	})

	It("knows every Machine that existed before it started", func(ctx SpecContext) {
		createMachine(ctx, namespace, "one", "sim:///one")
		createMachine(ctx, namespace, "two", "sim:///two")
		createMachine(ctx, namespace, "no-id-yet", "")
		index := startIndex(ctx, env.ConfigFor("index"), namespace)

		// No Eventually: after StartIndex has returned the answers are right.
		Expect(index.Machines("sim:///one")).To(ConsistOf(HaveField("Name", "one")))
		Expect(index.Machines("sim:///two")).To(ConsistOf(HaveField("Name", "two")))
		Expect(index.Machines("sim:///three")).To(BeEmpty())
		Expect(index.Machines("")).To(BeEmpty(), "Machines without a provider ID are not in the index")
	})

	It("follows a Machine that gets, changes and loses its provider ID", func(ctx SpecContext) {
		machines := client.ClusterV1beta2().Machines(namespace)
		index := startIndex(ctx, env.ConfigFor("index"), namespace)

		machine := createMachine(ctx, namespace, "late", "")
		machine.Spec.ProviderID = "sim:///first"
		machine, err := machines.Update(ctx, machine, metav1.UpdateOptions{})
		Expect(err).NotTo(HaveOccurred())
		Eventually(ctx, index.Machines).WithArguments("sim:///first").Should(HaveLen(1))

		machine.Spec.ProviderID = "sim:///second"
		_, err = machines.Update(ctx, machine, metav1.UpdateOptions{})
		Expect(err).NotTo(HaveOccurred())
		Eventually(ctx, index.Machines).WithArguments("sim:///second").Should(HaveLen(1))
		Expect(index.Machines("sim:///first")).To(BeEmpty())

		Expect(machines.Delete(ctx, "late", metav1.DeleteOptions{})).To(Succeed())
		Eventually(ctx, index.Machines).WithArguments("sim:///second").Should(BeEmpty())
	})

	It("returns both Machines that claim one instance", func(ctx SpecContext) {
		createMachine(ctx, namespace, "rightful", "sim:///contested")
		createMachine(ctx, namespace, "copy", "sim:///contested")
		index := startIndex(ctx, env.ConfigFor("index"), namespace)

		Expect(index.Machines("sim:///contested")).To(ConsistOf(HaveField("Name", "rightful"), HaveField("Name", "copy")))
	})

	It("answers without asking the API server", func(ctx SpecContext) {
		createMachine(ctx, namespace, "one", "sim:///one")
		index := startIndex(ctx, env.ConfigFor("counted"), namespace)
		for range 1000 {
			Expect(index.Machines("sim:///one")).To(HaveLen(1))
		}

		requests, err := env.Requests(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(len(requests.From("counted"))).To(BeNumerically("<=", 2), "one list and one watch, or one watch that lists: %v",
			requests.From("counted").Counts())
	})

	It("can be tested without an API server, on the fake clientset", func(ctx SpecContext) {
		index, err := StartIndex(ctx, fake.NewClientset(newMachine(namespace, "fake", "sim:///fake")), namespace)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(index.Stop)
		Expect(index.Machines("sim:///fake")).To(ConsistOf(HaveField("Name", "fake")))
	})

	It("says so when its time is up before the list is complete", func(ctx SpecContext) {
		unreachable := env.ConfigFor("index")
		unreachable.Host = "https://127.0.0.1:1"
		client := versioned.NewForConfigOrDie(unreachable)
		expired, cancel := context.WithCancel(ctx)
		cancel()

		_, err := StartIndex(expired, client, namespace)
		Expect(err).To(MatchError(ContainSubstring("listing Machines")))
		Expect(err).To(MatchError(context.Canceled))
	})
})

var _ = Describe("the command", func() {
	It("prints the Machine of each provider ID", func(ctx SpecContext) {
		namespace := suite.Namespace(ctx, env)
		createMachine(ctx, namespace, "one", "sim:///printed")

		var out bytes.Buffer
		args := []string{"-kubeconfig", env.KubeconfigPath, "-namespace", namespace, "sim:///printed", "sim:///unknown"}
		Expect(run(ctx, args, &out)).To(Succeed())
		Expect(out.String()).To(Equal("sim:///printed\t" + namespace + "/one\t\nsim:///unknown\tno Machine\n"))
	})

	It("asks for a provider ID", func(ctx SpecContext) {
		Expect(run(ctx, nil, &bytes.Buffer{})).To(MatchError(ContainSubstring("name one or more provider IDs")))
	})
})

func startIndex(ctx context.Context, config *rest.Config, namespace string) *Index {
	GinkgoHelper()
	index, err := StartIndex(ctx, versioned.NewForConfigOrDie(config), namespace)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(index.Stop)
	return index
}

func createMachine(ctx context.Context, namespace, name, providerID string) *clusterv1.Machine {
	GinkgoHelper()
	machine, err := client.ClusterV1beta2().Machines(namespace).Create(ctx, newMachine(namespace, name, providerID), metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	return machine
}

func newMachine(namespace, name, providerID string) *clusterv1.Machine {
	return &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: clusterv1.MachineSpec{
			ClusterName: "sim",
			Bootstrap:   clusterv1.Bootstrap{DataSecretName: new("bootstrap-data")},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "SimMachine", Name: name,
			},
			ProviderID: providerID,
		},
	}
}
