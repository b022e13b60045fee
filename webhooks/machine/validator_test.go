// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/webhooks/machine"
	"github.com/machinist-dev/machinist/webhooks/meter"
)

const (
	noData        = "spec.bootstrap: Required value: expected either spec.bootstrap.dataSecretName or spec.bootstrap.configRef to be populated"
	noSemver      = `spec.version: Invalid value: %q: must be a valid semantic version`
	noPrefix      = `spec.version: Invalid value: %q: must start with v`
	noFeature     = "spec.taints: Forbidden: taints are not allowed to be set when the feature gate MachineTaintPropagation is disabled"
	reservedKey   = `spec.taints[0].key: Invalid value: %q: taint key is not allowed`
	lifecycleKey  = `spec.taints[0].key: Invalid value: %q: taint key must not have the prefix node.kubernetes.io/, except for node.kubernetes.io/out-of-service`
	cloudKey      = `spec.taints[0].key: Invalid value: %q: taint key must not have the prefix node.cloudprovider.kubernetes.io/`
	masterKey     = `spec.taints[0].key: Invalid value: "node-role.kubernetes.io/master": taint is deprecated since 1.24 and should not be used anymore`
	workerKey     = `spec.taints[0].key: Invalid value: "node-role.kubernetes.io/control-plane": taint is not allowed for worker Machines`
	labelKey      = `spec.taints[0].key: Invalid value: %q: name part must be no more than 63 bytes`
	templateKind  = `spec.%s.kind: Invalid value: %q: must not be a template, which never becomes ready, and would be deleted with the Machine though others use it (R3)`
	coreGroup     = `spec.%s.apiGroup: Invalid value: "cluster.x-k8s.io": must be the group of a provider: an object of Cluster API itself would be owned by the Machine, and deleted with it (R12)`
	impossible    = `spec.readinessGates[%d].conditionType: Invalid value: %q: is computed from the gates, so the Machine would never become Ready (R18)`
	clusterLabel  = `spec.clusterName: Invalid value: %q: must be usable as the value of the label cluster.x-k8s.io/cluster-name: `
	outOfService  = "node.kubernetes.io/out-of-service"
	controlPlane  = "node-role.kubernetes.io/control-plane"
	uninitialized = "node.cluster.x-k8s.io/uninitialized"
	outdated      = "node.cluster.x-k8s.io/outdated-revision"
)

func infraKind(group, kind string) change {
	return func(m *clusterv1.Machine) {
		m.Spec.InfrastructureRef.APIGroup, m.Spec.InfrastructureRef.Kind = group, kind
	}
}

func configKind(group, kind string) change {
	return func(m *clusterv1.Machine) {
		m.Spec.Bootstrap.ConfigRef.APIGroup, m.Spec.Bootstrap.ConfigRef.Kind = group, kind
	}
}

func ownedBy(apiVersion, kind string) change {
	return func(m *clusterv1.Machine) {
		m.OwnerReferences = []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: "p", UID: "u"}}
	}
}

func all(changes ...change) change {
	return func(m *clusterv1.Machine) {
		for _, c := range changes {
			c(m)
		}
	}
}

var long = "example.org/" + strings.Repeat("a", 64)

