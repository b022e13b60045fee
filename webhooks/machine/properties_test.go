// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/webhooks/machine"
	"github.com/machinist-dev/machinist/webhooks/meter"
)

// Mostly values that break a rule, or nearly do.
var (
	anyVersion = rapid.OneOf(
		rapid.SampledFrom([]string{"", "v", "1", "v1", "1.2.3", "v1.2.3", "v1.2.3-rc.0", "vv1.2.3", "latest", strings.Repeat("1", 255), strings.Repeat("1", 256)}),
		rapid.StringN(0, 20, 256),
	)
	anyName     = rapid.SampledFrom([]string{"cluster", "a-", "Ä", "a b", strings.Repeat("a", 63)})
	anyKey      = rapid.SampledFrom([]string{"a", uninitialized, outdated, outOfService, controlPlane, long, "node.kubernetes.io/x", "node-role.kubernetes.io/master"})
	anyGateType = rapid.SampledFrom([]string{"Ready", "Available", "Deleting", "NodeHealthy", "MyReady"})
	anyRef      = rapid.Custom(func(t *rapid.T) clusterv1.ContractVersionedObjectReference {
		return clusterv1.ContractVersionedObjectReference{
			APIGroup: rapid.SampledFrom([]string{"", "cluster.x-k8s.io", "infrastructure.cluster.x-k8s.io"}).Draw(t, "group"),
			Kind:     rapid.SampledFrom([]string{"", "SimMachine", "SimMachineTemplate"}).Draw(t, "kind"),
		}
	})
	anyMetadata = rapid.Custom(func(t *rapid.T) metav1.ObjectMeta {
		meta := metav1.ObjectMeta{Namespace: "default", Name: "m"}
		for _, key := range []string{clusterv1.ClusterNameLabel, clusterv1.MachinePoolNameLabel, clusterv1.MachineControlPlaneLabel} {
			if rapid.Bool().Draw(t, "has "+key) {
				metav1.SetMetaDataLabel(&meta, key, "x")
			}
		}
		if rapid.Bool().Draw(t, "skips") {
			metav1.SetMetaDataAnnotation(&meta, clusterv1.SkipReferenceValidationAnnotation, rapid.SampledFrom([]string{"", "R3", "all"}).Draw(t, "rules"))
		}
		if kind := rapid.SampledFrom([]string{"", "MachineSet", "MachinePool"}).Draw(t, "owner"); kind != "" {
			meta.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: "o"}}
		}
		if rapid.Bool().Draw(t, "has a finalizer") {
			meta.Finalizers = []string{clusterv1.MachineFinalizer}
		}
		return meta
	})
	anySpec = rapid.Custom(func(t *rapid.T) clusterv1.MachineSpec {
		var m clusterv1.Machine
		m.Spec.ClusterName, m.Spec.Version = anyName.Draw(t, "cluster"), anyVersion.Draw(t, "version")
		m.Spec.InfrastructureRef, m.Spec.Bootstrap.ConfigRef = anyRef.Draw(t, "infrastructureRef"), anyRef.Draw(t, "configRef")
		m.Spec.Bootstrap.DataSecretName = rapid.SampledFrom([]*string{nil, new(""), new("data")}).Draw(t, "dataSecretName")
		m.Spec.Deletion.NodeDeletionTimeoutSeconds = rapid.SampledFrom([]*int32{nil, new(int32(0)), new(int32(10))}).Draw(t, "timeout")
		taints(rapid.SliceOfNDistinct(anyKey, 0, 4, rapid.ID).Draw(t, "taints")...)(&m)
		gates(rapid.SliceOfNDistinct(anyGateType, 0, 3, rapid.ID).Draw(t, "gates")...)(&m)
		return m.Spec
	})
	anyMachine = rapid.Custom(func(t *rapid.T) *clusterv1.Machine {
		return &clusterv1.Machine{ObjectMeta: anyMetadata.Draw(t, "metadata"), Spec: anySpec.Draw(t, "spec")}
	})
	anyValidator = rapid.Custom(func(t *rapid.T) *machine.Validator {
		return &machine.Validator{Options: machine.Options{
			Meter:                   meter.New(),
			MachineTaintPropagation: rapid.Bool().Draw(t, "taint propagation"), WithoutReferenceRules: rapid.Bool().Draw(t, "without reference rules"),
		}}
	})
)

