// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	simulator "github.com/machinist-dev/machinist/test/simulator/workload"
)

func TestStopClosesConnections(t *testing.T) {
	g := NewWithT(t)
	server, err := simulator.Start(simulator.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { g.Expect(server.Close()).To(Succeed()) }()
	key := types.NamespacedName{Namespace: "default", Name: "one"}
	cluster, err := server.AddCluster(key)
	g.Expect(err).NotTo(HaveOccurred())

	clusters := NewClusters(Options{Secrets: kubeconfigs{cluster: cluster}, QPS: 20, Burst: 30, UserAgent: "test"})
	session, err := (&connection{clusters: clusters, cluster: key}).connect(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(cluster.Connections()).To(Equal(1), "all clients share one")
	session.stop()
	g.Eventually(cluster.Connections).Should(BeZero())
}