var _ = DescribeTable("A Machine is refused",
	func(ctx SpecContext, violate change, want ...string) {
		matchers := make([]any, 0, len(want))
		for _, text := range want {
			matchers = append(matchers, HavePrefix(text))
		}
		refused := HaveExactElements(matchers...)

		By("creating it")
		_, err := strict.ValidateCreate(ctx, valid.With(violate).Build())
		Expect(causes(err)).To(refused)

		By("changing one that was right")
		_, err = strict.ValidateUpdate(ctx, valid.Build(), valid.With(violate).Build())
		Expect(causes(err)).To(refused)

		By("changing something else of one that is stored")
		for what, other := range map[string]change{
			"nothing":      func(*clusterv1.Machine) {},
			"a label":      label("a", "b"),
			"a finalizer":  func(m *clusterv1.Machine) { m.Finalizers = []string{"example.org/a"} },
			"an owner":     ownedBy("cluster.x-k8s.io/v1beta2", "MachineSet"),
			"the spec":     func(m *clusterv1.Machine) { m.Spec.FailureDomain = "zone-a" },
			"the defaults": func(m *clusterv1.Machine) { Expect(machine.Defaulter{}.Default(ctx, m)).To(Succeed()) },
		} {
			stored := valid.With(violate)
			warnings, err := strict.ValidateUpdate(ctx, stored.Build(), stored.With(other).Build())
			Expect(causes(err)).To(BeEmpty(), what)
			Expect(warnings).To(BeEmpty(), what)
		}

		By("correcting it")
		_, err = strict.ValidateUpdate(ctx, valid.With(violate).Build(), valid.Build())
		Expect(causes(err)).To(BeEmpty())

		By("deleting it")
		_, err = strict.ValidateUpdate(ctx, valid.With(deleting).Build(), valid.With(deleting).With(violate).Build())
		Expect(causes(err)).To(BeEmpty())
		_, err = strict.ValidateDelete(ctx, valid.With(violate).Build())
		Expect(err).NotTo(HaveOccurred())
	},
	Entry("V1: neither configRef nor dataSecretName", noBootstrap, noData),
	Entry("V3: a version without patch", version("v1.37"), fmt.Sprintf(noSemver, "v1.37")),
	Entry("V3: a version with nothing after the +", version("v1.17.2++"), fmt.Sprintf(noSemver, "v1.17.2++")),
	Entry("V3: a version with a leading zero", version("v1.037.2"), fmt.Sprintf(noSemver, "v1.037.2")),
	Entry("V3: a version with two v", version("vv1.37.2"), fmt.Sprintf(noSemver, "vv1.37.2")),
	Entry("V3: a v alone", version("v"), fmt.Sprintf(noSemver, "v")),
	Entry("V3: a version with a space", version("v1.37.2 "), fmt.Sprintf(noSemver, "v1.37.2 ")),
	Entry("V5: a version without v, past the defaulter", version("1.37.2"), fmt.Sprintf(noPrefix, "1.37.2")),
	Entry("V3, V5: words, past the defaulter", version("wrong_version"), fmt.Sprintf(noSemver, "wrong_version"), fmt.Sprintf(noPrefix, "wrong_version")),
	Entry("V7: the taint of Nodes that have just joined", taints(uninitialized), fmt.Sprintf(reservedKey, uninitialized)),
	Entry("V7: the taint of Nodes that are about to be replaced", taints(outdated), fmt.Sprintf(reservedKey, outdated)),
	Entry("V8: a taint of the node lifecycle", taints("node.kubernetes.io/not-ready"), fmt.Sprintf(lifecycleKey, "node.kubernetes.io/not-ready")),
	Entry("V8: a taint that only begins like the one that is allowed", taints(outOfService+"-x"), fmt.Sprintf(lifecycleKey, outOfService+"-x")),
	Entry("V9: a taint of the cloud provider", taints("node.cloudprovider.kubernetes.io/uninitialized"),
		fmt.Sprintf(cloudKey, "node.cloudprovider.kubernetes.io/uninitialized")),
	Entry("V10: the taint of masters", taints("node-role.kubernetes.io/master"), masterKey),
	Entry("V11: a taint whose key is no label key", taints(long), fmt.Sprintf(labelKey, long)),
	Entry("V8, V11: both at once", taints("node.kubernetes.io/"+strings.Repeat("a", 64)),
		fmt.Sprintf(lifecycleKey, "node.kubernetes.io/"+strings.Repeat("a", 64)), fmt.Sprintf(labelKey, "node.kubernetes.io/"+strings.Repeat("a", 64))),
	Entry("V12: a worker with the taint of control planes", taints(controlPlane), workerKey),
	Entry("R3: an infrastructure template", infraKind("infrastructure.cluster.x-k8s.io", "SimMachineTemplate"),
		fmt.Sprintf(templateKind, "infrastructureRef", "SimMachineTemplate")),
	Entry("R3: a bootstrap template", configKind("bootstrap.cluster.x-k8s.io", "SimConfigTemplate"),
		fmt.Sprintf(templateKind, "bootstrap.configRef", "SimConfigTemplate")),
	Entry("R12: a Machine as its own infrastructure", infraKind("cluster.x-k8s.io", "Machine"), fmt.Sprintf(coreGroup, "infrastructureRef")),
	Entry("R12: a Cluster as bootstrap config", configKind("cluster.x-k8s.io", "Cluster"), fmt.Sprintf(coreGroup, "bootstrap.configRef")),
	Entry("R18: a gate of type Ready", gates("Other", "Ready"), fmt.Sprintf(impossible, 1, "Ready")),
	Entry("R18: a gate of type Available", gates("Available"), fmt.Sprintf(impossible, 0, "Available")),
	Entry("everything at once, with all causes",
		all(version("1"), taints("node-role.kubernetes.io/master"), infraKind("cluster.x-k8s.io", "AnyTemplate"), gates("Ready"), noBootstrap),
		noData, fmt.Sprintf(noSemver, "1"), fmt.Sprintf(noPrefix, "1"), masterKey,
		fmt.Sprintf(templateKind, "infrastructureRef", "AnyTemplate"), fmt.Sprintf(coreGroup, "infrastructureRef"), fmt.Sprintf(impossible, 0, "Ready")),
)