// completed is the Machine as the defaulter leaves it.
func completed(ctx SpecContext, m *clusterv1.Machine) *clusterv1.Machine {
	GinkgoHelper()
	m = m.DeepCopy()
	Expect(machine.Defaulter{}.Default(ctx, m)).To(Succeed())
	return m
}

var _ = Describe("Whatever a Machine holds", func() {
	It("completing it twice is the same as once", func(ctx SpecContext) {
		rapid.Check(GinkgoT(), func(t *rapid.T) {
			once := completed(ctx, anyMachine.Draw(t, "machine"))
			NewWithT(t).Expect(completed(ctx, once)).To(Equal(once))
		})
	})

	It("completing it makes nothing that the API server refuses", func(ctx SpecContext) {
		rapid.Check(GinkgoT(), func(t *rapid.T) {
			given := anyMachine.Draw(t, "machine")
			m := completed(ctx, given)
			g := NewWithT(t)
			g.Expect(content.IsLabelValue(m.Labels[clusterv1.ClusterNameLabel])).To(BeEmpty())
			g.Expect(len([]rune(m.Spec.Version))).To(BeNumerically("<=", 256))
			if m.Spec.ClusterName != "a-" && m.Spec.ClusterName != "Ä" && m.Spec.ClusterName != "a b" {
				g.Expect(m.Labels).To(HaveKeyWithValue(clusterv1.ClusterNameLabel, given.Spec.ClusterName))
			}
			g.Expect(m.Spec.Deletion.NodeDeletionTimeoutSeconds).NotTo(BeNil())
		})
	})

	It("a change of its metadata is never refused, nor one that breaks no rule", func(ctx SpecContext) {
		rapid.Check(GinkgoT(), func(t *rapid.T) {
			stored := anyMachine.Draw(t, "stored")
			changed := stored.DeepCopy()
			changed.ObjectMeta = anyMetadata.Draw(t, "new metadata")
			changed.Spec.FailureDomain = rapid.SampledFrom([]string{"", "zone-a"}).Draw(t, "failure domain")
			changed.Spec.Bootstrap.DataSecretName = rapid.SampledFrom([]*string{stored.Spec.Bootstrap.DataSecretName, new("other")}).Draw(t, "data")
			if rapid.Bool().Draw(t, "completed") {
				changed = completed(ctx, changed)
			}
			before, after := stored.DeepCopy(), changed.DeepCopy()
			g := NewWithT(t)
			warnings, err := anyValidator.Draw(t, "validator").ValidateUpdate(ctx, stored, changed)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(warnings).To(BeEmpty())
			g.Expect(stored).To(Equal(before), "judging changes nothing")
			g.Expect(changed).To(Equal(after), "judging changes nothing")
		})
	})

	It("nothing is refused while it is being deleted", func(ctx SpecContext) {
		rapid.Check(GinkgoT(), func(t *rapid.T) {
			stored, changed := anyMachine.Draw(t, "stored"), anyMachine.Draw(t, "changed")
			deleting(stored)
			deleting(changed)
			_, err := anyValidator.Draw(t, "validator").ValidateUpdate(ctx, stored, changed)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
		})
	})

	It("an update is refused for nothing that creating it is not refused for, but a new Cluster", func(ctx SpecContext) {
		rapid.Check(GinkgoT(), func(t *rapid.T) {
			stored, changed, validator := anyMachine.Draw(t, "stored"), anyMachine.Draw(t, "changed"), anyValidator.Draw(t, "validator")
			changed.Spec.ClusterName = stored.Spec.ClusterName
			_, created := validator.ValidateCreate(ctx, changed)
			_, updated := validator.ValidateUpdate(ctx, stored, changed)
			g := NewWithT(t)
			for _, cause := range causes(updated) {
				g.Expect(causes(created)).To(ContainElement(cause))
			}
		})
	})
})
