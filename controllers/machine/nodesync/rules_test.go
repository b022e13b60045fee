// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package nodesync

import (
	"maps"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

var _ = DescribeTable("Labels that a Node gets", func(key string, expressions []string, copied bool) {
	rules, err := NewRules(expressions, nil, false)
	Expect(err).NotTo(HaveOccurred())
	want := rules.Want(newMachine(withLabels(kv{key: "v"})))
	if copied {
		Expect(want.labels).To(Equal(kv{key: "v"}))
	} else {
		Expect(want.labels).To(BeEmpty())
	}
},
	Entry("a role", role, nil, true),
	Entry("no subdomain of roles", "sub.node-role.kubernetes.io/worker", nil, false),
	Entry("the domain as a key", "node-role.kubernetes.io", nil, true),
	Entry("the restricted domain", restricted, nil, true),
	Entry("a restricted subdomain", "eu.node-restriction.kubernetes.io/team", nil, true),
	Entry("a domain that only ends alike", "my-node-restriction.kubernetes.io/team", nil, false),
	Entry("the managed domain", managed, nil, true),
	Entry("a managed subdomain", "sub.node.cluster.x-k8s.io/pool", nil, true),
	Entry("a domain that only ends alike", "supernode.cluster.x-k8s.io/pool", nil, false),
	Entry("the managed domain as a name", "example.org/node.cluster.x-k8s.io", nil, false),
	Entry("any other", "example.org/size", nil, false),
	Entry("one of Cluster API", clusterv1.ClusterNameLabel, nil, false),
	Entry("what an expression matches somewhere", "example.org/size", []string{"^x$", "ple.org/"}, true),
	Entry("not what no expression matches", "example.com/size", []string{"ple.org/"}, false),
	Entry("anything by an expression that matches all", clusterv1.ClusterNameLabel, []string{".*"}, true),
)

var origins = kv{
	"cluster.x-k8s.io/cluster-name": "c", "cluster.x-k8s.io/cluster-namespace": "ns", "cluster.x-k8s.io/machine": "m",
}

func and(more ...kv) kv {
	all := kv{}
	for _, m := range append([]kv{origins}, more...) {
		maps.Copy(all, m)
	}
	return all
}

var _ = DescribeTable("Annotations that a Node gets", func(machine *clusterv1.Machine, expressions []string, expected kv) {
	rules, err := NewRules(nil, expressions, false)
	Expect(err).NotTo(HaveOccurred())
	Expect(rules.Want(machine).annotations).To(Equal(expected))
},
	Entry("where it comes from", newMachine(), nil, and()),
	Entry("its owner, if that is a controller", newMachine(controlled), nil,
		and(kv{"cluster.x-k8s.io/owner-kind": "MachineSet", "cluster.x-k8s.io/owner-name": "set"})),
	Entry("those of the managed domain", newMachine(withAnnotations(kv{managed: "a", "sub." + managed: "b", restricted: "c", role: "d", "example.org/x": "e"})), nil,
		and(kv{managed: "a", "sub." + managed: "b"})),
	Entry("those that an expression matches", newMachine(withAnnotations(kv{"example.org/x": "1", "example.com/x": "2"})), []string{"org"},
		and(kv{"example.org/x": "1"})),
	Entry("never one of the bookkeeping, even if an expression matches all",
		newMachine(withAnnotations(kv{"example.org/x": "1", "cluster.x-k8s.io/machine": "other", "cluster.x-k8s.io/owner-name": "other", "machinist.dev/skip-reference-validation": "all", "cluster.x-k8s.io/labels-from-machine": "kubernetes.io/hostname"})),
		[]string{".*"}, and(kv{"example.org/x": "1"})),
)

var _ = It("Expressions that are none are all named", func() {
	_, err := NewRules([]string{"("}, []string{"ok", "[z-a]"}, false)
	Expect(err).To(MatchError(And(ContainSubstring(`expressions for labels: "(" is no regular expression`), ContainSubstring(`expressions for annotations: "[z-a]" is no regular expression`))))
})
