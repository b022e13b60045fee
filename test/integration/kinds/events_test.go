// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/builder"
	"github.com/machinist-dev/machinist/test/environment"
	"github.com/machinist-dev/machinist/test/environment/suite"
	"github.com/machinist-dev/machinist/test/simulator"
)

// With no resync and one worker, a step that no event wakes is never taken.
var _ = It("Every step from Pending to Running is woken by an event, whatever the order in which providers report", func(ctx SpecContext) {
	const (
		machines = 99
		clusters = 3
		patience = time.Minute
	)
	namespace := suite.Namespace(ctx, env)
	installSimulated()
	sim, err := simulator.Start(ctx, env.Config, simulator.Options{
		Namespaces: []string{namespace}, ControlPlaneInitialized: true, Seed: uint64(GinkgoRandomSeed()), PayloadSize: -1,
		ClusterDelay: time.Second, BootstrapDelay: time.Second, ProvisionDelay: 2 * time.Second, NodeDelay: 2 * time.Second, Jitter: 1,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(sim.Stop)
	before := len(requests(ctx))
	startManager(namespace)

	var objects []client.Object
	for i := range clusters {
		cluster := builder.Cluster(namespace, fmt.Sprintf("c-%d", i)).Build()
		objects = append(objects, cluster)
		objects = append(objects, simulator.Machines(cluster, 0, machines/clusters, simulator.Shape{PayloadSize: -1})...)
	}
	shuffle(objects)
	Expect(simulator.Create(ctx, k8s, 8, objects...)).To(Succeed())
	Eventually(func(g Gomega) map[string]int {
		list := &clusterv1.MachineList{}
		g.Expect(k8s.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
		phases := map[string]int{}
		for _, m := range list.Items {
			phases[m.Status.Phase]++
		}
		return phases
	}).WithContext(ctx).WithTimeout(patience).WithPolling(time.Second).Should(Equal(map[string]int{"Running": machines}))

	secrets := requests(ctx)[before:].Where(func(r environment.Request) bool { return r.Resource == "secrets" })
	Expect(secrets).To(HaveEach(HaveField("Verb", "get")), "Secrets are never listed or watched")
})
