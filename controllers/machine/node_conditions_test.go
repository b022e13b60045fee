// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// nodeStored are the Node conditions that the Machine has already.
func nodeStored(conditionStatus metav1.ConditionStatus, reason, message string) fact {
	return stored(about("NodeReady", conditionStatus, reason, message), about("NodeHealthy", conditionStatus, reason, message))
}

// initializedLately is within the grace period.
func initializedLately(s *scope) {
	s.cluster.Status.Conditions[0].LastTransitionTime = ago(time.Minute)
}

func notInitialized(conditionStatus metav1.ConditionStatus) fact {
	return cluster(func(c *clusterv1.Cluster) { c.Status.Conditions[0].Status = conditionStatus })
}

func notProvisioned(c *clusterv1.Cluster) {
	c.Status.Initialization.InfrastructureProvisioned = new(false)
}

// The times of the last successful probe; lastProbe is within the grace period.
var (
	lastProbe = now.Add(-time.Minute).In(time.FixedZone("", 7200))
	never     = time.Time{}
)

var _ = Describe("NodeReady and NodeHealthy", func() {
	const (
		lastProbeText = "Last successful probe at 2026-08-01T11:59:00Z"
		notYetText    = "Remote connection not established yet: connection to the workload cluster is down: no Secret c-kubeconfig"
	)

	DescribeTable("say the same", func(s *scope, conditionStatus metav1.ConditionStatus, reason, message string) {
		Expect(nodeConditions(s, grace)).To(HaveExactElements(
			about("NodeReady", conditionStatus, reason, message), about("NodeHealthy", conditionStatus, reason, message)))
	},
		// Cluster API doesn't get this far without a Cluster.
		Entry("no Cluster", knowing(noCluster), unknown, "InspectionFailed", "Cluster ns/c does not exist: create it, or delete the Machine"),
		Entry("no Cluster, deleting, had a Node", knowing(noCluster, deletingSince(0), nodeRef("n")), no, "NodeDeleted", "Node n has been deleted"),
		Entry("no Cluster, deleting, never had a Node", knowing(noCluster, deletingSince(0)), unknown, "NodeDoesNotExist", "Node does not exist"),

		Entry("Cluster infrastructure not provisioned", knowing(cluster(notProvisioned)),
			unknown, "InspectionFailed", "Waiting for Cluster status.initialization.infrastructureProvisioned to be true"),
		Entry("Cluster infrastructure not reported on", knowing(cluster(func(c *clusterv1.Cluster) { c.Status = clusterv1.ClusterStatus{} })),
			unknown, "InspectionFailed", "Waiting for Cluster status.initialization.infrastructureProvisioned to be true"),
		Entry("and it outweighs what is known of a Node, as well as a deletion", having(cluster(notProvisioned), deletingSince(0)),
			unknown, "InspectionFailed", "Waiting for Cluster status.initialization.infrastructureProvisioned to be true"),
		Entry("control plane not initialized", knowing(notInitialized(no)), unknown, "InspectionFailed", "Waiting for Cluster control plane to be initialized"),
		Entry("control plane not known to be initialized", knowing(notInitialized(unknown)), unknown, "InspectionFailed", "Waiting for Cluster control plane to be initialized"),
		Entry("control plane not reported on", knowing(cluster(func(c *clusterv1.Cluster) { c.Status.Conditions = nil })),
			unknown, "InspectionFailed", "Waiting for Cluster control plane to be initialized"),

		Entry("never connected, few failures, nothing known", knowing(probed(never, 0)), unknown, "ConnectionDown", "Remote connection not established yet"),
		Entry("never connected, few failures, only one condition known",
			knowing(probed(never, 4), nodeRef("n"), stored(about("NodeReady", yes, "NodeReady", ""))), unknown, "ConnectionDown", "Remote connection not established yet"),
		Entry("on purpose unlike Cluster API: with the cause", knowing(probed(never, 4), nodeError(errNotConnected)), unknown, "ConnectionDown", notYetText),
		Entry("on purpose unlike Cluster API: what was waited for before is no knowledge about a Node, and is replaced",
			knowing(probed(never, 0), nodeError(errNotConnected), nodeStored(unknown, "InspectionFailed", "Waiting for Cluster control plane to be initialized")),
			unknown, "ConnectionDown", notYetText),
		// Cluster API has no message at all then.
		Entry("on purpose unlike Cluster API: never connected, many failures: still the cause, so that the text stays the same",
			knowing(probed(never, 5), nodeError(errNotConnected)), unknown, "ConnectionDown", notYetText),
		Entry("never connected, many failures: what is known of the Node is overwritten",
			having(probed(never, 5), nodeError(errNotConnected), nodeStored(yes, "NodeHealthy", "")), unknown, "ConnectionDown", notYetText),

		Entry("not connected within the grace period, nothing known", knowing(probed(lastProbe, 2), nodeError(errNotConnected)), unknown, "ConnectionDown", lastProbeText),
		Entry("not connected within the grace period after the initialization, never probed", knowing(initializedLately, probed(never, 5), nodeError(errNotConnected)),
			unknown, "ConnectionDown", notYetText),
		Entry("grace period over: what is known of the Node is overwritten, with the time in UTC",
			having(probed(lastProbe.Add(-grace), 9), nodeError(errNotConnected), nodeStored(yes, "NodeHealthy", "")), unknown, "ConnectionDown", "Last successful probe at 2026-08-01T11:54:00Z"),
		Entry("grace period over, although still connected", having(probed(lastProbe.Add(-grace), 4)), unknown, "ConnectionDown", "Last successful probe at 2026-08-01T11:54:00Z"),
		// Cluster API says "Please check controller logs for errors".
		Entry("on purpose unlike Cluster API: another error is shown", having(nodeError(errors.New("two Nodes have the providerID sim:///1")), nodeStored(yes, "NodeHealthy", "")),
			unknown, "InternalError", "two Nodes have the providerID sim:///1"),

		Entry("deleting, had a Node", knowing(deletingSince(0), nodeRef("n"), providerID("sim:///1")), no, "NodeDeleted", "Node n has been deleted"),
		Entry("deleting, never had a Node", knowing(deletingSince(0), providerID("sim:///1")), unknown, "NodeDoesNotExist", "Node does not exist"),
		Entry("running, Node gone", knowing(nodeRef("n"), providerID("sim:///1")), no, "NodeDeleted", "Node n has been deleted while the Machine still exists"),
		// Cluster API says that the Node was deleted.
		Entry("on purpose unlike Cluster API: running, had a Node, provider ID gone: nobody has looked for the Node", knowing(nodeRef("n")),
			unknown, "InspectionFailed", "Waiting for SimMachine to report spec.providerID"),
		Entry("on purpose unlike Cluster API: no Node yet but one without a provider ID", knowing(providerID("sim:///1"), func(s *scope) { s.node.lacksProviderID = true }),
			unknown, "InspectionFailed", "Waiting for a Node with spec.providerID sim:///1 to exist; Node m has no spec.providerID: kubelet or cloud provider has to set it"),
		Entry("no Node yet", knowing(providerID("sim:///1")), unknown, "InspectionFailed", "Waiting for a Node with spec.providerID sim:///1 to exist"),
		Entry("no provider ID yet", knowing(), unknown, "InspectionFailed", "Waiting for SimMachine to report spec.providerID"),
	)

	DescribeTable("stay as they are", func(s *scope) {
		Expect(nodeConditions(s, grace)).To(BeEmpty())
	},
		Entry("never connected since the start of the manager, few failures", having(probed(never, 4), nodeError(errNotConnected), nodeStored(yes, "NodeHealthy", ""))),
		Entry("the same, and the connection was down before: since when stays known",
			having(probed(never, 0), nodeError(errNotConnected), nodeStored(unknown, "ConnectionDown", "Last successful probe at 2026-07-31T00:00:00Z"))),
		Entry("the same, and it is not known who the Node is", knowing(probed(never, 0), nodeStored(no, "NodeDeleted", ""))),
		Entry("not connected within the grace period", having(probed(now.Add(-grace+time.Second), 3), nodeError(errNotConnected), nodeStored(no, "NodeNotHealthy", "sick"))),
		Entry("not connected within the grace period after the initialization", having(initializedLately, probed(never, 7), nodeError(errNotConnected), nodeStored(yes, "NodeHealthy", ""))),
	)

	DescribeTable("come from the Node", func(s *scope, ready, healthy metav1.Condition) {
		ready.LastTransitionTime = ago(time.Minute)
		Expect(nodeConditions(s, grace)).To(HaveExactElements(ready, healthy))
	},
		Entry("healthy", having(), about("NodeReady", yes, "NodeReady", ""), about("NodeHealthy", yes, "NodeHealthy", "")),
		Entry("not ready", having(nodeIs(nodeReadyIs(corev1.ConditionFalse, "no CNI"))),
			about("NodeReady", no, "NodeNotReady", "* Node.Ready: no CNI"), about("NodeHealthy", no, "NodeNotHealthy", "* Node.Ready: no CNI")),
		Entry("while the Machine is being deleted", having(deletingSince(time.Hour)), about("NodeReady", yes, "NodeReady", ""), about("NodeHealthy", yes, "NodeHealthy", "")),
		Entry("just within the grace period", having(probed(now.Add(-grace), 1)), about("NodeReady", yes, "NodeReady", ""), about("NodeHealthy", yes, "NodeHealthy", "")),
		Entry("probes fail, but the control plane was initialized a moment ago", having(probed(now.Add(-time.Hour), 1), initializedLately),
			about("NodeReady", yes, "NodeReady", ""), about("NodeHealthy", yes, "NodeHealthy", "")),
	)
})