var _ = DescribeTable("A Machine is stored",
	func(ctx SpecContext, given change) {
		warnings, err := strict.ValidateCreate(ctx, valid.With(given).Build())
		Expect(causes(err)).To(BeEmpty())
		Expect(warnings).To(BeEmpty())
		warnings, err = strict.ValidateUpdate(ctx, valid.Build(), valid.With(given).Build())
		Expect(causes(err)).To(BeEmpty())
		Expect(warnings).To(BeEmpty())
	},
	Entry("V1: with a configRef", func(*clusterv1.Machine) {}),
	Entry("V1: with a dataSecretName", func(m *clusterv1.Machine) { m.Spec.Bootstrap = clusterv1.Bootstrap{DataSecretName: new("data")} }),
	Entry("V1: with an empty dataSecretName", func(m *clusterv1.Machine) { m.Spec.Bootstrap = clusterv1.Bootstrap{DataSecretName: new("")} }),
	Entry("V1: with both", func(m *clusterv1.Machine) { m.Spec.Bootstrap.DataSecretName = new("data") }),
	Entry("V1: with the label of a pool", all(noBootstrap, label(clusterv1.MachinePoolNameLabel, "pool"))),
	Entry("V1: with the label of a pool, empty", all(noBootstrap, label(clusterv1.MachinePoolNameLabel, ""))),
	Entry("V1: owned by a MachinePool", all(noBootstrap, ownedBy("cluster.x-k8s.io/v1beta2", "MachinePool"))),
	Entry("V1: owned by a MachinePool of another group", all(noBootstrap, ownedBy("example.org/v1", "MachinePool"))),
	Entry("V3: without a version", version("")),
	Entry("V3: of a pre-release", version("v1.38.0-alpha.1")),
	Entry("V3: of a build", version("v1.37.2+build.01")),
	Entry("V3: of a pre-release and a build", version("v1.37.2-rc.0+vendor.7")),
	Entry("V8: with the taint of Nodes out of service", taints(outOfService)),
	Entry("V11: with any other taints", taints("a", "example.org/b", "node-role.kubernetes.io/worker")),
	Entry("V12: of a control plane with its taint", all(label(clusterv1.MachineControlPlaneLabel, ""), taints(controlPlane))),
	Entry("R3: of a kind that holds Template elsewhere", infraKind("infrastructure.cluster.x-k8s.io", "TemplatedMachine")),
	Entry("R12: of a group below that of Cluster API", infraKind("x.cluster.x-k8s.io", "AnyMachine")),
	Entry("R18: with other gates", gates("APIServerHealthy", "MyReady", "ready")),
	Entry("R18a: with a gate that says what holds anyway", func(m *clusterv1.Machine) {
		m.Spec.ReadinessGates = []clusterv1.MachineReadinessGate{
			{ConditionType: "Deleting", Polarity: clusterv1.NegativePolarityCondition}, {ConditionType: "NodeHealthy"},
		}
	}),
)

var _ = Describe("A Machine", func() {
	It("V1: stays as it is when it leaves its pool, but not if its bootstrap data goes at the same time", func(ctx SpecContext) {
		pooled := valid.With(label(clusterv1.MachinePoolNameLabel, "pool"))
		leaves := func(m *clusterv1.Machine) { delete(m.Labels, clusterv1.MachinePoolNameLabel) }
		_, err := strict.ValidateUpdate(ctx, pooled.With(noBootstrap).Build(), pooled.With(all(noBootstrap, leaves)).Build())
		Expect(causes(err)).To(BeEmpty())
		_, err = strict.ValidateUpdate(ctx, pooled.Build(), pooled.With(all(noBootstrap, leaves)).Build())
		Expect(causes(err)).To(ConsistOf(noData))
	})

	It("V2: can't move to another Cluster, even if its own is no name", func(ctx SpecContext) {
		moved := valid.With(func(m *clusterv1.Machine) { m.Spec.ClusterName = "other" })
		_, err := strict.ValidateUpdate(ctx, valid.Build(), moved.Build())
		Expect(causes(err)).To(ConsistOf("spec.clusterName: Forbidden: field is immutable"))
		_, err = strict.ValidateUpdate(ctx, valid.With(deleting).Build(), moved.With(deleting).Build())
		Expect(causes(err)).To(BeEmpty())
	})

	It("M1: is refused if the name of its Cluster can't be a label, unless it is stored", func(ctx SpecContext) {
		named := valid.With(func(m *clusterv1.Machine) { m.Spec.ClusterName = "no-" })
		_, err := strict.ValidateCreate(ctx, named.Build())
		Expect(causes(err)).To(HaveExactElements(HavePrefix(fmt.Sprintf(clusterLabel, "no-"))))
		_, err = strict.ValidateUpdate(ctx, named.Build(), named.With(label("a", "b")).Build())
		Expect(causes(err)).To(BeEmpty())
	})

	It("V3: may keep a version that only the defaulter touches, and no other", func(ctx SpecContext) {
		stored := valid.With(version("latest")).Build()
		_, err := strict.ValidateUpdate(ctx, stored, valid.With(version("vlatest")).Build())
		Expect(causes(err)).To(BeEmpty())
		_, err = strict.ValidateUpdate(ctx, stored, valid.With(version("vnewest")).Build())
		Expect(causes(err)).To(ConsistOf(fmt.Sprintf(noSemver, "vnewest")))
		Expect(stored.Spec.Version).To(Equal("latest"), "what is judged is not changed")
	})

	It("V7–V11: may keep, move and drop taints, but not get another one that is reserved", func(ctx SpecContext) {
		stored := valid.With(taints("a", outdated, uninitialized)).Build()
		for _, kept := range []change{taints(uninitialized, "a", outdated), taints(outdated), taints("b", uninitialized)} {
			_, err := strict.ValidateUpdate(ctx, stored, valid.With(kept).Build())
			Expect(causes(err)).To(BeEmpty())
		}
		_, err := strict.ValidateUpdate(ctx, stored, valid.With(taints("node.kubernetes.io/not-ready", outdated)).Build())
		Expect(causes(err)).To(ConsistOf(fmt.Sprintf(lifecycleKey, "node.kubernetes.io/not-ready")))
	})

	It("V12: may lose the label of control planes and keep its taint", func(ctx SpecContext) {
		m := valid.With(taints(controlPlane))
		_, err := strict.ValidateUpdate(ctx, m.WithControlPlane().Build(), m.Build())
		Expect(causes(err)).To(BeEmpty())
	})
})

func infraName(name string) change {
	return func(m *clusterv1.Machine) { m.Spec.InfrastructureRef.Name = name }
}

func configName(name string) change {
	return func(m *clusterv1.Machine) { m.Spec.Bootstrap.ConfigRef.Name = name }
}

var _ = DescribeTable("A reference that breaks a rule and is stored stays as it is, but gives way to no other that does:",
	func(ctx SpecContext, stored, changed, other change, want string) {
		before := valid.With(stored)
		_, err := strict.ValidateUpdate(ctx, before.Build(), before.With(changed).Build())
		Expect(causes(err)).To(ConsistOf(want))

		By("changing the other reference, and correcting this one")
		_, err = strict.ValidateUpdate(ctx, before.Build(), before.With(other).Build())
		Expect(causes(err)).To(BeEmpty())
		_, err = strict.ValidateUpdate(ctx, before.Build(), valid.Build())
		Expect(causes(err)).To(BeEmpty())
	},
	Entry("R3: another template of the same kind", infraKind("example.org", "AnyTemplate"), infraName("b"), configName("b"),
		fmt.Sprintf(templateKind, "infrastructureRef", "AnyTemplate")),
	Entry("R3: a template of another kind", infraKind("example.org", "AnyTemplate"), infraKind("example.org", "OtherTemplate"), configName("b"),
		fmt.Sprintf(templateKind, "infrastructureRef", "OtherTemplate")),
	Entry("R3: a bootstrap template of the same kind", configKind("example.org", "AnyTemplate"), configName("b"), infraName("b"),
		fmt.Sprintf(templateKind, "bootstrap.configRef", "AnyTemplate")),
	Entry("R12: another Machine", infraKind("cluster.x-k8s.io", "Machine"), infraName("c"), configName("b"), fmt.Sprintf(coreGroup, "infrastructureRef")),
	Entry("R12: a Cluster instead of a Machine", configKind("cluster.x-k8s.io", "Machine"),
		all(configKind("cluster.x-k8s.io", "Cluster"), configName("c")), infraName("b"), fmt.Sprintf(coreGroup, "bootstrap.configRef")),
)

// gateOff judges while the feature of the taints is off.
var gateOff = &machine.Validator{Options: machine.Options{Meter: meter.New()}}

var _ = Describe("Without the feature MachineTaintPropagation", func() {
	It("V6: a Machine gets no taint", func(ctx SpecContext) {
		_, err := gateOff.ValidateCreate(ctx, valid.With(taints("a")).Build())
		Expect(causes(err)).To(ConsistOf(noFeature))
		_, err = gateOff.ValidateUpdate(ctx, valid.Build(), valid.With(taints("a")).Build())
		Expect(causes(err)).To(ConsistOf(noFeature))
		_, err = gateOff.ValidateUpdate(ctx, valid.With(taints("a")).Build(), valid.With(taints("a", "b")).Build())
		Expect(causes(err)).To(ConsistOf(noFeature))
		changed := valid.With(taints("a")).With(func(m *clusterv1.Machine) { m.Spec.Taints[0].Value = "v" })
		_, err = gateOff.ValidateUpdate(ctx, valid.With(taints("a")).Build(), changed.Build())
		Expect(causes(err)).To(ConsistOf(noFeature))
	})

	It("V6: a Machine may keep what it has, or part of it", func(ctx SpecContext) {
		stored := valid.With(taints("a", "b")).Build()
		for _, kept := range []change{taints("a", "b"), all(taints("a", "b"), label("x", "y")), taints("b", "a"), taints("b"), taints()} {
			_, err := gateOff.ValidateUpdate(ctx, stored, valid.With(kept).Build())
			Expect(causes(err)).To(BeEmpty())
		}
		_, err := gateOff.ValidateUpdate(ctx, valid.With(deleting).Build(), valid.With(all(deleting, taints("a"))).Build())
		Expect(causes(err)).To(BeEmpty())
	})

	It("V7–V11: the keys are judged all the same, V12 is not", func(ctx SpecContext) {
		_, err := gateOff.ValidateCreate(ctx, valid.With(taints("node-role.kubernetes.io/master")).Build())
		Expect(causes(err)).To(ConsistOf(noFeature, masterKey))
		_, err = gateOff.ValidateCreate(ctx, valid.With(taints(controlPlane)).Build())
		Expect(causes(err)).To(ConsistOf(noFeature))
	})
})

// contrary are the polarities that the conditions which count anyway do not have.
var contrary = map[string]clusterv1.ConditionPolarity{
	"Deleting": "", "Updating": "Positive", "BootstrapConfigReady": "Negative", "InfrastructureReady": "Negative",
	"NodeHealthy": "Negative", "HealthCheckSucceeded": "Negative",
}

func contradicts(conditionType string) change {
	return func(m *clusterv1.Machine) {
		gates(conditionType)(m)
		m.Spec.ReadinessGates[0].Polarity = contrary[conditionType]
	}
}

var _ = Describe("A readiness gate that contradicts what Ready takes into account anyway", func() {
	It("R18a: is warned about when it is new", func(ctx SpecContext) {
		for conditionType := range contrary {
			m := valid.With(contradicts(conditionType))
			warnings, err := strict.ValidateCreate(ctx, m.Build())
			Expect(err).NotTo(HaveOccurred())
			Expect(warnings).To(HaveExactElements(HavePrefix("spec.readinessGates[0].polarity: " + conditionType + " is ")))
			Expect(len(warnings[0])).To(BeNumerically("<=", 120-1), "room for an index of two digits")

			warnings, err = strict.ValidateUpdate(ctx, valid.Build(), m.Build())
			Expect(err).NotTo(HaveOccurred())
			Expect(warnings).To(HaveLen(1))
			warnings, err = strict.ValidateUpdate(ctx, m.Build(), m.With(label("a", "b")).Build())
			Expect(err).NotTo(HaveOccurred())
			Expect(warnings).To(BeEmpty(), "it is stored")
			warnings, err = strict.ValidateUpdate(ctx, valid.With(deleting).Build(), m.With(deleting).Build())
			Expect(err).NotTo(HaveOccurred())
			Expect(warnings).To(BeEmpty(), "the Machine is being deleted")
			warnings, err = strict.ValidateCreate(ctx, m.With(skip("R18a")).Build())
			Expect(err).NotTo(HaveOccurred())
			Expect(warnings).To(BeEmpty(), "the annotation asks for it")
		}
	})

	It("R18a: is warned about also if the Machine is refused for something else", func(ctx SpecContext) {
		warnings, err := strict.ValidateCreate(ctx, valid.With(all(contradicts("Deleting"), noBootstrap)).Build())
		Expect(causes(err)).To(ConsistOf(noData))
		Expect(warnings).To(HaveLen(1))
	})
})

// What breaks the rules that Cluster API does not have, and what is said about each.
var (
	breaks   = all(infraKind("cluster.x-k8s.io", "AnyTemplate"), gates("Ready"))
	template = fmt.Sprintf(templateKind, "infrastructureRef", "AnyTemplate")
	group    = fmt.Sprintf(coreGroup, "infrastructureRef")
	gate     = fmt.Sprintf(impossible, 0, "Ready")
)

var _ = Describe("The rules that Cluster API does not have", func() {
	DescribeTable("are skipped by annotation:",
		func(ctx SpecContext, annotation string, left ...string) {
			m := valid.With(all(breaks, skip(annotation))).Build()
			_, err := strict.ValidateCreate(ctx, m)
			Expect(causes(err)).To(ConsistOf(left))
			_, err = strict.ValidateUpdate(ctx, valid.Build(), m)
			Expect(causes(err)).To(ConsistOf(left))
		},
		Entry("all", "all"),
		Entry("one", "R3", group, gate),
		Entry("a list with spaces", "R12, R18", template),
		Entry("one that is not broken", "R8", template, group, gate),
		Entry("none", "", template, group, gate),
		Entry("a part of a name", "R", template, group, gate),
	)

	It("are not those that can be skipped", func(ctx SpecContext) {
		_, err := strict.ValidateCreate(ctx, valid.With(all(noBootstrap, skip("all,V1"))).Build())
		Expect(causes(err)).To(ConsistOf(noData))
	})

	It("can be turned off for an installation", func(ctx SpecContext) {
		without := &machine.Validator{Options: machine.Options{WithoutReferenceRules: true, Meter: meter.New()}}
		contradicting := func(m *clusterv1.Machine) {
			m.Spec.ReadinessGates = append(m.Spec.ReadinessGates, clusterv1.MachineReadinessGate{ConditionType: "Deleting"})
		}
		warnings, err := without.ValidateCreate(ctx, valid.With(all(breaks, contradicting)).Build())
		Expect(causes(err)).To(BeEmpty())
		Expect(warnings).To(BeEmpty())
		_, err = without.ValidateCreate(ctx, valid.With(all(breaks, noBootstrap)).Build())
		Expect(causes(err)).To(ConsistOf(noData), "the rules of Cluster API stay")
	})
})
